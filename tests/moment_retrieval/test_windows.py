"""Spans that a video's length alone decides: by hand, by their properties, and as many as published."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.windows import UNIT_S, shortest_windows, sliding_windows, uniform_segments
from tests.moment_retrieval.shared_data import SHARED

DURATIONS = SHARED / "data" / "tvr" / "tvr_video2dur_idx.json"
needs_durations = pytest.mark.skipif(not DURATIONS.is_file(), reason=f"no shared data at {SHARED}")
CAP = 90  # of the evaluation code


@needs_durations
def test_windows_of_val_are_as_many_as_published_with_and_without_the_cap() -> None:
    """In seconds, of the lengths as they are."""
    lengths = [duration for duration, _ in json.loads(DURATIONS.read_text())["val"].values()]
    windows = [sliding_windows(length, UNIT_S) for length in lengths]
    assert sum(map(len, windows)) == 186_786
    assert sum(len(shortest_windows(one, CAP)) for one in windows) == 170_794


def test_the_shortest_windows_by_hand() -> None:
    windows = sliding_windows(7.0, UNIT_S)
    assert windows == [(0, 3), (0, 6), (0, 7), (3, 6), (3, 7), (6, 7)]
    assert shortest_windows(windows, 3) == [(0, 3), (3, 6), (6, 7)]
    assert shortest_windows(windows, 100) == windows
    with pytest.raises(ValueError, match="1 window"):
        shortest_windows(windows, 0)


def test_segments_by_hand() -> None:
    assert uniform_segments(7.0, 3.0) == [(0, 3), (3, 6), (6, 7)]
    assert uniform_segments(6.05, 3.0) == [(0, 3), (3, 6.05)]  # too short a rest
    assert uniform_segments(2.0, 3.0) == [(0, 2)]
    with pytest.raises(ValueError, match="above 0"):
        uniform_segments(0.0, 3.0)


@given(st.floats(0.01, 20_000), st.floats(0.5, 3600))
def test_segments_are_the_video(length_s: float, segment_s: float) -> None:
    segments = uniform_segments(length_s, segment_s)
    assert segments[0][0] == 0 and segments[-1][1] == length_s
    assert all(before[1] == after[0] for before, after in pairwise(segments))
    assert all(start < end for start, end in segments)
