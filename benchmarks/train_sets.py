"""How long the paper's pseudo training set takes: its ranking beside a bare matrix product, and writing all of it.

    python -m benchmarks.train_sets topk [--queries 69317] [--captions 98070] [--moments 94259] [--gpu] [--json]
    python -m benchmarks.train_sets write [--depth 40] [--dimensions 384] [--out DIR] [--json]

Vectors are random: nothing about the time depends on what they say. ``topk`` ranks a pool of the paper's size for all
its training queries, beside the product alone on the same threads; with --gpu the product, and the ranking's share of
it, run on the GPU. The first 200 queries are checked against a ranking in double precision.

``write`` makes everything but the database and the sentence model: ranking, parts, both files (JSON and Parquet) and
their checksums, as the task does it. Every query is the caption of a moment, and one query in 25 has the text of
another. Figures: docs/benchmarks/topk.md and trainset.md.
"""

import argparse
import json
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from annotation.pools.rules import DEPTH, ROWS, Ranker, top_moments
from annotation.similarity.sentences import GpuRanker
from annotation.train_sets.files import JsonTrainFile, ParquetTrainFile
from annotation.train_sets.ranks import Parts, Query, TextRanker, TrainMoments, block_size, ranked_blocks
from benchmarks.common import arguments, machine, peak_mb, show_lines

CHECKED = 200
LEAST_ROUNDS = 3  # product, ranking, product, ranking, ...: both see the same machine
MOST_S = 180  # what is asked for
VIDEOS = 19_614
TWICE = 25  # one query in so many has the text of another
FORMS = ("json", "parquet")
SHOWS = ("friends", "house", "castle", "grey", "bbt", "met")
WHO = ("A man", "A woman", "Two people", "A doctor", "Another man", "Three women", "A person", "Someone")
DOES = ("walks over to", "sits down beside", "talks about", "points at", "picks up", "looks away from", "laughs at")
WHAT = ("the table", "a cup of coffee", "the door", "a patient", "her phone", "the other man", "a white board", "it")
THEN = ("", " and smiles", " while the others watch", " before leaving the room", " then turns around", " again")


def main() -> None:
    parser = arguments(__doc__)
    whats = parser.add_subparsers(dest="what", required=True)
    for name, dimensions in (("topk", "384,768"), ("write", "384")):
        what = whats.add_parser(name)
        what.add_argument("--queries", type=int, default=69_317)
        what.add_argument("--captions", type=int, default=98_070)
        what.add_argument("--moments", type=int, default=94_259)
        what.add_argument("--dimensions", default=dimensions)
        what.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON line")
    whats.choices["topk"].add_argument("--gpu", action="store_true")
    whats.choices["write"].add_argument("--depth", type=int, default=40)
    whats.choices["write"].add_argument("--out", type=Path, help="keep the files in this folder")
    options = parser.parse_args()
    if options.what == "write":
        options.dimensions = int(options.dimensions)
        show_lines({**written(options), "machine": machine()}, as_json=options.json)
        return
    threads = len(os.sched_getaffinity(0))
    rows = [measure(options, int(size), threads) for size in options.dimensions.split(",")]
    if options.json:
        print(json.dumps({"machine": machine(), "top": DEPTH, "rows": rows}))
        return
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


# The ranking


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
        "peak_mb": peak_mb(),
    }


# The whole set


