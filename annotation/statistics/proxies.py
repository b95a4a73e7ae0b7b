"""Proxies of relevance compared on captions of a corpus: relevant captions, correlations, bounds of recall. Pure.

Source: On Semantic Similarity in Video Retrieval (Wray, Doughty and Damen, CVPR 2021), figures 4, 5 and 8. A moment
with one caption stands for a video; a caption has relevance 1 to its own moment (equation 5).

Notation: N moments, each with one caption.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import InvalidRecord
from moment_retrieval.relevance.figures import proxy_correlation, recall_bounds, relevant_captions
from moment_retrieval.relevance.matrices import with_own_captions

Floats = NDArray[np.float64]
SAMPLE = 100  # moments; METEOR compares every two of their captions, which takes about four seconds
LEAST = 2  # moments, below which there is nothing to compare
BY_WORDS = ("bow", "pos", "synset", "meteor")
SENTENCE = "sentence"
PROXIES = (*BY_WORDS, SENTENCE)


def proxy_analyses(relevance: Mapping[str, Floats], similarity: Floats | None) -> dict[str, Any]:
    """Return the numbers of the three figures.

    Args:
        relevance: [N, N] by each proxy that could be computed, from the captions of row and column.
        similarity: [N, N] of the system whose recall is bounded; None where there is none.

    Returns:
        ``relevant``: for each proxy the mean number of captions of relevance T or more, for each T;
        ``correlations``: rows of two proxies, Pearson's correlation, and over how many moments;
        ``bounds``: rows of a proxy, a direction, and the smallest, the usual and the largest geometric mean of recall.
            The proxy by the system's own vectors is left out: it would confirm itself.
    """
    size = next((len(matrix) for matrix in relevance.values()), 0)
    proxies = {name: with_own_captions(matrix, np.arange(size)) for name, matrix in relevance.items()}
    return {
        "relevant": {name: relevant_captions(matrix).tolist() for name, matrix in proxies.items()},
        "correlations": [
            [one, other, *_correlation(proxies[one], proxies[other])] for one, other in combinations(proxies, 2)
        ],
        "bounds": [] if similarity is None else _bounds(proxies, similarity),
    }


def _correlation(one: Floats, other: Floats) -> tuple[float | None, int]:
    try:
        return proxy_correlation(one, other)
    except InvalidRecord:  # every row is constant
        return None, 0


def _bounds(proxies: Mapping[str, Floats], similarity: Floats) -> list[list[Any]]:
    usual = recall_bounds(similarity, np.eye(len(similarity)))  # the own item alone is right
    rows = []
    for name, matrix in proxies.items():
        if name != SENTENCE:
            for direction, (least, most) in recall_bounds(similarity, matrix).items():
                rows.append([name, direction, least, usual[direction][0], most])
    return rows
