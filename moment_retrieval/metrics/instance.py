"""Recall of the own item in text and video retrieval: R@K, median and mean rank, geometric mean, in both directions.

Source: the evaluation of Collaborative Experts (Liu et al., BMVC 2019).

Shapes: N videos, M captions; rows are videos.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import InvalidRecord
from moment_retrieval.metrics.semantic import check_matrices
from moment_retrieval.tables import Floats, Ints

KS = (1, 5, 10, 50)
GEOMETRIC = (1, 5, 10)
BLOCK = 4_000_000  # cells compared at once


@dataclass(frozen=True)
class InstanceScores:
    """Ranks from 0 of the own item, ties given the mean of their places: [M] of t2v, [N] of v2t (the best caption)."""

    v2t: Floats
    t2v: Floats

    @property
    def mean(self) -> dict[str, float]:
        """Shares R@K of ranks among the first K, median and mean rank from 1, geometric mean of R@1, R@5, R@10."""
        return {
            f"{name}-{direction}": value
            for direction, ranks in (("v2t", self.v2t), ("t2v", self.t2v))
            for name, value in summary(ranks).items()
        }


def summary(ranks: Floats) -> dict[str, float]:
    """The measures of one direction."""
    recall = {k: float(np.mean(ranks == 0 if k == 1 else ranks < k)) for k in KS}  # a tie for the first place is no hit
    geometric = float(np.prod([recall[k] for k in GEOMETRIC]) ** (1 / len(GEOMETRIC)))
    return {f"R@{k}": value for k, value in recall.items()} | {
        "GeoMean": geometric,
        "MedR": float(np.median(ranks) + 1),
        "MeanR": float(np.mean(ranks) + 1),
    }


def instance_ranks(
    similarity: Floats, owners: Sequence[int] | NDArray[np.integer[Any]] | None = None
) -> InstanceScores:
    """Where each query's own item is found.

    Args:
        similarity: [N, M] of a system.
        owners: [M] the video of each caption; caption ``j`` is of video ``j`` if not given. -1: no caption (masked).

    Raises:
        InvalidRecord: a matrix that is not finite, owners that are no videos, or a video without a caption.
    """
    check_matrices(similarity, similarity)
    owner = np.arange(similarity.shape[1]) if owners is None else np.asarray(owners)
    check_owners(owner, similarity.shape)
    held = np.flatnonzero(owner >= 0)
    similarity, owner = similarity[:, held], owner[held]
    v2t = np.full(len(similarity), np.inf)
    np.minimum.at(v2t, owner, tied_ranks(similarity[owner], np.arange(len(owner))))
    return InstanceScores(v2t=v2t, t2v=tied_ranks(similarity.T, owner))


def tied_ranks(rows: Floats, own: Ints) -> Floats:
    """[rows] the rank from 0 of the item ``own`` in each row; ties share the mean of their places."""
    ranks = np.empty(len(rows))
    height = max(1, BLOCK // max(1, rows.shape[1]))
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