class Corpus:
    """Moments with captions of eleven words or so, vectors of the captions, and queries."""

    def __init__(self, options: argparse.Namespace) -> None:
        chance, self.moments = random.Random(1), TrainMoments()
        texts = [_sentence(chance, number) for number in range(options.captions)]
        drawn = np.random.default_rng(1)
        self.vectors = unit(drawn, options.captions, options.dimensions)
        later = 1 + drawn.choice(options.captions - 1, options.moments - 1, replace=False)
        self.first = np.sort(np.concatenate([[0], later])).astype(np.intp)
        for place in self.first:
            start_s = round(chance.uniform(0, 70), 2)
            video = chance.randrange(VIDEOS)
            self.moments.add(
                video_name=f"{SHOWS[video % 6]}_s{video % 10:02}e{video % 24:02}_seg02_clip_{video:05}",
                duration_s=round(61.0 + video % 3000 / 100, 2),
                start_s=start_s,
                end_s=round(start_s + chance.uniform(1, 20), 2),
                caption=texts[place],
            )
        chosen = drawn.choice(options.captions, options.queries, replace=False)
        chosen[1::TWICE] = chosen[::TWICE][: len(chosen[1::TWICE])]
        self.queries = [(int(number), texts[caption]) for number, caption in enumerate(chosen)]
        self.caption_of = {texts[caption]: int(caption) for caption in chosen}
        seen: set[str] = set()
        self.repeated = {text for _, text in self.queries if text in seen or seen.add(text)}  # type: ignore[func-returns-value]

    def vectors_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vectors[[self.caption_of[text] for text in texts]]

    def blocks(self, size: int) -> Iterator[list[Query]]:
        queries = iter(self.queries)
        while block := list(islice(queries, size)):
            yield block


def _sentence(chance: random.Random, number: int) -> str:
    return f"{chance.choice(WHO)} {chance.choice(DOES)} {chance.choice(WHAT)}{chance.choice(THEN)} in scene {number}."


def write(corpus: Corpus, folder: Path, depth: int) -> dict[str, float]:
    """Seconds of each step, and of all processors together."""
    spent = dict.fromkeys(("ranking_s", "json_s", "parquet_s", "checksums_s"), 0.0)
    started = at = time.perf_counter()
    cpu = time.process_time()

    def note(step: str) -> None:
        nonlocal at
        now = time.perf_counter()
        spent[step] += now - at
        at = now

    ranker = TextRanker(
        corpus.vectors, corpus.first, depth=depth, vectors_of=corpus.vectors_of, repeated=corpus.repeated
    )
    parts = Parts(folder / "parts", b"benchmark")
    with (
        JsonTrainFile(folder / "json", corpus.moments, depth=depth) as one,
        ParquetTrainFile(folder / "parquet", corpus.moments, depth=depth, about={"depth": str(depth)}) as other,
    ):
        for block in ranked_blocks(corpus.blocks(block_size(depth)), ranker, parts):
            note("ranking_s")
            one.add(block)
            note("json_s")
            other.add(block)
            note("parquet_s")
    for form in FORMS:
        with (folder / form).open("rb") as source:
            file_digest(source, "sha256")
    note("checksums_s")
    spent["cpu_s"] = time.process_time() - cpu
    return {"seconds": round(at - started, 1), **{step: round(seconds, 1) for step, seconds in spent.items()}}


def written(options: argparse.Namespace) -> dict[str, object]:
    """Make the set, and keep it if asked to."""
    corpus = Corpus(options)
    with TemporaryDirectory(prefix="momentjudge-trainset-", dir=options.out) as place:
        folder = Path(place)
        seconds = write(corpus, folder, options.depth)
        facts = _facts(options, folder, seconds)
        if options.out:
            for form in FORMS:
                shutil.move(folder / form, options.out / f"train_top{options.depth:02d}.{form}")
    return facts


def _facts(options: argparse.Namespace, folder: Path, seconds: dict[str, float]) -> dict[str, object]:
    rows = options.queries * min(options.depth, options.moments)
    return {
        "queries": options.queries,
        "moments": options.moments,
        "dimensions": options.dimensions,
        "rows": rows,
        **seconds,
        "rows_per_second": round(rows / seconds["seconds"]),
        **{f"{form}_bytes": (folder / form).stat().st_size for form in FORMS},
        "peak_mb": peak_mb(),
        "in_time": seconds["seconds"] <= MOST_S,
    }


if __name__ == "__main__":
    main()
