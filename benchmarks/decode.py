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
import sys
import time

import torch
from torch import Tensor

from benchmarks.common import arguments, machine, measured_apart, peak_mb, show_lines
from moment_retrieval.search import Found, by_probability, largest
from moment_retrieval.settings import Decoding

CORPUS, CLIPS, VIDEOS = 19_614, 128, 100
TOGETHER = 16  # queries of the plain way at once: 105 MB of cells each time a map is copied
BLOCK = 64  # queries of ours at once
DECODING = Decoding(alpha=30.0)
SPEEDUP, MEMORY_MIB = 10, 2_000
Problem = tuple[Tensor, Tensor, Tensor]  # scores [n, corpus], start and end logits [n, 100, 128]


def main() -> int:
    parser = arguments(__doc__, queries=2_781, plain=48, threads=2, device="cpu")
    parser.add_argument("--way", choices=["plain", "ours"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options)))
        return 0
    rows = {way: measured_apart("benchmarks.decode", **{**vars(options), "way": way}) for way in ("plain", "ours")}
    speedup = rows["plain"]["ms_a_query"] / rows["ours"]["ms_a_query"]
    report = {
        "machine": machine(),
        "device": device_name(options.device),
        "queries": options.queries,
        "whole_maps_gb": round(options.queries * VIDEOS * CLIPS * CLIPS * 4 / 1e9, 1),
        **rows,
        "speedup": round(speedup, 1),
        "same_moments": same(options),
    }
    show_lines(report, as_json=options.json)
    good = report["same_moments"] and speedup >= SPEEDUP and rows["ours"]["memory_mib"] <= MEMORY_MIB
    return 0 if good else 1


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"


def measure(options: argparse.Namespace) -> dict[str, float]:
    torch.set_num_threads(options.threads)
    is_plain = options.way == "plain"
    decode, queries, block = (plain, options.plain, TOGETHER) if is_plain else (ours, options.queries, BLOCK)
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
        "memory_mib": peak_mb(),
    }


def problem_of(seed: int, queries: int, device: str) -> Problem:
    """Draw random scores, and logits of videos of realistic lengths."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.rand(queries, CORPUS, generator=draw) * 0.5
    clips = (torch.randn(queries, VIDEOS, 1, generator=draw) * 15 + 51).clamp(4, CLIPS)
    outside = torch.arange(CLIPS) >= clips
    start, end = (torch.randn(queries, VIDEOS, CLIPS, generator=draw).masked_fill(outside, -1e10) for _ in range(2))
    return scores.to(device), start.to(device), end.to(device)


def ours(scores: Tensor, start: Tensor, end: Tensor) -> Found:
    weights = (DECODING.alpha * scores).exp()
    best = weights.gather(1, largest(weights, VIDEOS))
    return by_probability(start.softmax(2), end.softmax(2), best, DECODING)


def plain(scores: Tensor, start: Tensor, end: Tensor) -> Found:
    """Sort the whole map of every query."""
    weights, _ = torch.exp(DECODING.alpha * scores).sort(dim=1, descending=True)
    start, end = torch.softmax(start, dim=-1), torch.softmax(end, dim=-1)
    cells = torch.einsum("qvm,qv,qvn->qvmn", start, weights[:, :VIDEOS], end)
    allowed = torch.ones(CLIPS, CLIPS, device=cells.device)
    allowed = torch.triu(allowed, DECODING.shortest) * torch.tril(allowed, DECODING.longest - 1)
    ranked, cell = (cells * allowed).flatten(1).sort(dim=1, descending=True)
    ranked, cell = ranked[:, : DECODING.moments], cell[:, : DECODING.moments]
    return Found(cell // CLIPS**2, cell // CLIPS % CLIPS, cell % CLIPS, ranked)


def same(options: argparse.Namespace) -> bool:
    """Whether both find the same moments of some queries."""
    problem = problem_of(0, 8, options.device)
    one, other = ours(*problem), plain(*problem)
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in ("video", "start", "end"))


if __name__ == "__main__":
    sys.exit(main())
