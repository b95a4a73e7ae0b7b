"""Where values lie on an axis, and which of them are written beside it. Pure."""

import math
from typing import NamedTuple

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Axis(NamedTuple):
    """A vertical axis from ``low`` to ``high``, ticked every ``step``."""

    name: str
    low: float
    high: float
    step: float
    unit: str = ""

    @classmethod
    def over(cls, name: str, low: float, high: float, *, about: int = 5, unit: str = "") -> "Axis":
        """The least axis of whole steps that holds both values; at least one step long."""
        step = sensible_step((high - low) / about) if high > low else 1.0
        first, last = math.floor(round(low / step, 9)), math.ceil(round(high / step, 9))
        return cls(name, first * step, max(last, first + 1) * step, step, unit)

    @property
    def ticks(self) -> list[float]:
        steps = round((self.high - self.low) / self.step)
        return [round(self.low + place * self.step, 9) for place in range(steps + 1)]

    @property
    def base(self) -> float:
        """The tick that stands for nothing: zero if it is among them, else the lowest."""
        return next((tick for tick in self.ticks if tick == 0), self.low)

    def share(self, value: float) -> float:
        """How far up the axis a value lies: 0 at its foot, 1 at its head, never outside."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def label(self, tick: float) -> str:
        decimals = len(f"{self.step:.6f}".rstrip("0").partition(".")[2])
        return f"{tick:,.{decimals}f}{self.unit}".replace("-", "−")


def sensible_step(rough: float) -> float:
    """The least of 1, 2, 2.5 and 5, times a power of ten, that is no less than ``rough``."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))
