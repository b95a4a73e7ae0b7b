"""How somebody's first grades lie beside a lead's own: who is far from these anchors. Pure."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import comb
from typing import TypeVar

from judging.rules.exam.truth import is_aligned

Pair = TypeVar("Pair", bound=Hashable)
MISALIGNED = 0.1183  # share of first grades further than one from the truth: TVR-Ranking, section 3.1
SELDOM = 0.05  # of honest annotators are called far


@dataclass(frozen=True)
class Distance:
    """One person beside the anchors that they graded."""

    n: int
    misaligned: int  # further than one from the anchor
    bias: float | None  # mean of grade less anchor

    @property
    def is_far(self) -> bool:
        """Whether an annotator of the paper would be as far in fewer than one case of twenty (binomial, one-sided)."""
        return self.misaligned > 0 and as_many(self.misaligned, of=self.n) < SELDOM


def distance(grades: Mapping[Pair, int], anchors: Mapping[Pair, int]) -> Distance:
    """First grades beside the anchors, over the pairs that have both."""
    both = [(grades[pair], anchor) for pair, anchor in anchors.items() if pair in grades]
    far = sum(not is_aligned(grade, anchor) for grade, anchor in both)
    return Distance(len(both), far, sum(grade - anchor for grade, anchor in both) / len(both) if both else None)


def as_many(misaligned: int, *, of: int, share: float = MISALIGNED) -> float:
    """The chance that so many grades or more are misaligned where each is with the same chance."""
    return sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(misaligned, of + 1))
