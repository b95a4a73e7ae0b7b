"""Finished trainings that answer typed words, with what each hit was found by; ``answers`` beside it needs no torch.

Notation: V videos of the index, v of them that hold a hit, W clips, H hidden features.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from moment_retrieval.answers import Answer, Hit, UnknownWords, Why, Words, folded
from moment_retrieval.batches import Sequences
from moment_retrieval.checkpoints import BEST, WEIGHTS, BrokenCheckpoint, Trained, open_trained
from moment_retrieval.data import readers_of
from moment_retrieval.distributed import Pair
from moment_retrieval.errors import MissingFeatures, UnreadableFile, at
from moment_retrieval.features import open_features
from moment_retrieval.formats import read_ground_truth
from moment_retrieval.index import Index
from moment_retrieval.jsonfiles import checksum, write_atomically
from moment_retrieval.models.conquer import EncodedClips
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.records import read_corpus
from moment_retrieval.search import RankedMoments, best_videos, encode_corpus, search, search_candidates, seconds
from moment_retrieval.training.evaluation import VIDEOS
from moment_retrieval.training.feature_rows import Store, opened_stores

FOLDER, INDEX, ABOUT = "search", "index.safetensors", "index.json"
Names = tuple[str, ...]
Pairs = Iterator[tuple[Sequences, Sequences]]
Encoded = TypeVar("Encoded")


def corpus_index(trained: Trained, folder: Path) -> tuple[Names, Index]:
    """The videos that have features, and their index, from the training's folder if it was made of these weights.

    Raises:
        ScoringError: there is none, and the features cannot be read.
    """
    with at("the weights of this training"):
        weights = checksum(folder / BEST / WEIGHTS).removeprefix("sha256:")
    index_folder = folder / FOLDER
    try:
        about = json.loads((index_folder / ABOUT).read_text(encoding="utf-8"))
        if about["weights"] == weights:
            return tuple(about["names"]), Index.load(index_folder / INDEX)
    except (OSError, ValueError, KeyError, TypeError, BrokenCheckpoint):
        pass  # not there yet, or cut short
    names, index = _read(trained, lambda pairs: encode_corpus(trained.model, pairs))
    _keep(index_folder, index, {"weights": weights, "names": names})
    return names, index


def corpus_clips(trained: Trained) -> tuple[Names, EncodedClips]:
    """The same for CONQUER, which keeps the encoded clips of all videos. Raises ScoringError."""

    def encoded(pairs: Pairs) -> EncodedClips:
        with torch.inference_mode():
            return EncodedClips.joined([trained.model.encode_clips(*pair) for pair in pairs])

    return _read(trained, encoded)


def _read(trained: Trained, encode: Callable[[Pairs], Encoded]) -> tuple[Names, Encoded]:
    kinds = ("video", "subtitle")
    with at("the features of this training"), opened_stores(trained.plan, kinds) as stores:
        corpus = read_corpus(Path(trained.plan.corpus)).durations_s
        names = tuple(name for name in corpus if name in stores["video"] and len(stores["video"].rows(name)))
        if not names:
            raise MissingFeatures("none of the videos has any")
        return names, encode(_pairs(trained, names, stores))


def _pairs(trained: Trained, names: Names, stores: dict[str, Store]) -> Pairs:
    """Yield video and subtitle rows, some videos at a time; zeros where nothing is said."""
    readers, silence = readers_of(trained.plan), stores["subtitle"].width
    for first in range(0, len(names), VIDEOS):
        some = names[first : first + VIDEOS]
        visual = [readers["video"](stores["video"].rows(name)) for name in some]
        subtitle = []
        for name, rows in zip(some, visual, strict=True):
            is_heard = name in stores["subtitle"]
            lines = stores["subtitle"].rows(name) if is_heard else np.zeros((len(rows), silence), np.float32)
            subtitle.append(readers["subtitle"](lines))
        yield Sequences.of(visual), Sequences.of(subtitle)


def _keep(folder: Path, index: Index, about: dict[str, object]) -> None:
    """Index first, what it is of last; a disk that takes nothing costs the next worker the same work again."""
    part = folder / f"{INDEX}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index.save(part)
        (folder / ABOUT).unlink(missing_ok=True)
        os.replace(part, folder / INDEX)
        write_atomically(folder / ABOUT, json.dumps(about))
    except (OSError, SafetensorError, UnreadableFile):
        with suppress(OSError):
            part.unlink()


DEPTH = 100  # moments that are looked at before those that overlap are folded


@dataclass(frozen=True, eq=False)
class WordReader:
    """A trained model and what reads words for it."""

    trained: Trained
    words: Words
    made_by: str = ""  # what its query features were made by, if known
    is_assumed: bool = False  # only assumed to be made by ``words``: a query of theirs is read again and compared

    def __post_init__(self) -> None:
        width, read = self.words.width, self.trained.model.config.query_size
        if width != read:
            raise UnknownWords(f"{self.words.name} makes {width} numbers of a word, and this training reads {read}")
        if self.is_assumed:
            with at("the query features of this training"):
                self._compare()

    def _compare(self) -> None:
        """Raises UnknownWords where a query has another number of rows in the file; ScoringError: it cannot be read."""
        judged = read_ground_truth(Path(self.trained.plan.val))
        with open_features(self.trained.plan.query) as store:
            queries = (
                (name, text) for name, text in zip(judged.query_ids, judged.texts, strict=False) if name in store
            )
            for name, text in islice(queries, 1):
                n_rows, there = len(self.words.rows(text)), len(store.rows(name))
                if n_rows != there:
                    problem = (
                        f"{self.words.name} makes {n_rows} rows of query {name}, and the file of this training has"
                    )
                    raise UnknownWords(f"{problem} {there}")

    def query(self, text: str) -> Sequences:
        """The words of one query as the model reads them."""
        return Sequences.of([readers_of(self.trained.plan)["query"](self.words.rows(text))])

    @property
    def notices(self) -> list[str]:
        if self.made_by in ("", self.words.name):
            return []
        return [f"Trained on words read by {self.made_by}; yours are read by {self.words.name}."]

    @property
    def nbytes(self) -> int:
        return sum(weights.nbytes for weights in self.trained.model.parameters())


@dataclass(frozen=True, eq=False)
class CorpusSearcher:
    """XML or ReLoCLNet: all videos are searched."""

    reader: WordReader
    names: Names
    index: Index

    @classmethod
    def open(cls, folder: Path, words: Words, made_by: str = "", *, is_assumed: bool = False) -> CorpusSearcher:
        """The best weights of a training's folder. Raises ScoringError."""
        trained = open_trained(folder)
        return cls(WordReader(trained, words, made_by, is_assumed), *corpus_index(trained, folder))

    @property
    def nbytes(self) -> int:
        return self.reader.nbytes + self.index.nbytes

    def answer(self, text: str, moments: int, *, every: bool = False) -> Answer:
        """The best moments for some words; with ``every`` also those that overlap a better one."""
        began = perf_counter()
        query, read = self.reader.query(text), perf_counter()
        trained = self.reader.trained
        result = search(trained.model, query, self.index, replace(trained.decoding, moments=max(DEPTH, moments)))
        hits, videos = _hits(result, self.names, trained, moments, every=every)
        with torch.inference_mode():
            encoded = trained.model.encode_queries(query)
            whys = self.whys(encoded, videos, *self._curves(encoded, videos)) if hits else {}
        return _answer(self, hits, whys, trained.decoding.alpha, (began, read))

    def whys(self, encoded: Pair, videos: Tensor, start: list[Tensor], end: list[Tensor]) -> dict[str, Why]:
        """Explain the scores of videos [v], given the curves [W] of each."""
        visual, subtitle = (part[0].tolist() for part in self.index.stream_scores(encoded, videos[None]))
        return {
            self.names[video]: Why((a + b) / 2, a, b, first.tolist(), last.tolist())
            for video, a, b, first, last in zip(videos.tolist(), visual, subtitle, start, end, strict=True)
        }

    def _curves(self, encoded: Pair, videos: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        some, count = self.index.taken(videos), len(videos)
        queries = encoded[0].expand(count, -1), encoded[1].expand(count, -1)
        curves = self.reader.trained.model.curves(queries, some)
        start, end = (_cut(curve, some.layouts[0].lengths) for curve in curves)
        return start, end


@dataclass(frozen=True, eq=False)
class CandidateSearcher:
    """CONQUER: the best videos of another training are searched."""

    reader: WordReader
    names: Names
    clips: EncodedClips
    first: CorpusSearcher

    @classmethod
    def open(
        cls, folder: Path, words: Words, first: CorpusSearcher, made_by: str = "", *, is_assumed: bool = False
    ) -> CandidateSearcher:
        """The best weights of a training's folder. Raises ScoringError."""
        trained = open_trained(folder)
        return cls(WordReader(trained, words, made_by, is_assumed), *corpus_clips(trained), first)

    @property
    def nbytes(self) -> int:
        """Without those of the training that names the candidates, which is kept by itself."""
        return self.reader.nbytes + self.clips.seen.nbytes + self.clips.heard.nbytes

    def answer(self, text: str, moments: int, *, every: bool = False) -> Answer:
        """As of ``CorpusSearcher``; scores of videos are those of the training that named the candidates."""
        began = perf_counter()
        query, others_query = self.reader.query(text), self.first.reader.query(text)
        read, trained = perf_counter(), self.reader.trained
        decoding = replace(trained.decoding, moments=max(DEPTH, moments))
        with torch.inference_mode():
            others = self.first.reader.trained.model.encode_queries(others_query)
            candidates, scores = self._candidates(others, decoding.videos)
        result = search_candidates(trained.model, query, self.clips, candidates, decoding, scores=scores)
        hits, videos = _hits(result, self.names, trained, moments, every=every)
        with torch.inference_mode():
            whys = self.first.whys(others, self._theirs[videos], *self._curves(query, videos)) if hits else {}
        return _answer(self, hits, whys, 0.0, (began, read))

    def _candidates(self, others: Pair, count: int) -> Pair:
        """Numbers [1, n] and scores of the best videos of those that both trainings have; -1 is none."""
        both = self._theirs[self._theirs >= 0]
        allowed = torch.zeros(1, len(self.first.names), dtype=torch.bool)
        allowed[0, both] = True
        best, scores = best_videos(self.first.index.scores(others), count, allowed)
        return self._ours[best].masked_fill(best < 0, -1), scores

    @cached_property
    def _theirs(self) -> Tensor:
        """[V] the other training's number of each video, -1 where it has none."""
        numbers = {name: number for number, name in enumerate(self.first.names)}
        return torch.tensor([numbers.get(name, -1) for name in self.names])

    @cached_property
    def _ours(self) -> Tensor:
        numbers = {name: number for number, name in enumerate(self.names)}
        return torch.tensor([numbers.get(name, -1) for name in self.first.names])

    def _curves(self, query: Sequences, videos: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        model, some = self.reader.trained.model, self.clips.taken(videos)
        output = model.locate(model.encode_queries(query).taken(torch.zeros_like(videos)), some)
        real = some.layout.real
        logits = (part.masked_fill(~real, -math.inf) for part in (output.start, output.end))
        start, end = (_cut(part.softmax(1), some.layout.lengths) for part in logits)
        return start, end


Searcher = CorpusSearcher | CandidateSearcher


def _hits(
    result: RankedMoments, names: Names, trained: Trained, moments: int, *, every: bool
) -> tuple[list[Hit], Tensor]:
    """The best moments of one query, and the videos they lie in."""
    start_s, end_s = seconds(result, trained.decoding)
    columns: list[Any] = [result.video, start_s, end_s, result.score, result.start, result.end]
    rows = zip(*(column[0, : int(result.real.sum())].tolist() for column in columns), strict=True)
    hits = [Hit(names[video], *rest) for video, *rest in rows]
    hits = (hits if every else folded(hits))[:moments]
    video_names = {hit.video for hit in hits}
    return hits, torch.tensor([number for number, name in enumerate(names) if name in video_names], dtype=torch.long)


def _cut(rows: Tensor, lengths: Tensor) -> list[Tensor]:
    """[v, W] -> each video's own clips."""
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def _answer(
    searcher: Searcher, hits: list[Hit], whys: dict[str, Why], alpha: float, began: tuple[float, float]
) -> Answer:
    reader, offset = searcher.reader, searcher.reader.trained.decoding.end_offset_s
    words_ms, search_ms = 1000 * (began[1] - began[0]), 1000 * (perf_counter() - began[1])
    return Answer(hits, whys, len(searcher.names), alpha, CLIP_S, offset, words_ms, search_ms, reader.notices)
