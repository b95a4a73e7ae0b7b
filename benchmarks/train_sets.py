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
from benchmarks.common import arguments, machine, peak_mb, show, show_lines, subcommand

Vectors, Indexes = NDArray[np.float32], NDArray[np.intp]
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
    sizes = {"queries": 69_317, "captions": 98_070, "moments": 94_259}
    subcommand(whats, "topk", **sizes, dimensions="384,768", gpu=False)
    write = subcommand(whats, "write", **sizes, dimensions=384, depth=40)
    write.add_argument("--out", type=Path, help="keep the files in this folder")
    options = parser.parse_args()
    if options.what == "write":
        show_lines({**written(options), "machine": machine()}, as_json=options.json)
        return
    threads = len(os.sched_getaffinity(0))
    rows = [measure(options, int(size), threads) for size in options.dimensions.split(",")]
    show({"machine": machine(), "top": DEPTH, "rows": rows}, as_json=options.json)


# The ranking


def unit(chance: np.random.Generator, rows: int, dimensions: int) -> Vectors:
    vectors = chance.standard_normal((rows, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def first_captions(chance: np.random.Generator, options: argparse.Namespace) -> Indexes:
    """Draw which captions are the first of a moment."""
    later = 1 + chance.choice(options.captions - 1, options.moments - 1, replace=False)
    return np.sort(np.concatenate([[0], later])).astype(np.intp)


def product_s(queries: Vectors, captions: Vectors, threads: int) -> float:
    """Return seconds of the matrix product alone, in blocks of queries, into one buffer."""
    out = np.empty((ROWS, len(captions)), np.float32)
    with threadpool_limits(threads):
        started = time.perf_counter()
        for start in range(0, len(queries), ROWS):
            block = queries[start : start + ROWS]
            np.matmul(block, captions.T, out=out[: len(block)])
        return time.perf_counter() - started


def product_on_gpu_s(queries: Vectors, captions: Vectors) -> float:
    """Return the same on the GPU, captions already there."""
    import torch

    rows = torch.from_numpy(captions).cuda()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for start in range(0, len(queries), ROWS):
        torch.from_numpy(queries[start : start + ROWS]).cuda() @ rows.T
    torch.cuda.synchronize()
    return time.perf_counter() - started


def ranking_s(queries: Vectors, captions: Vectors, first: Indexes, n: int, who: type[Ranker]) -> float:
    started = time.perf_counter()
    ranked = sum(len(order) == DEPTH for order, _ in top_moments(queries, captions, first, threads=n, ranker=who))
    assert ranked == len(queries)
    return time.perf_counter() - started


def wrong(queries: Vectors, captions: Vectors, first: Indexes, who: type[Ranker]) -> int:
    """Count queries whose ranks or similarities differ from a full sort in double precision, rounded to 1e-6."""
    ranked = top_moments(queries, captions, first, ranker=who)
    cosines = np.maximum.reduceat(queries.astype(np.float64) @ captions.astype(np.float64).T, first, axis=1).round(6)
    return sum(not _same(row, *moments) for row, moments in zip(cosines, ranked, strict=True))


def _same(row: NDArray[np.float64], order: Indexes, similarity: NDArray[np.float64]) -> bool:
    sorted_order = np.lexsort((np.arange(len(row)), -row))[:DEPTH]
    return bool((order == sorted_order).all() and np.allclose(similarity, row[sorted_order], rtol=0, atol=1e-9))


def measure(options: argparse.Namespace, dimensions: int, threads: int) -> dict[str, object]:
    chance = np.random.default_rng(dimensions)
    captions = unit(chance, options.captions, dimensions)
    queries = captions[chance.choice(options.captions, options.queries, replace=False)]
    first = first_captions(chance, options)
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
        self.first = first_captions(drawn, options)
        for index in self.first:
            start_s = round(chance.uniform(0, 70), 2)
            video = chance.randrange(VIDEOS)
            self.moments.add(
                video_name=f"{SHOWS[video % 6]}_s{video % 10:02}e{video % 24:02}_seg02_clip_{video:05}",
                duration_s=round(61.0 + video % 3000 / 100, 2),
                start_s=start_s,
                end_s=round(start_s + chance.uniform(1, 20), 2),
                caption=texts[index],
            )
        chosen = drawn.choice(options.captions, options.queries, replace=False)
        chosen[1::TWICE] = chosen[::TWICE][: len(chosen[1::TWICE])]
        self.queries = [(int(number), texts[caption]) for number, caption in enumerate(chosen)]
        self.caption_of = {texts[caption]: int(caption) for caption in chosen}
        seen: set[str] = set()
        self.repeated = {text for _, text in self.queries if text in seen or seen.add(text)}  # type: ignore[func-returns-value]

    def vectors_of(self, texts: Sequence[str]) -> Vectors:
        return self.vectors[[self.caption_of[text] for text in texts]]

    def blocks(self, size: int) -> Iterator[list[Query]]:
        queries = iter(self.queries)
        while block := list(islice(queries, size)):
            yield block


def _sentence(chance: random.Random, number: int) -> str:
    return f"{chance.choice(WHO)} {chance.choice(DOES)} {chance.choice(WHAT)}{chance.choice(THEN)} in scene {number}."


def write(corpus: Corpus, folder: Path, depth: int) -> dict[str, float]:
    """Return seconds of each step, and of all processors together."""
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
    """Make the set, and keep it where a folder is given."""
    corpus = Corpus(options)
    with TemporaryDirectory(prefix="momentjudge-trainset-", dir=options.out) as temporary:
        folder = Path(temporary)
        seconds = write(corpus, folder, options.depth)
        sizes = {f"{form}_bytes": (folder / form).stat().st_size for form in FORMS}
        if options.out:
            for form in FORMS:
                shutil.move(folder / form, options.out / f"train_top{options.depth:02d}.{form}")
    rows = options.queries * min(options.depth, options.moments)
    return {
        **{name: getattr(options, name) for name in ("queries", "moments", "dimensions")},
        "rows": rows,
        **seconds,
        "rows_per_second": round(rows / seconds["seconds"]),
        **sizes,
        "peak_mb": peak_mb(),
        "in_time": seconds["seconds"] <= MOST_S,
    }


if __name__ == "__main__":
    main()
