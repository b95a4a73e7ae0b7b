"""Finished trainings that answer typed words.

Notation: V videos of the index, v of them that hold a hit, W clips, H hidden features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from moment_retrieval.data import readers_of
from moment_retrieval.errors import at
from moment_retrieval.features import open_features
from moment_retrieval.formats import read_ground_truth
from moment_retrieval.index import Index
from moment_retrieval.models.conquer import EncodedClips
from moment_retrieval.models.two_stream import Pair
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.ragged import Sequences
from moment_retrieval.search import Found, best_videos, search, search_candidates, seconds
from moment_retrieval.searching.corpora import Names, corpus_clips, corpus_index
from moment_retrieval.searching.queries import Answer, Hit, UnknownWords, Why, Words, folded
from moment_retrieval.training.progress import Trained, open_trained

DEPTH = 100  # moments that are looked at before those that overlap are folded


@dataclass(frozen=True, eq=False)
class Reading:
    """A trained model and what reads words for it.

    Attributes:
        made_by: what its query features were made by, if known.
        is_said: nobody saw that ``words`` made them: a query of theirs is read again and compared.
    """

    trained: Trained
    words: Words
    made_by: str = ""
    is_said: bool = False

    def __post_init__(self) -> None:
        made, read = self.words.width, self.trained.model.config.query_size
        if made != read:
            raise UnknownWords(f"{self.words.name} makes {made} numbers of a word, and this training reads {read}")
        if self.is_said:
            with at("the query features of this training"):
                self._compare()

    def _compare(self) -> None:
        """Raises UnknownWords where a query has another number of rows in the file; ScoringError: it cannot be read."""
        judged = read_ground_truth(Path(self.trained.plan.val))
        with open_features(self.trained.plan.query) as store:
            known = ((name, text) for name, text in zip(judged.query_ids, judged.texts, strict=False) if name in store)
            for name, text in islice(known, 1):
                made, there = len(self.words.rows(text)), len(store.rows(name))
                if made != there:
                    told = f"{self.words.name} makes {made} rows of query {name}, and the file of this training has"
                    raise UnknownWords(f"{told} {there}")

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

    reading: Reading
    names: Names
    index: Index

    @classmethod
    def open(cls, folder: Path, words: Words, made_by: str = "", *, is_said: bool = False) -> CorpusSearcher:
        """The best weights of a training's folder. Raises ScoringError."""
        trained = open_trained(folder)
        return cls(Reading(trained, words, made_by, is_said), *corpus_index(trained, folder))

    @property
    def nbytes(self) -> int:
        return self.reading.nbytes + self.index.nbytes

    def answer(self, text: str, moments: int, *, every: bool = False) -> Answer:
        """The best moments for some words; with ``every`` also those that overlap a better one."""
        began = perf_counter()
        query, read = self.reading.query(text), perf_counter()
        trained = self.reading.trained
        found = search(trained.model, query, self.index, replace(trained.decoding, moments=max(DEPTH, moments)))
        hits, videos = _hits(found, self.names, trained, moments, every=every)
        with torch.inference_mode():
            encoded = trained.model.encode_queries(query)
            whys = self.whys(encoded, videos, *self._curves(encoded, videos)) if hits else {}
        return _answer(self, hits, whys, trained.decoding.alpha, (began, read))

    def whys(self, encoded: Pair, videos: Tensor, start: list[Tensor], end: list[Tensor]) -> dict[str, Why]:
        """What was made of some videos [v], given the curves [W] of each."""
        seen, heard = (part[0].tolist() for part in self.index.stream_scores(encoded, videos[None]))
        return {
            self.names[video]: Why((a + b) / 2, a, b, first.tolist(), last.tolist())
            for video, a, b, first, last in zip(videos.tolist(), seen, heard, start, end, strict=True)
        }

    def _curves(self, encoded: Pair, videos: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        some, count = self.index.taken(videos), len(videos)
        asked = encoded[0].expand(count, -1), encoded[1].expand(count, -1)
        logits = self.reading.trained.model.span_logits(asked, some)
        start, end = (_cut(part.softmax(1), some.layouts[0].lengths) for part in logits)
        return start, end


@dataclass(frozen=True, eq=False)
class CandidateSearcher:
    """CONQUER: the best videos of another training are searched."""

    reading: Reading
    names: Names
    clips: EncodedClips
    first: CorpusSearcher

    @classmethod
    def open(
        cls, folder: Path, words: Words, first: CorpusSearcher, made_by: str = "", *, is_said: bool = False
    ) -> CandidateSearcher:
        """The best weights of a training's folder. Raises ScoringError."""
        trained = open_trained(folder)
        return cls(Reading(trained, words, made_by, is_said), *corpus_clips(trained), first)

    @property
    def nbytes(self) -> int:
        """Without those of the training that names the candidates, which is held by itself."""
        return self.reading.nbytes + self.clips.seen.nbytes + self.clips.heard.nbytes

    def answer(self, text: str, moments: int, *, every: bool = False) -> Answer:
        """As of ``CorpusSearcher``; scores of videos are those of the training that named the candidates."""
        began = perf_counter()
        query, others_query = self.reading.query(text), self.first.reading.query(text)
        read, trained = perf_counter(), self.reading.trained
        decoding = replace(trained.decoding, moments=max(DEPTH, moments))
        with torch.inference_mode():
            others = self.first.reading.trained.model.encode_queries(others_query)
            candidates = self._candidates(others, decoding.videos)
        found = search_candidates(trained.model, query, self.clips, candidates, decoding)
        hits, videos = _hits(found, self.names, trained, moments, every=every)
        with torch.inference_mode():
            whys = self.first.whys(others, self._theirs[videos], *self._curves(query, videos)) if hits else {}
        return _answer(self, hits, whys, 0.0, (began, read))

    def _candidates(self, others: Pair, count: int) -> Tensor:
        """Numbers of the videos [1, n] that score highest, of those that both trainings have; -1 is none."""
        both = self._theirs[self._theirs >= 0]
        allowed = torch.zeros(1, len(self.first.names), dtype=torch.bool)
        allowed[0, both] = True
        found, _ = best_videos(self.first.index.scores(others), count, allowed)
        return self._ours[found].masked_fill(found < 0, -1)

    @cached_property
    def _theirs(self) -> Tensor:
        """[V] the other training's number of each video, -1 where it has none."""
        place = {name: number for number, name in enumerate(self.first.names)}
        return torch.tensor([place.get(name, -1) for name in self.names])

    @cached_property
    def _ours(self) -> Tensor:
        place = {name: number for number, name in enumerate(self.names)}
        return torch.tensor([place.get(name, -1) for name in self.first.names])

    def _curves(self, query: Sequences, videos: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        model, some = self.reading.trained.model, self.clips.taken(videos)
        output = model.locate(model.encode_queries(query).taken(torch.zeros_like(videos)), some)
        real = some.layout.real
        logits = (part.masked_fill(~real, -math.inf) for part in (output.start, output.end))
        start, end = (_cut(part.softmax(1), some.layout.lengths) for part in logits)
        return start, end


Searcher = CorpusSearcher | CandidateSearcher


def _hits(found: Found, names: Names, trained: Trained, moments: int, *, every: bool) -> tuple[list[Hit], Tensor]:
    """The best moments of one query, and the videos they lie in."""
    start_s, end_s = seconds(found, trained.decoding)
    columns: list[Any] = [found.video, start_s, end_s, found.score, found.start, found.end]
    rows = zip(*(column[0, : int(found.real.sum())].tolist() for column in columns), strict=True)
    hits = [Hit(names[video], *rest) for video, *rest in rows]
    hits = (hits if every else folded(hits))[:moments]
    held = {hit.video for hit in hits}
    return hits, torch.tensor([number for number, name in enumerate(names) if name in held], dtype=torch.long)


def _cut(rows: Tensor, lengths: Tensor) -> list[Tensor]:
    """[v, W] -> each video's own clips."""
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def _answer(
    searcher: Searcher, hits: list[Hit], whys: dict[str, Why], alpha: float, began: tuple[float, float]
) -> Answer:
    reading, offset = searcher.reading, searcher.reading.trained.decoding.end_offset_s
    words_ms, search_ms = 1000 * (began[1] - began[0]), 1000 * (perf_counter() - began[1])
    return Answer(hits, whys, len(searcher.names), alpha, CLIP_S, offset, words_ms, search_ms, reading.notices)
