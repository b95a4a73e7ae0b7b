"""nDCG by semantic similarity and ranks of the own item, put together as the scores of every metric are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from moment_retrieval.metrics.instance import instance_ranks
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.scores import Scores
from moment_retrieval.metrics.semantic import semantic_ndcg
from moment_retrieval.tables import Floats, Ints

DIRECTIONS = ("nDCG-v2t", "nDCG-t2v")


@dataclass(frozen=True, kw_only=True)
class MatrixScores(Scores):
    """nDCG of every video (``video 0``, ...) and caption (``caption 0``, ...), and ``summary``, all measures.

    ``skipped`` counts the videos and captions to which nothing is relevant.
    """

    summary: Mapping[str, float]
    skipped: tuple[int, int]
    gain: Gain

    @property
    def mean(self) -> dict[str, float]:
        return dict(self.summary)

    @property
    def facts(self) -> dict[str, str]:
        return {"gain": self.gain.value, "skipped": f"{self.skipped[0]} videos, {self.skipped[1]} captions"}


def matrix_scores(
    similarity: Floats, relevance: Floats, owners: Ints | None = None, *, gain: Gain = Gain.EXPONENTIAL
) -> MatrixScores:
    """All measures of a system's matrix [videos, captions].

    Ranks are computed where it is known whose each caption is: ``owners``, or one caption for each video.

    Raises:
        InvalidRecord, EmptyFile.
    """
    ndcg = semantic_ndcg(similarity, relevance, gain=gain)
    summary = ndcg.mean
    if owners is not None or similarity.shape[0] == similarity.shape[1]:
        summary |= instance_ranks(similarity, owners).mean
    videos, captions = similarity.shape
    values = np.full((videos + captions, len(DIRECTIONS)), np.nan)
    values[:videos, 0], values[videos:, 1] = ndcg.v2t, ndcg.t2v
    names = (*(f"video {number}" for number in range(videos)), *(f"caption {number}" for number in range(captions)))
    return MatrixScores(
        measures=DIRECTIONS, query_ids=names, values=values, summary=summary, skipped=ndcg.skipped, gain=gain
    )
