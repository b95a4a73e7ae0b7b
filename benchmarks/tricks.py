"""What each speed trick of a training step and of search gains: the same work with and without it, in turns.

    python -m benchmarks.tricks [--models xml reloclnet conquer] [--rounds 5] [--threads 2] [--json]

Released sizes and batches as in ``benchmarks.train_step``, official padding. In every round each trick is switched off
once, by its plain form below, and the step as it is stands first and last; every other round goes backwards. Told are
the medians of processor seconds, and how much longer the step takes without the trick. Method and figures:
docs/benchmarks/train-step.md.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import decode, padded, train_step
from benchmarks.common import arguments, command_of, machine, show
from moment_retrieval import index
from moment_retrieval.distributed import keep_freed
from moment_retrieval.models import blocks, conquer, two_stream
from moment_retrieval.models.two_stream import EncodedVideos
from moment_retrieval.ragged import NOTHING, Layout

Patch = tuple[Any, str, Any]
ALL, CONQUER = ("xml", "reloclnet", "conquer"), ("conquer",)
KEPT = "kept, in large pages"
VIDEOS, CLIPS, QUERIES, HIDDEN = 10_000, 51, 100, 256  # of the search


# The plain forms


def plain_dropout(self: Any, values: Tensor) -> Tensor:
    return functional.dropout(values, self.share, self.training)


def plain_laid(self: Any, rows: Tensor, layout: Layout) -> Tensor:
    return self(layout.collect(layout.of_real.spread(rows)))


def plain_query_aware(self: Any, rows: Tensor, layout: Layout, queries: Any) -> Tensor:
    cells, words = layout.spread(rows)[:, :, None], queries.words[:, None]  # [P, W, 1, H], [P, 1, T, H]
    shape = torch.broadcast_shapes(cells.shape, words.shape)
    alike = self.flow(torch.cat([cells.expand(shape), words.expand(shape), cells * words], dim=3)).squeeze(3)
    alike = alike.masked_fill(~(layout.real[..., None] & queries.real[:, None]), NOTHING)
    aware = layout.collect(alike.softmax(2) @ queries.words)
    best = (alike.amax(2).softmax(1)[:, None] @ cells.squeeze(2)).squeeze(1)
    return torch.cat([rows, aware, rows * aware, rows * best[layout.owner]], dim=1)


NO_END = (two_stream.TwoStream, "_layouts", two_stream.TwoStream._whole)
TRICKS: dict[str, tuple[Sequence[str], list[Patch]]] = {
    "dropout from 16 random bits": (ALL, [(blocks.Dropout, "forward", plain_dropout)]),
    "padding's input row computed once": (ALL, [(blocks.InputProjection, "laid", plain_laid)]),
    "no rows behind the two that count": (ALL, [NO_END, (conquer.Conquer, "_behind", lambda self: self.config.clips)]),
    "clips with words as three products": (CONQUER, [(conquer.Conquer, "_query_aware", plain_query_aware)]),
}
OPTIMISER = "one pass over all weights in the optimiser"


@contextmanager
def without(patches: Sequence[Patch]) -> Iterator[None]:
    """Put the plain forms in place of the tricks; also a decorator of functions that do so each time."""
    with ExitStack() as stack:
        for owner, name, value in patches:
            stack.enter_context(patch.object(owner, name, value))
        yield


def main() -> None:
    parser = arguments(__doc__, rounds=5, threads=2)
    parser.add_argument("--models", nargs="*", choices=ALL, default=list(ALL))
    parser.add_argument("--steps-of", choices=ALL, help=argparse.SUPPRESS)  # a process of the benchmark itself
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.steps_of:
        step = train_step.step_of(options.steps_of, "official", "cpu")
        for _ in sys.stdin:
            print(seconds_of(step), flush=True)
        return
    keep_freed()
    report: dict[str, Any] = {"machine": machine(), "rounds": options.rounds}
    report[f"memory {KEPT}"] = {name: memory(name, options) for name in options.models}
    report |= {name: compared(variants(name), options.rounds) for name in options.models}
    report["search"] = compared(searches(), options.rounds)
    report["ranking"] = compared(rankings(), options.rounds)
    show(report, as_json=options.json)


def variants(name: str) -> dict[str, Callable[[], object]]:
    """Return the step as it is, and without each trick of the model."""
    step = train_step.step_of(name, "official", "cpu")
    acts: dict[str, Callable[[], object]] = {"as it is": step}
    for trick, (models, patches) in TRICKS.items():
        if name in models:
            acts[trick] = without(patches)(step)
    name_of, plain = ("CorrectedAdam", padded.PlainAdam) if name == "conquer" else ("BertAdam", padded.PlainBertAdam)
    with without([(train_step, name_of, plain)]):
        acts[OPTIMISER] = train_step.step_of(name, "official", "cpu")
    return acts


def searches() -> dict[str, Callable[[], object]]:
    """Scoring all videos for some queries, as it is and without what makes it quick."""
    draw = torch.Generator().manual_seed(1)
    lengths = (torch.randn(VIDEOS, generator=draw) * 15 + CLIPS).round().long().clamp(4, 128)
    layout = Layout(lengths, lengths, int(lengths.max()), torch.device("cpu"))
    seen, heard = (torch.randn(int(lengths.sum()), HIDDEN, generator=draw) for _ in range(2))
    corpus = index.Index.of(EncodedVideos({0: (seen, heard)}, (layout, layout)), score_level=0)
    queries = torch.randn(QUERIES, HIDDEN, generator=draw), torch.randn(QUERIES, HIDDEN, generator=draw)
    whole = index.Index(corpus.videos, corpus.reciprocals, 0)
    with without([(index, "ROWS_ON_CPU", 2**40)]):
        whole.scores(queries)  # its one block is made now

    def normalised() -> None:
        fresh = index.Index.of(corpus.videos, score_level=0)
        fresh.__dict__["_blocks"] = [
            index._Block(block.rows, tuple(one.clone() for one in block.reciprocals), block.layouts)
            for block in corpus._blocks
        ]
        fresh.scores(queries)

    return {
        "as it is": lambda: corpus.scores(queries),
        "videos in blocks that stay in the cache": lambda: whole.scores(queries),
        "lengths of rows computed once": normalised,
    }


def rankings() -> dict[str, Callable[[], object]]:
    """Moments of the best videos of 16 queries, from the best cells and from whole maps."""
    problem = decode.problem_of(0, 16, "cpu")
    return {
        "as it is": lambda: decode.ours(*problem),
        "best cells instead of whole maps": lambda: decode.plain(*problem),
    }


def compared(acts: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, float]]:
    """Return medians of processor seconds, and how much more is needed without each trick, in percent."""
    names, seconds = list(acts), {name: list[float]() for name in acts}
    for name in names:
        acts[name]()
    for number in range(rounds):
        order = [*names, names[0]]
        for name in order[:: -1 if number % 2 else 1]:
            seconds[name].append(seconds_of(acts[name]))
    return figures(seconds, names[0])


def figures(seconds: Mapping[str, list[float]], base: str) -> dict[str, dict[str, float]]:
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        name: {"seconds": round(value, 4), "longer_percent": round(100 * (value / medians[base] - 1), 1)}
        for name, value in medians.items()
    }


def seconds_of(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def memory(name: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Compare processes that keep the memory they free, in large pages, with ones that do not; a step each in turns."""
    command = command_of("benchmarks.tricks", {"steps_of": name, "threads": options.threads})
    processes = {
        KEPT: train_step.stepping([sys.executable, "-c", KEEPING, *command[3:]], in_large_pages=True),
        "as Python starts": train_step.stepping(command, in_large_pages=False),
    }
    try:
        return figures(train_step.in_turns(processes, options.rounds), KEPT)
    finally:
        for process in processes.values():
            process.communicate()


KEEPING = """
import sys
from moment_retrieval.distributed import keep_freed
from benchmarks import tricks
keep_freed()
tricks.main()
"""

if __name__ == "__main__":
    main()
