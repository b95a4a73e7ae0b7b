"""Bars of relevance by rank, by hand."""

import pytest

from annotation.models import Candidate
from judging.models import Pair
from judging.projects.charts import HEIGHT, LEAST, STEP, bars_of, grid


def pairs_of(*relevances: int | None) -> list[Pair]:
    return [
        Pair(
            candidate=Candidate(rank=rank, similarity=0.5),
            state="dropped" if relevance is None else "settled",
            relevance=relevance,
        )
        for rank, relevance in enumerate(relevances, start=1)
    ]


def test_yes_is_as_high_as_the_chart_and_no_is_seen() -> None:
    chart = bars_of(pairs_of(1, 0, None), 1)
    assert [(bar["y"], bar["height"], bar["is_out"]) for bar in chart["bars"]] == [
        ("0", f"{HEIGHT}", False),
        (f"{HEIGHT - LEAST}", f"{LEAST}", False),
        (f"{HEIGHT - LEAST}", f"{LEAST}", True),
    ]
    assert chart["grid"] == [(HEIGHT, 0), (0, 1)]


@pytest.mark.parametrize("top_grade", [1, 2, 4, 5, 8, 9])
def test_every_grade_has_its_line(top_grade: int) -> None:
    lines = grid(top_grade)
    assert [relevance for _, relevance in lines] == [*range(top_grade + 1)]
    assert (lines[0][0], lines[-1][0]) == (HEIGHT, 0)
    assert [height for height, _ in lines] == sorted({height for height, _ in lines}, reverse=True)


@pytest.mark.parametrize(("n_pairs", "width"), [(2, 20 * STEP), (20, 20 * STEP), (50, 50 * STEP)])
def test_more_than_twenty_pairs_make_a_wider_chart(n_pairs: int, width: int) -> None:
    chart = bars_of(pairs_of(*[1] * n_pairs), 1)
    assert (len(chart["bars"]), chart["width"]) == (n_pairs, width)
    assert chart["bars"][-1]["left"] + STEP <= width
    assert [bar["in_tail"] for bar in chart["bars"]].count(True) == min(5, n_pairs)
