"""Measures of a matrix of similarities between videos and captions, in both directions.

Recall and ranks of the own item follow Collaborative Experts (Liu et al., BMVC 2019). nDCG by semantic relevance is
that of Wray, Doughty and Damen, CVPR 2021; the code released with it (Joint Part-of-Speech Embeddings) uses the linear
gain.

Shapes: N videos, M captions; rows are videos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import EmptyFile, InvalidRecord
from moment_retrieval.metrics.ndcg_iou import Gain, discounts, ratio
from moment_retrieval.metrics.scores import Scores, means
from moment_retrieval.tables import Floats, Ints

KS = (1, 5, 10, 50)
GEOMETRIC = (1, 5, 10)
CELLS = 4_000_000  # compared or sorted at once


def rank_means(ranks: Floats, direction: str) -> dict[str, float]:
    """Shares R@K of ranks among the first K, median and mean rank from 1, geometric mean of R@1, R@5, R@10."""
    recall = {k: float(np.mean(ranks == 0 if k == 1 else ranks < k)) for k in KS}  # a tie for the first place is no hit
    geometric = float(np.prod([recall[k] for k in GEOMETRIC]) ** (1 / len(GEOMETRIC)))
    means = {f"R@{k}": value for k, value in recall.items()} | {
        "GeoMean": geometric,
        "MedR": float(np.median(ranks) + 1),
        "MeanR": float(np.mean(ranks) + 1),
    }
    return {f"{name}-{direction}": value for name, value in means.items()}


def instance_ranks(
    similarity: Floats, owners: Sequence[int] | NDArray[np.integer[Any]] | None = None
) -> tuple[Floats, Floats]:
    """Ranks from 0 of each query's own item, ties given the mean of their places: [N] of videos, [M] of captions.

    A video's rank is that of its best caption.

    Args:
        similarity: [N, M] of a system.
        owners: [M] the video of each caption; caption ``j`` is of video ``j`` if not given. -1: no caption (masked).

    Raises:
        InvalidRecord: a matrix that is not finite, owners that are no videos, or a video without a caption.
    """
    check_matrices(similarity, similarity)
    owner = np.arange(similarity.shape[1]) if owners is None else np.asarray(owners)
    check_owners(owner, similarity.shape)
    columns = np.flatnonzero(owner >= 0)
    similarity, owner = similarity[:, columns], owner[columns]
    by_video = np.lexsort((similarity[owner, np.arange(len(owner))], owner))  # each video's captions, its best one last
    best = by_video[np.cumsum(np.bincount(owner, minlength=len(similarity))) - 1]
    return tied_ranks(similarity, best), tied_ranks(similarity.T, owner)


def tied_ranks(rows: Floats, own: Ints) -> Floats:
    """[rows] the rank from 0 of the item ``own`` in each row; ties share the mean of their places."""
    ranks = np.empty(len(rows))
    height = max(1, CELLS // max(1, rows.shape[1]))
    for low in range(0, len(rows), height):
        some = rows[low : low + height]
        score = np.take_along_axis(some, own[low : low + height, None], axis=1)
        ranks[low : low + height] = (some > score).sum(axis=1) + ((some == score).sum(axis=1) - 1) / 2
    return ranks


def check_owners(owner: Ints, shape: tuple[int, ...]) -> None:
    """Raise InvalidRecord unless every caption has a video, and every video a caption."""
    if owner.shape != (shape[1],) or not np.issubdtype(owner.dtype, np.integer):
        raise InvalidRecord(f"expected the video of each of {shape[1]} captions, got an array of shape {owner.shape}")
    if (owner >= shape[0]).any():
        raise InvalidRecord(f"a caption is of video {owner.max()}, there are {shape[0]}")
    without = np.flatnonzero(np.bincount(owner[owner >= 0], minlength=shape[0]) == 0)
    if len(without):
        raise InvalidRecord(f"video {without[0]} has no caption")


def semantic_ndcg(similarity: Floats, relevance: Floats, *, gain: Gain = Gain.EXPONENTIAL) -> tuple[Floats, Floats]:
    """nDCG by the relevance that a proxy gives to every video and caption: [N] of videos, [M] of captions.

    NaN where nothing is relevant. Each query's cutoff is the number of items relevant to it; items of equal similarity
    stay in their order.

    Args:
        similarity: [N, M] of a system, higher is nearer.
        relevance: [N, M] in [0, 1].
        gain: EXPONENTIAL (equation 2 of the paper) or LINEAR (the released code).

    Raises:
        InvalidRecord: the matrices differ in shape, or hold NaN.
        EmptyFile: nothing is relevant to anything.
    """
    check_matrices(similarity, relevance)
    if not (relevance > 0).any():
        raise EmptyFile("nothing is relevant")
    return by_row(similarity, relevance, gain), by_row(similarity.T, relevance.T, gain)


def check_matrices(similarity: Floats, relevance: Floats) -> None:
    """Raise InvalidRecord unless both are finite matrices of one shape."""
    if similarity.ndim != 2 or similarity.shape != relevance.shape:
        raise InvalidRecord(f"expected two matrices of one shape, got {similarity.shape} and {relevance.shape}")
    check_finite("similarity", similarity)
    check_finite("relevance", relevance)


def check_finite(name: str, matrix: Floats) -> None:
    """Raise InvalidRecord, with row and column from 1, where a number of the matrix is not finite."""
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0].tolist()
        raise InvalidRecord(f"row {row + 1}, column {column + 1}: {name} must be finite, got {matrix[row, column]}")


def by_row(similarity: Floats, relevance: Floats, gain: Gain) -> Floats:
    """[rows] nDCG of each row; NaN where nothing is relevant."""
    values = np.full(len(similarity), np.nan)
    height = max(1, CELLS // max(1, similarity.shape[1]))
    discount = discounts(similarity.shape[1])
    for low in range(0, len(similarity), height):
        some = slice(low, low + height)
        worth = np.asarray(gain.worth(relevance[some]), np.float64)
        order = np.argsort(-similarity[some], axis=1, kind="stable")
        mask = np.arange(worth.shape[1]) < (relevance[some] > 0).sum(axis=1)[:, None]
        earned = (np.take_along_axis(worth, order, axis=1) / discount * mask).sum(axis=1)
        ideal = (np.sort(worth, axis=1)[:, ::-1] / discount * mask).sum(axis=1)
        values[some] = np.where(ideal > 0, ratio(earned, ideal), np.nan)
    return values


DIRECTIONS = ("nDCG-v2t", "nDCG-t2v")


@dataclass(frozen=True, kw_only=True)
class MatrixScores(Scores):
    """nDCG of every video (``video 0``, ...) and caption (``caption 0``, ...), and ``summary``, all measures."""

    summary: Mapping[str, float]

    @property
    def mean(self) -> dict[str, float]:
        return dict(self.summary)


def matrix_scores(
    similarity: Floats, relevance: Floats, owners: Ints | None = None, *, gain: Gain = Gain.EXPONENTIAL
) -> MatrixScores:
    """All measures of a system's matrix [videos, captions].

    Ranks are computed where it is known whose each caption is: ``owners``, or one caption for each video.

    Raises:
        InvalidRecord, EmptyFile.
    """
    videos, captions = similarity.shape
    values = np.full((videos + captions, len(DIRECTIONS)), np.nan)
    values[:videos, 0], values[videos:, 1] = semantic_ndcg(similarity, relevance, gain=gain)
    summary = means(DIRECTIONS, values)
    summary["nDCG"] = sum(summary.values()) / len(DIRECTIONS)
    if owners is not None or videos == captions:
        v2t, t2v = instance_ranks(similarity, owners)
        summary |= rank_means(v2t, "v2t") | rank_means(t2v, "t2v")
    skipped = np.isnan(values[:videos, 0]).sum(), np.isnan(values[videos:, 1]).sum()
    names = (*(f"video {number}" for number in range(videos)), *(f"caption {number}" for number in range(captions)))
    return MatrixScores(
        measures=DIRECTIONS,
        query_ids=names,
        values=values,
        summary=summary,
        facts={"gain": gain.value, "skipped": f"{skipped[0]} videos, {skipped[1]} captions"},
    )
