"""How long it takes to rank moments once videos are scored, beside a plain re-statement of the released computation.

    python -m benchmarks.decode [--queries 2781] [--plain 48] [--threads 2] [--device cpu] [--json]

For every query 100 videos of the 19,614 with start and end logits over 128 clips; the 40 best moments are wanted. The
released code makes the whole map of every query (100 x 128 x 128 cells), masks it and sorts it, all queries' maps at
once: its time is taken on ``--plain`` queries and given for each, its memory is counted. Both must find the same
moments. Seconds of processor. Method and figures: docs/benchmarks/decode.md. Exit status 1: moments differ, ten times
as fast is missed, or 2 GB are passed.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.common import arguments, machine
from moment_retrieval.search import Found, by_probability, largest
from moment_retrieval.settings import Decoding

CORPUS, CLIPS, VIDEOS = 19_614, 128, 100
TOGETHER = 16  # queries of the plain way at once: 105 MB of cells each time a map is copied
BLOCK = 64  # queries of ours at once
DECODING = Decoding(alpha=30.0)
SPEEDUP, MEMORY_MIB = 10, 2_000
Problem = tuple[Tensor, Tensor, Tensor]  # scores [n, corpus], start and end logits [n, 100, 128]


def main() -> int:
    options = parse()
    if options.way:
        print(json.dumps(measure(options)))
        return 0
    rows = {way: in_own_process(way, options) for way in ("plain", "ours")}
    speedup = rows["plain"]["ms_a_query"] / rows["ours"]["ms_a_query"]
    report = {
        "machine": machine(),
        "device": torch.cuda.get_device_name() if options.device != "cpu" else "cpu",
        "queries": options.queries,
        "whole_maps_gb": round(options.queries * VIDEOS * CLIPS * CLIPS * 4 / 1e9, 1),
        **rows,
        "speedup": round(speedup, 1),
        "same_moments": same(options),
    }
    print(
        json.dumps(report, indent=1) if options.json else "\n".join(f"{key}: {value}" for key, value in report.items())
    )
    kept = report["same_moments"] and speedup >= SPEEDUP and rows["ours"]["memory_mib"] <= MEMORY_MIB
    return 0 if kept else 1


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--queries", type=int, default=2_781)
    parser.add_argument("--plain", type=int, default=48)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--way", choices=["plain", "ours"], help=argparse.SUPPRESS)
    return parser.parse_args()


def in_own_process(way: str, options: argparse.Namespace) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.decode",
        "--way",
        way,
        "--queries",
        str(options.queries),
        "--plain",
        str(options.plain),
    ]
    command += ["--threads", str(options.threads), "--device", options.device]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(options: argparse.Namespace) -> dict[str, float]:
    torch.set_num_threads(options.threads)
    decode, queries, block = (
        (plain, options.plain, TOGETHER) if options.way == "plain" else (ours, options.queries, BLOCK)
    )
    clock = time.process_time if options.device == "cpu" else time.perf_counter
    took = 0.0
    for number in range(0, queries, block):
        problem = problem_of(number, min(block, queries - number), options.device)
        began = clock()
        decode(*problem)
        if options.device != "cpu":
            torch.cuda.synchronize()
        took += clock() - began
    return {
        "queries": queries,
        "seconds": round(took, 2),
        "ms_a_query": round(1000 * took / queries, 2),
        "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
    }


def problem_of(seed: int, queries: int, device: str) -> Problem:
    """Random scores, and logits of videos of realistic lengths."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.rand(queries, CORPUS, generator=draw) * 0.5
    clips = (torch.randn(queries, VIDEOS, 1, generator=draw) * 15 + 51).clamp(4, CLIPS)
    outside = torch.arange(CLIPS) >= clips
    logits = (torch.randn(queries, VIDEOS, CLIPS, generator=draw).masked_fill(outside, -1e10) for _ in range(2))
    start, end = logits
    return scores.to(device), start.to(device), end.to(device)


def ours(scores: Tensor, start: Tensor, end: Tensor) -> Found:
    weights = (DECODING.alpha * scores).exp()
    best = weights.gather(1, largest(weights, VIDEOS))
    return by_probability(start.softmax(2), end.softmax(2), best, DECODING)


def plain(scores: Tensor, start: Tensor, end: Tensor) -> Found:
    """The whole map of every query, sorted whole."""
    weights, _ = torch.exp(DECODING.alpha * scores).sort(dim=1, descending=True)
    start, end = torch.softmax(start, dim=-1), torch.softmax(end, dim=-1)
    cells = torch.einsum("qvm,qv,qvn->qvmn", start, weights[:, :VIDEOS], end)
    allowed = torch.ones(CLIPS, CLIPS, device=cells.device)
    allowed = torch.triu(allowed, DECODING.shortest) * torch.tril(allowed, DECODING.longest - 1)
    ranked, cell = (cells * allowed).flatten(1).sort(dim=1, descending=True)
    ranked, cell = ranked[:, : DECODING.moments], cell[:, : DECODING.moments]
    return Found(cell // CLIPS**2, cell // CLIPS % CLIPS, cell % CLIPS, ranked)


def same(options: argparse.Namespace) -> bool:
    """Both find the same moments of some queries."""
    problem = problem_of(0, 8, options.device)
    ways: tuple[Callable[..., Any], ...] = (ours, plain)
    one, other = (way(*problem) for way in ways)
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in ("video", "start", "end"))


if __name__ == "__main__":
    sys.exit(main())
