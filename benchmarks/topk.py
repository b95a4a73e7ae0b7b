"""Ranks a pool of the paper's size for all its training queries, beside the bare matrix product on the same threads.

.venv/bin/python benchmarks/topk.py [--queries 69317] [--captions 98070] [--moments 94259] [--gpu] [--json]

With --gpu the product, and the ranking's share of it, run on the GPU. Vectors are random: nothing about the time
depends on what they say. The first 200 queries are checked against a ranking in double precision.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from annotation.pools.rules.pooling import DEPTH, ROWS, Ranker, top_moments
from annotation.similarity.sentences import GpuRanker
from benchmarks.machine import machine

CHECKED = 200
LEAST_ROUNDS = 3  # product, ranking, product, ranking, ...: both see the same machine


def unit(chance: np.random.Generator, rows: int, dimensions: int) -> NDArray[np.float32]:
    vectors = chance.standard_normal((rows, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def product_s(queries: NDArray[np.float32], captions: NDArray[np.float32], threads: int) -> float:
    """Seconds of the matrix product alone, in blocks of queries, into one buffer."""
    out = np.empty((ROWS, len(captions)), np.float32)
    with threadpool_limits(threads):
        started = time.perf_counter()
        for start in range(0, len(queries), ROWS):
            block = queries[start : start + ROWS]
            np.matmul(block, captions.T, out=out[: len(block)])
        return time.perf_counter() - started


def product_on_gpu_s(queries: NDArray[np.float32], captions: NDArray[np.float32]) -> float:
    """The same on the GPU, captions already there."""
    import torch

    there = torch.from_numpy(captions).cuda()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for start in range(0, len(queries), ROWS):
        torch.from_numpy(queries[start : start + ROWS]).cuda() @ there.T
    torch.cuda.synchronize()
    return time.perf_counter() - started


def ranking_s(
    queries: NDArray[np.float32], captions: NDArray[np.float32], first: NDArray[np.intp], n: int, who: type[Ranker]
) -> float:
    started = time.perf_counter()
    ranked = sum(len(order) == DEPTH for order, _ in top_moments(queries, captions, first, threads=n, ranker=who))
    assert ranked == len(queries)
    return time.perf_counter() - started


def wrong(
    queries: NDArray[np.float32], captions: NDArray[np.float32], first: NDArray[np.intp], who: type[Ranker]
) -> int:
    """Queries of which rank or similarity differs from a full sort in double precision, rounded to 1e-6."""
    found = top_moments(queries, captions, first, ranker=who)
    cosines = np.maximum.reduceat(queries.astype(np.float64) @ captions.astype(np.float64).T, first, axis=1).round(6)
    return sum(not _same(row, *ranked) for row, ranked in zip(cosines, found, strict=True))


def _same(row: NDArray[np.float64], order: NDArray[np.intp], similarity: NDArray[np.float64]) -> bool:
    wanted = np.lexsort((np.arange(len(row)), -row))[:DEPTH]
    return bool((order == wanted).all() and np.allclose(similarity, row[wanted], rtol=0, atol=1e-9))


def measure(options: argparse.Namespace, dimensions: int, threads: int) -> dict[str, object]:
    chance = np.random.default_rng(dimensions)
    captions = unit(chance, options.captions, dimensions)
    queries = captions[chance.choice(options.captions, options.queries, replace=False)]
    later = 1 + chance.choice(options.captions - 1, options.moments - 1, replace=False)
    first = np.sort(np.concatenate([[0], later])).astype(np.intp)
    part = queries[: max(1, len(queries) // LEAST_ROUNDS)]
    who = GpuRanker if options.gpu else Ranker
    rounds = []
    for _ in range(LEAST_ROUNDS):
        bare = product_on_gpu_s(part, captions) if options.gpu else product_s(part, captions, threads)
        rounds.append((bare, ranking_s(part, captions, first, threads, who)))
    product, ours = (sum(column) for column in zip(*rounds, strict=True))
    return {
        "device": "gpu" if options.gpu else "cpu",
        "dimensions": dimensions,
        "threads": threads,
        "product_s": round(product, 1),
        "ranking_s": round(ours, 1),
        "ratio": round(ours / product, 2),
        "ratios": [round(second / one, 2) for one, second in rounds],
        "checked": CHECKED,
        "wrong": wrong(queries[:CHECKED], captions, first, who),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--queries", type=int, default=69_317)
    arguments.add_argument("--captions", type=int, default=98_070)
    arguments.add_argument("--moments", type=int, default=94_259)
    arguments.add_argument("--dimensions", default="384,768")
    arguments.add_argument("--gpu", action="store_true")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    threads = len(os.sched_getaffinity(0))
    rows = [measure(options, int(size), threads) for size in options.dimensions.split(",")]
    if options.json:
        print(json.dumps({"machine": machine(), "top": DEPTH, "rows": rows}))
        return
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
