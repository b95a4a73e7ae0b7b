"""Geometry of the bars of relevance with the line of similarity (paper, Figure 6), in the SVG's own units."""

from collections.abc import Sequence
from dataclasses import dataclass

from judging.models import Pair
from judging.rules.extension import TAIL

STEP, HEIGHT = 20, 80  # width of one rank; height of relevance 4 and of similarity 1
BAR = 14


@dataclass(frozen=True)
class Bar:
    """One candidate: its bar of relevance and its point of similarity."""

    pair: Pair
    x: int
    y: float
    height: float
    point_x: float
    point_y: float
    in_tail: bool

    @property
    def point(self) -> str:
        return f"{self.point_x:g},{self.point_y:.1f}"


def bars_of(pairs: Sequence[Pair]) -> list[Bar]:
    """Bars of ``pairs`` in the order given, which is by rank; the tail is what the suggestion looks at."""
    settled = [place for place, pair in enumerate(pairs) if pair.relevance is not None]
    return [_bar(pair, place, in_tail=place in settled[-TAIL:]) for place, pair in enumerate(pairs)]


def _bar(pair: Pair, place: int, *, in_tail: bool) -> Bar:
    height = HEIGHT * (pair.relevance or 0) / 4
    similarity = max(0.0, pair.candidate.similarity or 0.0)
    x = place * STEP + (STEP - BAR) // 2
    return Bar(pair, x, HEIGHT - height, height, place * STEP + STEP / 2, HEIGHT * (1 - similarity), in_tail)
