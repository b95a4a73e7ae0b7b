"""Figures of a run. Pure."""

import math
from collections.abc import Sequence


def percentile_ms(ordered_s: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile of ascending seconds, in milliseconds; 0 for none."""
    if not ordered_s:
        return 0.0
    return round(1000 * ordered_s[math.ceil(len(ordered_s) * percent / 100) - 1], 1)


def each_ms(total_s: float, count: int) -> float:
    """Milliseconds for each of ``count``."""
    return round(1000 * total_s / max(1, count), 2)
