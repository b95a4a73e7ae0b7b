"""How long one training step takes, beside a plain re-statement of the released computation.

    python -m benchmarks.train_step [--models xml reloclnet conquer] [--steps 5] [--threads 2] [--tricks] [--json]

Full dimensions, random features of realistic lengths (51 +- 15 clips, 17 +- 4 words), forward, loss, backward and
optimiser, dropout on, no data loading. Every way has a process of its own; they step in turns, so that a machine that
slows down for a while does so for all. Counted are seconds of processor, the least of the steps after a first one (on a
GPU seconds of wall), and the largest memory. Besides the two paddings, which are
what is compared, ``compact`` with most products in bfloat16 is shown: another arithmetic, for those who train anew.
Method and figures: docs/benchmarks/train-step.md. Exit status 1: a ratio asked for is missed, or the re-statement is
not as fast as the released code was found to be (then ratios mean nothing).
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from subprocess import PIPE
from typing import Any

import torch
from torch.nn.functional import dropout

from benchmarks import padded
from benchmarks.common import ROOT, arguments, command_of, device_name, machine, peak_mb, show
from moment_retrieval.baselines import BASELINES, optimiser_of
from moment_retrieval.batches import Batch, Sequences
from moment_retrieval.distributed import Precision, keep_freed
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.models import blocks
from moment_retrieval.optim import parameter_groups
from moment_retrieval.settings import RELEASED, Objective, Padding

BATCH = {"xml": 128, "reloclnet": 128, "conquer": 16}
KNOWN_S = {"xml": 6.0, "reloclnet": 13.2, "conquer": 8.4}  # CPU seconds a step of the released code, on 2 threads
NEAR = 0.25
WANTED = {"official": (0.7, None), "compact": (0.5, 0.6)}  # of the re-statement's time and memory
OURS = ("official", "compact", "bfloat16")  # the last: compact, most products in 16 bits
PUBLISHED = ("published", "published_kept")  # the re-statement; and with memory kept for the next step, as ours
VARIANTS = (*PUBLISHED, *OURS)
TRICKS = ("dropout", "memory")  # what ``--tricks`` leaves out of compact, one at a time


def main() -> int:
    parser = arguments(__doc__, steps=5, threads=2, device="cpu")
    parser.add_argument("--models", nargs="+", choices=BATCH, default=list(BATCH))
    parser.add_argument("--tricks", action="store_true", help="measure compact beside itself without each trick")
    parser.add_argument("--variant", choices=(*VARIANTS, *TRICKS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        take_turns(options.models[0], options.variant, options)
        return 0
    report: dict[str, Any] = {"machine": machine(), "device": device_name(options.device), "threads": options.threads}
    if options.tricks:
        report["gains"] = {name: gains(name, options) for name in options.models}
        show(report, as_json=options.json)
        return 0
    report["models"] = {name: compared(name, options) for name in options.models}
    show(report, as_json=options.json)
    return 0 if options.device != "cpu" or all(row["kept"] for row in report["models"].values()) else 1


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one model in all ways, with the ratios to the published way."""
    rows = side_by_side(name, options, VARIANTS)
    base, alike = (rows[variant] for variant in PUBLISHED)
    ratios = {
        variant: {key: round(rows[variant][key] / base[key], 3) for key in ("seconds", "memory_mib")}
        | {"seconds_both_kept": round(rows[variant]["seconds"] / alike["seconds"], 3)}
        for variant in OURS
    }
    near = abs(base["seconds"] / KNOWN_S[name] - 1) <= NEAR
    met = all(
        ratios[variant]["seconds"] <= seconds and (memory is None or ratios[variant]["memory_mib"] <= memory)
        for variant, (seconds, memory) in WANTED.items()
    )
    return {**rows, "ratios": ratios, "as_published": near, "met": met, "kept": near and met}


