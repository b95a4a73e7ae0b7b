"""Interface of all similarities (sentence models, caption proxies of Wray et al., CVPR 2021), and its errors.

``registry.similarity(name)`` gives one. All modules of the package but the registry are free of Django.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from annotation.pools.rules import Indexes
from core.exceptions import MomentJudgeError
from moment_retrieval.relevance import Ranked, RankingNotOffered, RelevanceMissing

Texts = Sequence[str]


class SimilarityMissing(MomentJudgeError):
    """Something that the similarity needs is missing; the message says what to install or set. No other replaces it."""

    status, code = 409, "similarity_missing"


class TopNotOffered(MomentJudgeError):
    """The similarity scores given pairs and does not rank a pool."""

    status, code = 409, "top_not_offered"


@contextmanager
def named_errors() -> Iterator[None]:
    """Raise what the library raises as errors that the site answers with."""
    try:
        yield
    except RelevanceMissing as error:
        raise SimilarityMissing(str(error)) from error
    except RankingNotOffered as error:
        raise TopNotOffered(str(error)) from error


class Similarity(Protocol):
    """A measure of likeness; its four words are stored beside every number it gives."""

    @property
    def name(self) -> str:
        """Name to request it by."""

    @property
    def model(self) -> str:
        """Model that computes it."""

    @property
    def version(self) -> str: ...

    @property
    def normalisation(self) -> str:
        """Of the texts, before they are compared."""

    def pairs(self, first: Texts, second: Texts) -> NDArray[np.float64]:
        """Return similarities [N] of ``first`` [N] to ``second`` [N]; where they differ, first is the caption."""

    def top(self, queries: Texts, captions: Texts, first_caption: Indexes, *, depth: int) -> Iterator[Ranked]:
        """For each query its ``depth`` most similar moments, best first; ties keep the order of moments.

        A moment is as similar as the likest of its captions, rounded to 1e-6.

        Args:
            captions: [C] all captions of the first moment first, then of the next.
            first_caption: [M] index of each moment's first caption, ascending from 0.

        Yields:
            Per query: indexes of moments [K] and their similarities [K], K = min(depth, M).

        Raises:
            TopNotOffered: it scores given pairs alone.
        """
