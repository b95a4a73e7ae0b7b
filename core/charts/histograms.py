"""Geometry of histograms whose bins hold a count of each of a few series, in the SVG's own units."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

WIDTH, HEIGHT = 400, 110
GAP = 0.15  # of a bin, left free


@dataclass(frozen=True)
class Bin:
    """One place of a histogram and how many of each series are there."""

    label: str
    counts: tuple[int, ...]
    tick: str = ""  # written below


@dataclass(frozen=True)
class Bar:
    """One series in one bin."""

    series: int
    x: float
    y: float
    width: float
    height: float
    title: str


class Histogram:
    """Bars side by side in each bin, drawn to the highest of all."""

    def __init__(
        self, bins: Sequence[Bin], series: Sequence[str], *, ticks_at: float = 0.5, mark: float | None = None
    ) -> None:
        """``ticks_at``: where in its bin a tick stands. ``mark``: where to draw a line, in bins from the left."""
        self.bins, self.series, self._ticks_at, self._mark = bins, series, ticks_at, mark

    @property
    def width(self) -> int:
        return WIDTH

    @property
    def height(self) -> int:
        return HEIGHT

    @cached_property
    def most(self) -> int:
        return max((n for found in self.bins for n in found.counts), default=0)

    @property
    def step(self) -> float:
        return WIDTH / max(1, len(self.bins))

    @property
    def bars(self) -> list[Bar]:
        return [
            self._bar(place, series, n)
            for place, found in enumerate(self.bins)
            for series, n in enumerate(found.counts)
            if n
        ]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        return [
            ((place + self._ticks_at) * self.step, found.tick) for place, found in enumerate(self.bins) if found.tick
        ]

    @property
    def mark(self) -> float | None:
        return None if self._mark is None else self._mark * self.step

    def _bar(self, place: int, series: int, n: int) -> Bar:
        width = self.step * (1 - GAP) / len(self.series)
        height = HEIGHT * n / self.most
        x = place * self.step + self.step * GAP / 2 + series * width
        title = f"{self.bins[place].label}: {n:,} {self.series[series]}".strip()
        return Bar(series, x, HEIGHT - height, width, height, title)
