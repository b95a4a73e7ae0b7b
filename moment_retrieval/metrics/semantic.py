"""nDCG of text and video retrieval by semantic similarity, in both directions.

Source: Wray, Doughty and Damen, CVPR 2021; the released code (Joint Part-of-Speech Embeddings) uses the linear gain.

Shapes: N videos, M captions; rows are videos.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moment_retrieval.errors import EmptyFile, InvalidRecord
from moment_retrieval.metrics.ndcg_iou import Gain, discounts, ratio
from moment_retrieval.tables import Floats

BLOCK = 4_000_000  # cells sorted at once


@dataclass(frozen=True)
class SemanticScores:
    """nDCG of both directions.

    Attributes:
        v2t: [N] of each video; NaN where no caption is relevant.
        t2v: [M] of each caption; NaN where no video is.
        skipped: how many videos and captions have no relevant counterpart; they are not in the means.
    """

    v2t: Floats
    t2v: Floats

    @property
    def skipped(self) -> tuple[int, int]:
        return int(np.isnan(self.v2t).sum()), int(np.isnan(self.t2v).sum())

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each direction, and the mean of the two."""
        v2t, t2v = (float(np.mean(values[~np.isnan(values)])) for values in (self.v2t, self.t2v))
        return {"nDCG-v2t": v2t, "nDCG-t2v": t2v, "nDCG": (v2t + t2v) / 2}


def semantic_ndcg(
    similarity: Floats, relevance: Floats, *, gain: Gain = Gain.EXPONENTIAL, threshold: float = 0.0
) -> SemanticScores:
    """nDCG by the relevance that a proxy gives to every video and caption.

    Each query's cutoff is the number of items relevant to it; items of equal similarity stay in their order.

    Args:
        similarity: [N, M] of a system, higher is nearer.
        relevance: [N, M] in [0, 1].
        gain: EXPONENTIAL (equation 2 of the paper) or LINEAR (the released code).
        threshold: relevance below it counts 0.

    Raises:
        InvalidRecord: the matrices differ in shape, or hold NaN.
        EmptyFile: nothing is relevant to anything.
    """
    check_matrices(similarity, relevance)
    relevance = np.where(relevance < threshold, 0.0, relevance)
    if not (relevance > 0).any():
        raise EmptyFile("nothing is relevant")
    return SemanticScores(by_row(similarity, relevance, gain), by_row(similarity.T, relevance.T, gain))


def check_matrices(similarity: Floats, relevance: Floats) -> None:
    """Raise InvalidRecord unless both are finite matrices of one shape."""
    if similarity.ndim != 2 or similarity.shape != relevance.shape:
        raise InvalidRecord(f"expected two matrices of one shape, got {similarity.shape} and {relevance.shape}")
    for name, matrix in (("similarity", similarity), ("relevance", relevance)):
        if not np.isfinite(matrix).all():
            row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
            place = f"row {row + 1}, column {column + 1}"
            raise InvalidRecord(f"{place}: {name} must be finite, got {matrix[row, column]}")


def by_row(similarity: Floats, relevance: Floats, gain: Gain) -> Floats:
    """[rows] nDCG of each row; NaN where nothing is relevant."""
    values = np.full(len(similarity), np.nan)
    height = max(1, BLOCK // max(1, similarity.shape[1]))
    discount = discounts(similarity.shape[1])
    for low in range(0, len(similarity), height):
        some = slice(low, low + height)
        worth = np.asarray(gain.worth(relevance[some]), np.float64)
        order = np.argsort(-similarity[some], axis=1, kind="stable")
        counted = np.arange(worth.shape[1]) < (relevance[some] > 0).sum(axis=1)[:, None]
        earned = (np.take_along_axis(worth, order, axis=1) / discount * counted).sum(axis=1)
        ideal = (np.sort(worth, axis=1)[:, ::-1] / discount * counted).sum(axis=1)
        values[some] = np.where(ideal > 0, ratio(earned, ideal), np.nan)
    return values
