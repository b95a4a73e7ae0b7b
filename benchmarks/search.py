"""How long 100 queries take in 10,000 to 1,000,000 videos, with the vectors really there.

    python -m benchmarks.search [--videos 10000 30000 100000] [--threads 2] [--device cpu] [--json]

The simulated workload of XML's Table 8 (Lei et al., ECCV 2020): videos of 20 clips, queries of 15 words, 256 features,
the 100 best moments of the 100 best videos. A time is from the features of words to ranked moments: encoding the
queries, scoring every clip of every video in both streams, looking into the 100 best videos. Vectors fill the memory
as real ones would (the published timing searched an index that nothing had been added to): unit noise around centres,
one for each 20 clips, and queries around clips of the corpus.

Every size is measured in a process of its own, and printed as it ends; one that the system ends, for want of memory, is
left out. Method and figures: docs/benchmarks/search.md. Exit status 1: the exact search on a GPU passes 50 ms in a
million videos.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.common import arguments, command_of, device_name, machine, peak_mb, say, show
from moment_retrieval.baselines import BASELINES
from moment_retrieval.batches import Layout, Sequences
from moment_retrieval.index import Index
from moment_retrieval.models.two_stream import EncodedVideos
from moment_retrieval.search import search
from moment_retrieval.settings import Decoding

CLIPS, WORDS, QUERIES, HIDDEN = 20, 15, 100, 256
DECODING = Decoding(alpha=20.0, videos=100, moments=100, shortest=2, longest=16)
A_CENTRE, AROUND, ASIDE = 20, 0.5, 0.3  # clips of each, how far they lie from it; how far queries lie from a clip
GPU_LIMIT_MS, MILLION = 50, 1_000_000
REPEATS = 5


def main() -> int:
    parser = arguments(__doc__, threads=2, device="cpu")
    parser.add_argument("--videos", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measure(options.size, options)))
        return 0
    rows, left_out = measured(options)
    report: dict[str, Any] = {"machine": machine(), "device": device_name(options.device), "threads": options.threads}
    report |= {"sizes": rows, "left_out": left_out}
    if len(rows) > 1:
        first, last = rows[0], rows[-1]
        growth = (last["exact_ms"] - first["exact_ms"]) / (last["videos"] - first["videos"])
        report["exact_ms_a_million"] = round(first["exact_ms"] + growth * (MILLION - first["videos"]))
    show(report, as_json=options.json)
    late = options.device != "cpu" and any(row["videos"] >= MILLION and row["exact_ms"] > GPU_LIMIT_MS for row in rows)
    return 1 if late else 0


def measured(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure every size, in order, and say why others were left out; each is printed as it ends."""
    rows, left_out = [], []
    for size in options.videos:
        command = command_of("benchmarks.search", {"size": size, "threads": options.threads, "device": options.device})
        try:
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            say(f"{size:,} videos: {rows[-1]['exact_ms']:.0f} ms")
        except subprocess.CalledProcessError as error:
            reason = f"the process ended with {error.returncode}: {error.stderr.strip().rpartition(chr(10))[2]}"
            left_out.append({"videos": size, "reason": reason})
            say(f"{size:,} videos are left out: {reason}")
    return rows, left_out


def measure(size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one size: times in milliseconds for all 100 queries, the median of several."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    corpus = random_corpus(size, options)
    model = CountedModel(BASELINES["xml"].build(padding="compact").eval().to(options.device), corpus)
    queries = random_queries(options)
    row = {"videos": size, "exact_ms": timed(lambda: search(model, queries, corpus, DECODING), options.device)}
    row |= {"bytes_a_video": corpus.nbytes // size, "memory_mib": peak_mb()}
    if options.device != "cpu":
        row["gpu_memory_mib"] = round(torch.cuda.max_memory_allocated() / 2**20)
    return row


def timed(work: Callable[[], Any], device: str) -> float:
    """Return the median of wall milliseconds after a first time."""
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e3)
    return round(statistics.median(times[1:]), 1)


class CountedModel:
    """A model whose queries lie near clips of the corpus, as a trained one's do; they are encoded all the same."""

    def __init__(self, model: Any, corpus: Index) -> None:
        self.model = model
        rows = corpus.videos.levels[corpus.score_level]
        draw = torch.Generator(rows[0].device).manual_seed(5)
        which = torch.randint(len(rows[0]), (QUERIES,), generator=draw, device=rows[0].device)
        self.near = [
            one[which] + ASIDE * torch.randn(QUERIES, HIDDEN, generator=draw, device=one.device) for one in rows
        ]

    def encode_queries(self, queries: Sequences) -> tuple[Tensor, Tensor]:
        self.model.encode_queries(queries)
        return self.near[0], self.near[1]

    def span_logits(self, queries: tuple[Tensor, Tensor], videos: EncodedVideos) -> tuple[Tensor, Tensor]:
        return self.model.span_logits(queries, videos)


def random_corpus(size: int, options: argparse.Namespace) -> Index:
    """Draw an index of XML: both streams after the encoders that videos are scored and spans found by."""
    draw = torch.Generator(options.device).manual_seed(3)
    lengths = torch.full((size,), CLIPS)
    layout = Layout(lengths, lengths, CLIPS, torch.device(options.device))
    centres = torch.randn(size * CLIPS // A_CENTRE, HIDDEN, generator=draw, device=options.device)

    def rows() -> Tensor:
        cells = torch.empty(size * CLIPS, HIDDEN, device=options.device)
        for part in cells.split(2**18):  # no second copy
            which = torch.randint(len(centres), (len(part),), generator=draw, device=options.device)
            noise = torch.randn(part.shape, generator=draw, device=options.device)
            part.copy_(centres[which] + AROUND * noise)
        return cells

    xml = BASELINES["xml"].build()
    levels = {level: (rows(), rows()) for level in sorted({xml.score_level, xml.span_level})}
    return Index.of(EncodedVideos(levels, (layout, layout)), score_level=xml.score_level)


def random_queries(options: argparse.Namespace) -> Sequences:
    draw = torch.Generator().manual_seed(4)
    rows = torch.randn(QUERIES * WORDS, BASELINES["xml"].build().config.query_size, generator=draw)
    return Sequences(rows, torch.full((QUERIES,), WORDS)).to(options.device)


if __name__ == "__main__":
    sys.exit(main())
