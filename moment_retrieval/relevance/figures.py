"""Figures of On Semantic Similarity in Video Retrieval (Wray, Doughty and Damen, CVPR 2021) from matrices of relevance.

Shapes: N videos, M captions; rows are videos.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moment_retrieval.errors import InvalidRecord
from moment_retrieval.metrics.matrix import check_matrices, check_owners
from moment_retrieval.tables import Floats, Ints

THRESHOLDS = tuple(step / 20 for step in range(1, 21))  # 0.05 to 1
EQUIVALENT = 0.8  # of two captions that may stand for each other (figure 5)
GEOMETRIC = (1, 5, 10)
ROUNDING = 1e-9


def relevant_captions(relevance: Floats, thresholds: Sequence[float] = THRESHOLDS) -> Floats:
    """Count the captions of relevance T or more of a video, on average, for each T (figures 4 and 9).

    Args:
        relevance: [N, M] in [0, 1].

    Returns:
        [thresholds] means over videos.

    Raises:
        InvalidRecord: the matrix is not finite.
    """
    check_matrices(relevance, relevance)
    return np.array([(relevance >= least - ROUNDING).sum(axis=1).mean() for least in thresholds])


def proxy_correlation(one: Floats, other: Floats) -> tuple[float, int]:
    """Return Pearson's correlation of two proxies' rows, averaged over videos, and over how many (figure 8).

    A video whose row is constant under a proxy has no correlation and is left out.

    Raises:
        InvalidRecord: the matrices differ in shape or are not finite, or no video has a correlation.
    """
    check_matrices(one, other)
    first, second = (rows - rows.mean(axis=1, keepdims=True) for rows in (one, other))
    scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    varied = scale > ROUNDING
    if not varied.any():
        raise InvalidRecord("every video has a constant row")
    return float(((first * second).sum(axis=1)[varied] / scale[varied]).mean()), int(varied.sum())


def recall_bounds(
    similarity: Floats, relevance: Floats, owners: Ints | None = None, *, above: float = EQUIVALENT
) -> dict[str, tuple[float, float]]:
    """Bound the geometric mean of R@1, R@5 and R@10 where equivalent items may stand for the own one (figure 5).

    Instance metrics count one item as right, though others say the same. The smallest value takes the last of the
    equivalent items for the right one, the largest the first.

    Args:
        similarity: [N, M] of a system.
        relevance: [N, M]; items of more than ``above`` are equivalent.
        owners: [M] the video of each caption; caption ``j`` is of video ``j`` if not given.

    Returns:
        Smallest and largest, for ``v2t`` and ``t2v``.

    Raises:
        InvalidRecord: matrices of other shapes, or owners that are no videos.
    """
    check_matrices(similarity, relevance)
    owner = np.arange(similarity.shape[1]) if owners is None else np.asarray(owners)
    check_owners(owner, similarity.shape)
    equivalent = (relevance > above) | (np.arange(len(similarity))[:, None] == owner)
    has_video = owner >= 0  # a caption of no video is no query
    return {
        "v2t": _bounds(similarity, equivalent),
        "t2v": _bounds(similarity.T[has_video], equivalent.T[has_video]),
    }


def _bounds(similarity: Floats, equivalent: Floats) -> tuple[float, float]:
    """Return the smallest and the largest geometric mean over rows."""
    higher = np.sort(-similarity, axis=1)
    ranks = np.array([np.searchsorted(row, -values) for row, values in zip(higher, similarity, strict=True)])
    first = np.where(equivalent, ranks, ranks.shape[1]).min(axis=1)
    last = np.where(equivalent, ranks, -1).max(axis=1)
    return _geometric(last), _geometric(first)


def _geometric(ranks: Ints) -> float:
    return float(np.prod([np.mean(ranks < k) for k in GEOMETRIC]) ** (1 / len(GEOMETRIC)))
