"""A similarity that scores pairs, ranking the best moments of another one again."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.similarity.base import Similarity
from moment_retrieval.relevance import Ranked
from moment_retrieval.relevance.sets import best_moments

RERANKED = 200  # moments of the first ranking


class Reranked:
    """``judge`` ranks the best 200 moments of ``finder`` again; its own similarities are given."""

    def __init__(self, judge: Similarity, finder: Similarity, *, depth: int = RERANKED) -> None:
        self.judge, self.finder, self.depth = judge, finder, depth
        self.name = f"{judge.name} over {finder.name}"
        self.model = f"{judge.model}; over {finder.model}"
        self.version = f"{judge.version}; over {finder.version}"
        self.normalisation = f"{judge.normalisation}; over {finder.normalisation}"

    def pairs(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        return self.judge.pairs(left, right)

    def top(
        self, queries: Sequence[str], captions: Sequence[str], first_caption: NDArray[np.intp], *, depth: int
    ) -> Iterator[Ranked]:
        ends = np.append(first_caption[1:], len(captions))
        first = self.finder.top(queries, captions, first_caption, depth=max(depth, self.depth))
        for query, (found, _) in zip(queries, first, strict=True):
            moments = np.sort(found)  # ties keep the order of moments
            texts = [captions[place] for moment in moments for place in range(first_caption[moment], ends[moment])]
            widths = ends[moments] - first_caption[moments]
            starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.intp)
            best, similarities = best_moments(self.judge.pairs(texts, [query] * len(texts)), starts, depth)
            yield moments[best], similarities
