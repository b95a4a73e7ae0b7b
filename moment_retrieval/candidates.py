"""Which videos CONQUER looks into: the best of another model, since the published lists are not to be had.

The source is part of a run's name, as it bounds the score: "CONQUER (candidates: ReLoCLNet, top 10)".

Notation: N queries, V videos of the corpus, k candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from moment_retrieval.decoding import largest
from moment_retrieval.index import Index
from moment_retrieval.models.two_stream import TwoStream
from moment_retrieval.ragged import Sequences
from moment_retrieval.settings import RELEASED

CANDIDATES = RELEASED["conquer"].decoding.videos


class CandidateSource(Protocol):
    """Names videos for queries."""

    name: str

    def candidates(self, query_ids: Sequence[str], allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Indexes into the corpus [N, k], -1 where there is none, and their scores.

        ``allowed`` [N, V] restricts them, for the published setting to the split of the query's own video.
        """
        ...


class ScoredCandidates:
    """The videos a trained model scores highest."""

    def __init__(
        self,
        name: str,
        model: TwoStream,
        corpus: Index,
        queries: Mapping[str, Sequences],
        count: int = CANDIDATES,
    ) -> None:
        """``queries`` holds each query's features, as the model reads them, by id."""
        self.name = f"{name}, top {count}"
        self.model, self.corpus, self.queries, self.count = model, corpus, queries, count

    def candidates(self, query_ids: Sequence[str], allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            parts = [self.queries[query_id] for query_id in query_ids]
            together = Sequences(torch.cat([part.rows for part in parts]), torch.cat([part.lengths for part in parts]))
            scores = self.corpus.scores(self.model.encode_queries(together))
        return best_videos(scores, self.count, allowed)


class ListedCandidates:
    """Videos that somebody else ranked, best first, by query id; indexes into the corpus."""

    def __init__(self, name: str, listed: Mapping[str, Sequence[int]], count: int = CANDIDATES) -> None:
        self.name = f"{name}, top {count}"
        self.listed, self.count = listed, count

    def candidates(self, query_ids: Sequence[str], allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
        found = torch.full((len(query_ids), self.count), -1)
        for row, query_id in enumerate(query_ids):
            listed = [video for video in self.listed.get(query_id, ()) if allowed is None or allowed[row, video]]
            kept = listed[: self.count]
            found[row, : len(kept)] = torch.tensor(kept, dtype=torch.long)
        ranks = torch.arange(1, self.count + 1).expand(found.shape)
        return found, (1.0 / ranks).masked_fill(found < 0, -torch.inf)


def best_videos(scores: Tensor, count: int, allowed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The ``count`` best of each row [N, V] that are allowed, -1 where there are fewer, and their scores."""
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    found = largest(scores, count)
    best = scores.gather(1, found)
    return found.masked_fill(best == -torch.inf, -1), best


def candidate_recall(candidates: Tensor, relevant: Sequence[Sequence[int]]) -> float:
    """The share of relevant moments whose video is a candidate: no ranking of candidates scores above it.

    Args:
        candidates: [N, k].
        relevant: for each query the video of every relevant moment, as often as it holds one.
    """
    hits = [video in row for row, videos in zip(candidates.tolist(), relevant, strict=True) for video in videos]
    return sum(hits) / len(hits) if hits else 0.0
