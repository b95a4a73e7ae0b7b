"""How alike two queries are, and when a writer is stopped. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from judging.collection.rules import words_of

DAYS_TO_WRITE_ANEW = 7  # for which the place of a rejected query is kept for its writer
LEAST_ALIKE = 0.5
MOST_SHOWN = 5


class Alike(NamedTuple):
    """A text that resembles another one: its key, and the share of words that both have."""

    key: int
    share: float


def share_of_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection of two sets of words over that of their union, 0 for two empty ones.

    Source: Jaccard 1912.
    """
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def word_set(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


def alike(text: str, others: Mapping[int, str], *, least: float = LEAST_ALIKE, most: int = MOST_SHOWN) -> list[Alike]:
    """Return which of the texts resemble a text, the most alike first, then by key.

    Args:
        others: texts by key.
        least: the share of words from which a text counts, 0 to 1.
        most: how many are returned.
    """
    words = word_set(text)
    shares = (Alike(key, share_of_words(words, word_set(other))) for key, other in others.items())
    return sorted((row for row in shares if row.share >= least), key=lambda row: (-row.share, row.key))[:most]


def is_stopped(decisions: Iterable[bool], *, least_percent: int, least_checks: int) -> bool:
    """Say whether a writer is to be stopped, from whether each of their checked queries was accepted."""
    checks = list(decisions)
    return len(checks) >= least_checks and 100 * sum(checks) < least_percent * len(checks)
