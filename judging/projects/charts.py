"""Geometry of charts in the SVG's own units: relevance with similarity (paper, Figure 6), judgments per day."""

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

from judging.models import Pair
from judging.review.rules import TAIL

STEP, HEIGHT = 20, 80  # width of one rank; height of the highest relevance and of similarity 1
BAR = 14
LEAST = 2  # relevance 0 is seen, too


def grid(top_grade: int) -> list[tuple[int, int]]:
    """Where each relevance lies: its height from the top."""
    return [(HEIGHT - HEIGHT * relevance // top_grade, relevance) for relevance in range(top_grade + 1)]


def bars_of(pairs: Sequence[Pair], top_grade: int) -> dict[str, Any]:
    """Bars of ``pairs`` in the order given, which is by rank, each with its point of similarity, if it has one; numbers
    as the SVG has them. The tail is what the suggestion looks at."""
    settled = [index for index, pair in enumerate(pairs) if pair.relevance is not None]
    bars = [_bar(pair, index, top_grade) | {"in_tail": index in settled[-TAIL:]} for index, pair in enumerate(pairs)]
    return {"bars": bars, "grid": grid(top_grade), "width": STEP * max(SHOWN, len(bars))}


SHOWN = 20  # ranks of the narrowest chart


def _bar(pair: Pair, index: int, top_grade: int) -> dict[str, Any]:
    height = max(LEAST, HEIGHT * (pair.relevance or 0) / top_grade)
    x_left, rank, similarity = index * STEP, pair.candidate.rank, pair.candidate.similarity
    middle = x_left + STEP // 2
    return {
        **{"state": pair.state, "relevance": pair.relevance, "rank": rank},
        "is_out": pair.state in (Pair.State.DROPPED, Pair.State.WITHDRAWN),
        "left": x_left,
        "x": x_left + (STEP - BAR) // 2,
        "y": f"{HEIGHT - height:g}",
        "height": f"{height:g}",
        "middle": middle,
        "point": "" if similarity is None else f"{middle},{HEIGHT * (1 - max(0.0, similarity)):.1f}",
        "is_ticked": index == 0 or rank % 5 == 0,  # its rank is written below
    }


DAY_HEIGHT = 90


def day_chart(days: Sequence[tuple[date, int]], per_day: float) -> dict[str, Any]:
    """Bars of judgments per day in the SVG's own units, with the pace as a line; Mondays are written below."""
    most = max([1, math.ceil(per_day), *(n for _, n in days)])

    def y(judgments: float) -> float:
        return DAY_HEIGHT * (1 - judgments / most)

    inset = (STEP - BAR) // 2
    bars = [
        {"day": day, "judgments": n, "x": index * STEP + inset, "y": y(n), "height": DAY_HEIGHT - y(n)}
        | {"is_ticked": day.weekday() == 0}
        for index, (day, n) in enumerate(days)
    ]
    is_empty = not any(n for _, n in days)
    lines = {"per_day": per_day, "pace_y": y(per_day), "most": most}
    return {"is_empty": is_empty, "width": STEP * len(days), "bars": bars, **lines}