def gains(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the share of a step's seconds that each trick saves."""
    rows = side_by_side(name, options, ("compact", *TRICKS))
    return {trick: round(1 - rows["compact"]["seconds"] / rows[trick]["seconds"], 3) for trick in TRICKS}


def side_by_side(name: str, options: argparse.Namespace, variants: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return seconds of the quickest step and the most memory of each way; round by round, each makes a step.

    Rounds change their direction: whoever follows the re-statement finds all caches emptied.
    """
    processes = {variant: own_process(name, variant, options) for variant in variants}
    try:
        seconds = in_turns(processes, options.steps)
        return {
            variant: {"seconds": round(min(seconds[variant]), 4), "memory_mib": round(answer_of(process, "memory"))}
            for variant, process in processes.items()
        }
    finally:
        for process in processes.values():
            process.communicate()


def in_turns(processes: Mapping[str, subprocess.Popen[str]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each process's steps; every other round goes backwards, and a first one does not count."""
    seconds: dict[str, list[float]] = {variant: [] for variant in processes}
    for number in range(rounds + 1):
        for variant in list(processes)[:: -1 if number % 2 else 1]:
            seconds[variant].append(answer_of(processes[variant], "step"))
    return {variant: values[1:] for variant, values in seconds.items()}


def own_process(name: str, variant: str, options: argparse.Namespace) -> subprocess.Popen[str]:
    """Start a process that makes a step for each line that it reads."""
    same = {"threads": options.threads, "device": options.device}
    command = command_of("benchmarks.train_step", {"models": name, "variant": variant, **same})
    return subprocess.Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)


def answer_of(process: subprocess.Popen[str], question: str) -> float:
    assert process.stdin is not None and process.stdout is not None
    print(question, file=process.stdin, flush=True)
    if not (answer := process.stdout.readline()):
        raise SystemExit(f"a process ended with status {process.wait()}; all five together need up to 21 GB")
    return float(answer)


def take_turns(name: str, variant: str, options: argparse.Namespace) -> None:
    """Make a step for each line "step" that comes in, telling its seconds; tell the memory for "memory"."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    if variant not in ("published", "memory"):
        keep_freed()  # as the program that trains does
    if variant == "dropout":
        blocks.Dropout.forward = lambda one, values: dropout(values, one.share, one.training)  # type: ignore[method-assign]
    step = step_of(name, variant, options.device)
    on_device = options.device != "cpu"
    clock = time.perf_counter if on_device else time.process_time
    for line in sys.stdin:
        if line.strip() == "memory":
            print(torch.cuda.max_memory_allocated() / 2**20 if on_device else peak_mb(), flush=True)
            continue
        began = clock()
        step()
        if on_device:
            torch.cuda.synchronize()
        print(clock() - began, flush=True)


def step_of(name: str, variant: str, device: str) -> Callable[[], None]:
    """Return one training step, ready to be repeated."""
    padding = Padding.OFFICIAL if variant in {*PUBLISHED, "official"} else Padding.COMPACT
    precision = Precision("bfloat16" if variant == "bfloat16" else "float32", torch.device(device))
    model: Any = BASELINES[name].build(padding=padding).train().to(device)
    batch = random_batch(name).to(device)
    draw = RandomNegatives(torch.Generator().manual_seed(2))
    objective = Objective()
    loss: Callable[[], torch.Tensor]
    if variant in PUBLISHED:
        whole = padded.PaddedBatch.of(batch, clips=model.config.clips, words=30 if name == "conquer" else None)
        if name == "conquer":
            loss = lambda: padded.conquer_step_loss(model, whole, objective)  # noqa: E731
        else:
            loss = lambda: padded.two_stream_loss(model, whole, objective, draw)  # noqa: E731
        del batch
    else:
        loss = lambda: BASELINES[name].loss(model(batch), batch, objective, draw).total  # noqa: E731
    if variant in PUBLISHED:
        groups = parameter_groups(model, exempt=[one for one, _ in model.named_parameters() if model.undecayed(one)])
        optimiser = padded.plain_adam(groups, clips_each=name != "conquer")
    else:
        optimiser = optimiser_of(name, model, total=1000)

    def step() -> None:
        for parameter in model.parameters():
            parameter.grad = None
        with precision.narrow():
            value = loss()
        value.backward()
        optimiser.step()

    return step


def random_batch(name: str) -> Batch:
    """Draw samples of realistic lengths."""
    config = RELEASED[name].config
    draw = torch.Generator().manual_seed(7)
    size = BATCH[name]
    clips = (torch.randn(size, generator=draw) * 15 + 51).round().long().clamp(4, config.clips)
    words = (torch.randn(size, generator=draw) * 4 + 17).round().long().clamp(3, config.words)
    streams = (
        Sequences(torch.randn(int(lengths.sum()), features, generator=draw), lengths)
        for lengths, features in ((words, config.query_size), (clips, config.video_size), (clips, config.subtitle_size))
    )
    start = (torch.rand(size, generator=draw) * clips).long().clamp(max=127)
    return Batch(*streams, start, torch.minimum(start + 3, clips - 1), torch.rand(size, generator=draw))


if __name__ == "__main__":
    sys.exit(main())
