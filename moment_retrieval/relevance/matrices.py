"""Semantic relevance of captions to videos (Wray et al., equation 5): matrices over all pairs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.relevance.meteor import Edition, kernel, meteor
from moment_retrieval.relevance.sets import Postings, Reader, common
from moment_retrieval.relevance.texts import Normalisation, tokens
from moment_retrieval.relevance.wordnet import WordNet

Captions = Sequence[Sequence[str]]  # of each video, or of each column, one or several


def set_relevance(reader: Reader, videos: Captions, columns: Captions) -> NDArray[np.float64]:
    """IoU [N, M] of ``videos`` [N] and ``columns`` [M]; of several captions counts what a quarter of them holds."""
    rows, others = ([common([reader.read(text) for text in texts]) for texts in side] for side in (videos, columns))
    postings = Postings(others, reader.weights)
    return np.array([postings.scores(row) for row in rows]).reshape(len(rows), len(others))


def meteor_relevance(
    wordnet: WordNet,
    videos: Captions,
    columns: Captions,
    *,
    how: Normalisation = Normalisation.OFFICIAL,
    edition: Edition = Edition.NLTK_3_10,
) -> NDArray[np.float64]:
    """METEOR [N, M], the video's caption being the reference; with several captions the matching kernel."""
    rows, others = ([[tokens(text, how) for text in texts] for texts in side] for side in (videos, columns))

    def score(row: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> float:
        if len(row) == len(other) == 1:
            return meteor(row[0], other[0], wordnet, edition)
        return kernel(row, other, wordnet, edition)

    return np.array([[score(row, other) for other in others] for row in rows]).reshape(len(rows), len(others))


def with_own(relevance: NDArray[np.float64], owners: Sequence[int]) -> NDArray[np.float64]:
    """The relevance [N, M] with 1 between each column and its own video, one of ``owners`` [M].

    So the paper has it (equation 5); the released script leaves these as they come out.
    """
    made = relevance.copy()
    made[np.asarray(owners), np.arange(len(owners))] = 1.0
    return made
