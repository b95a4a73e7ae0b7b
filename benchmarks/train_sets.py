"""How long writing the paper's pseudo training set takes: ranking, parts, both files and their checksums.

    python -m benchmarks.train_sets [--depth 40] [--dimensions 384] [--json]

Everything is done as the task does it but for the database and the sentence model: vectors are random, as nothing about
the time depends on what they say. Every query is the caption of a moment, and one query in 25 has the text of another.
Method and figures: docs/benchmarks/trainset.md.
"""

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from annotation.pools.rules import Vectors
from annotation.train_sets.files import JsonTrainFile, ParquetTrainFile
from annotation.train_sets.ranks import Parts, Query, TextRanker, TrainMoments, block_size, ranked_blocks
from benchmarks.common import arguments, machine, peak_mb, show

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
    sizes = {"queries": 69_317, "captions": 98_070, "moments": 94_259, "dimensions": 384, "depth": 40}
    options = arguments(__doc__, **sizes).parse_args()
    show({**measure(options), "machine": machine()}, as_json=options.json)


def unit(chance: np.random.Generator, rows: int, dimensions: int) -> Vectors:
    vectors = chance.standard_normal((rows, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


class Corpus:
    """Moments with captions of eleven words or so, vectors of the captions, and queries."""

    def __init__(self, options: argparse.Namespace) -> None:
        chance, self.moments = random.Random(1), TrainMoments()
        texts = [_sentence(chance, number) for number in range(options.captions)]
        generator = np.random.default_rng(1)
        self.vectors = unit(generator, options.captions, options.dimensions)
        later = 1 + generator.choice(options.captions - 1, options.moments - 1, replace=False)
        self.first = np.sort(np.concatenate([[0], later])).astype(np.intp)  # captions that are the first of a moment
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
        caption_numbers = generator.choice(options.captions, options.queries, replace=False)
        caption_numbers[1::TWICE] = caption_numbers[::TWICE][: len(caption_numbers[1::TWICE])]
        self.queries = [(int(number), texts[caption]) for number, caption in enumerate(caption_numbers)]
        self.caption_of = {texts[caption]: int(caption) for caption in caption_numbers}
        times = Counter(text for _, text in self.queries)
        self.repeated = {text for text, count in times.items() if count > 1}

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
    spent: defaultdict[str, float] = defaultdict(float)
    moments, cpu = [time.perf_counter()], time.process_time()

    def note(step: str) -> None:
        moments.append(time.perf_counter())
        spent[step] += moments[-1] - moments[-2]

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
    return {"seconds": round(moments[-1] - moments[0], 1), **{step: round(took, 1) for step, took in spent.items()}}


def measure(options: argparse.Namespace) -> dict[str, object]:
    corpus = Corpus(options)
    with TemporaryDirectory(prefix="momentjudge-trainset-") as temporary:
        folder = Path(temporary)
        seconds = write(corpus, folder, options.depth)
        sizes = {f"{form}_bytes": (folder / form).stat().st_size for form in FORMS}
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
