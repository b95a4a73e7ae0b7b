"""Judged moments with grades derived from similarity: what pseudo labels would say where people judged.

Both papers train on similarity and evaluate on judgments. With these labels evaluation is by similarity, too
(docs/decisions/0032-similarity-labels.md).
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from moment_retrieval.tables import Floats, JudgedTable


def similarity_labelled(judged: JudgedTable) -> JudgedTable:
    """The same moments with other grades: of all pairs of the table, the most similar get the highest.

    Each grade is given as often as people gave it; pairs that are equally similar get the same, the lowest of those
    that are due to them. A pair without a similarity comes last.
    """
    known = [note.similarity for note in judged.notes] if judged.notes else [None] * len(judged.weights)
    return replace(judged, weights=graded(known, judged.weights))


def graded(similarities: Iterable[float | None], grades: Floats) -> Floats:
    """[R] the grades, handed out anew by similarity.

    Args:
        similarities: [R]; None where nobody knows.
        grades: [R], how often each is given.
    """
    by = np.array([-np.inf if value is None else value for value in similarities], np.float64)
    order = np.argsort(-by, kind="stable")
    due = np.empty(len(by))
    due[order] = np.sort(grades)[::-1]
    _, group = np.unique(by, return_inverse=True)
    lowest = np.full(len(by), np.inf)
    np.minimum.at(lowest, group, due)
    return lowest[group]
