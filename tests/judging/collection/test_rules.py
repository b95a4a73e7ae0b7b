"""Checks of written queries, by the table that the page's script is tried by too; and which type is asked for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.collection.rules import (
    LONGEST,
    TYPES,
    Checks,
    Entry,
    Line,
    end_within,
    problems_of,
    type_to_request,
    warnings_of,
)

TABLE = json.loads((Path(__file__).parent / "checks.json").read_text())
CHECKS = Checks(**{**TABLE["checks"], "types": tuple(TABLE["checks"]["types"])})
LINES = [Line(float(index), index + 1.0, text) for index, text in enumerate(TABLE["lines"])]


def codes(entry: Entry, lines: list[Line] = LINES) -> list[str]:
    problems = problems_of(entry, duration_s=TABLE["duration_s"], lines=lines, checks=CHECKS)
    assert all("{" not in problem.message for problem in problems)
    return [problem.code for problem in problems]


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["about"])
def test_check(case: dict[str, Any]) -> None:
    entry = Entry(**{name: case[name] for name in ("text", "type", "start_s", "end_s")})
    assert codes(entry) == case["codes"]
    assert [problem.code for problem in warnings_of(entry.text)] == case.get("warnings", [])


def test_without_subtitles_a_query_is_about_the_video() -> None:
    assert codes(Entry("A man opens the door of a red car.", "vt", 1, 2), []) == ["no_subtitles"]


def test_a_query_of_10000_characters() -> None:
    assert codes(Entry("word " * 2000, "v", 1, 2)) == ["too_long"]
    assert codes(Entry("w " * (LONGEST // 2), "v", 1, 2)) == []


def test_an_end_behind_the_video_by_rounding_is_its_end() -> None:
    assert end_within(60.04, duration_s=60.0) == 60.0
    assert end_within(60.06, duration_s=60.0) == 60.06


@given(
    shares=st.fixed_dictionaries({type_: st.integers(0, 100) for type_ in TYPES}),
    types=st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
    n=st.integers(1, 200),
)
def test_types_requested_one_after_the_other_keep_to_their_shares(
    shares: dict[str, int], types: list[str], n: int
) -> None:
    counts: Counter[str] = Counter()
    for _ in range(n):
        counts[type_to_request(counts, shares, types)] += 1
    total = sum(shares[type_] for type_ in types)
    assert set(counts) <= set(types)
    if total:
        assert all(abs(counts[type_] - n * shares[type_] / total) <= 1 for type_ in types)
