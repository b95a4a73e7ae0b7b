"""Which moments enter a query's pool, and in what order. Pure."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BATCH_SIZE = 20
BATCHES = 2
DEPTH = BATCH_SIZE * BATCHES  # ranks kept for a query
DECIMALS = 6  # similarities are rounded, so that every machine ranks alike
BLOCK = 64  # queries per matrix product


def top_moments(
    queries: NDArray[np.float32], captions: NDArray[np.float32], first_caption: NDArray[np.intp], *, depth: int = DEPTH
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """For each query the ``depth`` moments most similar to it, best first; ties keep the order of moments.

    The similarity of a query and a moment is the largest cosine to one of the moment's captions, rounded to 1e-6.

    Args:
        queries: [Q, D] unit vectors.
        captions: [C, D] unit vectors, all captions of the first moment first, then of the next.
        first_caption: [M] index of each moment's first caption, ascending from 0.

    Yields:
        Per query: indexes of moments [K] and their similarities [K], K = min(depth, M).

    Raises:
        ValueError: ``first_caption`` does not start at 0 or does not ascend.
    """
    if len(first_caption) == 0:
        raise ValueError("there is no moment to rank")
    if first_caption[0] != 0 or (np.diff(first_caption) <= 0).any():
        raise ValueError("first_caption must start at 0 and ascend")
    for start in range(0, len(queries), BLOCK):
        cosines = queries[start : start + BLOCK] @ captions.T  # [B, C]
        similarity = np.maximum.reduceat(cosines, first_caption, axis=1).astype(np.float64)  # [B, M]
        for row in np.clip(similarity.round(DECIMALS), -1.0, 1.0):
            yield best(row, depth)


def best(similarity: NDArray[np.float64], depth: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Indexes and values of the ``depth`` largest of ``similarity`` [M], ties by index."""
    keep = min(depth, len(similarity))
    threshold = np.partition(similarity, -keep)[-keep]
    reached = np.flatnonzero(similarity >= threshold)  # ascending, so a stable sort breaks ties by index
    order = reached[np.argsort(-similarity[reached], kind="stable")][:keep]
    return order, similarity[order]
