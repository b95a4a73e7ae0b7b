"""What the demo's experiment learns from: the drawn videos, their features, and the files of a release.

Features come from the video files' pixels and from subtitle and query texts alone; pseudo-positives from captions and
the packaged sentence model, as for any release. What is known of the script is used for grading, as annotators would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from annotation.demo import Episode, ScriptedMoment, render_episode, true_relevance, write_script
from annotation.queries import rules
from annotation.similarity import sentences
from annotation.train_sets.files import JsonTrainFile
from annotation.train_sets.ranks import TextRanker, TrainMoments, ranked_blocks
from moment_retrieval.features import FeatureWriter
from moment_retrieval.features.extractors import (
    Film,
    Kind,
    Line,
    Sentence,
    Speech,
    Way,
    extract,
    extractor_of,
)
from moment_retrieval.features.extractors.videos import clip_count

TOP_N = 40
JUDGED = {split: rules.Share(Fraction(20)) for split in rules.JUDGED}  # of the different captions; the others train
FILES = {  # of a plan
    "train": "train_top40.json", "val": "val.json", "test": "test.json", "corpus": "corpus.json",
    "video": "video.h5", "subtitle": "subtitle.h5", "query": "query.h5",
}  # fmt: skip


class Query(NamedTuple):
    """A caption that is asked for, with one of the moments it was written for, by which moments are graded."""

    number: int
    moment: ScriptedMoment

    @property
    def text(self) -> str:
        return self.moment.caption


@dataclass(frozen=True)
class Demo:
    """The corpus and its queries; no text is asked for in two splits."""

    episodes: list[Episode]
    splits: dict[str, list[Query]]

    @classmethod
    def of(cls, *, videos: int, seed: int) -> Demo:
        episodes = write_script(seed=seed, videos=videos)
        by_text = {moment.caption: moment for episode in episodes for moment in episode.moments}
        queries = {number: Query(number, by_text[text]) for number, text in enumerate(sorted(by_text), start=1)}
        drawn = rules.draw({number: query.text for number, query in queries.items()}, JUDGED, seed)
        parts: dict[str, list[Query]] = {split: [] for split in ("train", "val", "test")}
        for number, split in drawn.split_of.items():
            parts[split].append(queries[number])
        return cls(episodes, parts)

    @property
    def queries(self) -> list[Query]:
        return [query for split in self.splits.values() for query in split]

    @property
    def moments(self) -> Iterator[tuple[Episode, ScriptedMoment]]:
        """All moments with their videos."""
        for episode in self.episodes:
            for moment in episode.moments:
                yield episode, moment


def draw(demo: Demo, folder: Path, *, workers: int) -> None:
    """Render the videos that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(episode, folder) for episode in demo.episodes if not film_of(episode, folder).path.exists()]
    with _processes(workers) as pool:
        list(pool.map(_draw, wanted))


def _draw(what: tuple[Episode, Path]) -> None:
    episode, folder = what
    render_episode(episode, film_of(episode, folder).path)


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"))  # a fork of a process with threads may hang


def film_of(episode: Episode, folder: Path) -> Film:
    return Film(episode.name, folder / f"{episode.name}.mp4")


def watch(demo: Demo, videos: Path, folder: Path, *, workers: int) -> None:
    """Extract video features from the files."""
    films = [film_of(episode, videos) for episode in demo.episodes]
    with FeatureWriter(folder / FILES["video"], width=extractor_of(Way.PIXELS, Kind.VIDEO).width) as writer:
        wanted = [film for film in films if film.name not in writer]
        with _processes(workers) as pool:
            for film, rows in zip(wanted, pool.map(_seen, wanted), strict=True):
                writer.add(film.name, rows)


def _seen(film: Film) -> np.ndarray:
    (rows,) = extractor_of(Way.PIXELS, Kind.VIDEO).rows([film])
    return rows


def read(demo: Demo, folder: Path) -> None:
    """Extract features of subtitles and queries."""
    speeches = [speech_of(episode) for episode in demo.episodes]
    asked = [Sentence(str(query.number), query.text) for query in demo.queries]
    for items, kind in ((speeches, Kind.SUBTITLE), (asked, Kind.QUERY)):
        extractor = extractor_of(Way.WORDS, kind)
        with FeatureWriter(folder / FILES[kind.value], width=extractor.width) as writer:
            outcome = extract(items, extractor, writer)
        if outcome.failures:
            raise RuntimeError(f"{kind.value} features are missing: {outcome.reasons}")


def speech_of(episode: Episode) -> Speech:
    lines = [Line(line.start_s, line.end_s, line.text) for line in episode.subtitles]
    return Speech(episode.name, clip_count(episode.duration_s), lines)


def write_files(demo: Demo, folder: Path) -> None:
    """The corpus, the pseudo-positives of training queries, and judged moments of the other splits."""
    corpus = {one.name: [one.duration_s, place] for place, one in enumerate(demo.episodes)}
    (folder / FILES["corpus"]).write_text(json.dumps(corpus))
    write_training(demo.splits["train"], demo, folder / FILES["train"])
    for name in ("val", "test"):
        (folder / FILES[name]).write_text(json.dumps(judged(demo.splits[name], demo), ensure_ascii=False))


def write_training(queries: Sequence[Query], demo: Demo, path: Path) -> None:
    """The moments of the corpus whose captions are most similar to each query."""
    moments = TrainMoments()
    for episode, moment in demo.moments:
        moments.add(
            video_name=episode.name, duration_s=episode.duration_s, start_s=moment.start_s, end_s=moment.end_s,
            caption=moment.caption,
        )  # fmt: skip

    def vectors_of(texts: Sequence[str]) -> np.ndarray:
        return sentences.encode(texts, model=sentences.DEFAULT)

    ranker = TextRanker(vectors_of(moments.captions), np.arange(len(moments)), depth=TOP_N, vectors_of=vectors_of)
    block = [(query.number, query.text) for query in queries]
    with JsonTrainFile(path, moments, depth=TOP_N) as file:
        for ranked in ranked_blocks([block], ranker):
            file.add(ranked)


def judged(queries: Sequence[Query], demo: Demo) -> list[dict[str, object]]:
    """Every moment of the corpus that has something to do with a query, graded as the script knows it."""
    moments = list(demo.moments)
    found = []
    for query in queries:
        graded = ((episode, moment, true_relevance(query.moment, moment)) for episode, moment in moments)
        rows = [
            {
                "video_name": episode.name,
                "timestamp": [moment.start_s, moment.end_s],
                "duration": episode.duration_s,
                "caption": moment.caption,
                "relevance": grade,
            }
            for episode, moment, grade in graded
            if grade
        ]
        found.append({"query_id": query.number, "query": query.text, "relevant_moment": rows})
    return found
