"""Histograms: where their bars stand, and which bins they have."""

import pytest

from annotation.statistics.selectors import similarity_histogram, words_histogram
from core.charts.kinds import HEIGHT, WIDTH, Bin, Histogram


def lengths(*descriptions: tuple[int, int], captions: tuple[tuple[int, int], ...] = ()) -> dict[str, object]:
    return {"descriptions": {"lengths": list(descriptions)}, "captions": {"lengths": list(captions)}}


def test_bars_stand_side_by_side_in_their_bin_and_the_highest_fills_the_height() -> None:
    chart = Histogram([Bin("a", (1, 4)), Bin("b", (0, 2), "b")], ("before", "after"), mark=1)
    first, second, third = chart.bars
    assert (first.height, second.height, third.height) == (HEIGHT / 4, HEIGHT, HEIGHT / 2)
    assert first.x + first.width == second.x
    assert all(0 <= bar.x < bar.x + bar.width <= WIDTH and bar.y + bar.height == HEIGHT for bar in chart.bars)
    assert (third.title, chart.mark, chart.ticks) == ("b: 2 after", WIDTH / 2, [(WIDTH * 3 / 4, "b")])


def test_nothing_to_draw() -> None:
    chart = Histogram([], ("before",))
    assert (chart.bars, chart.most, chart.mark) == ([], 0, None)


def test_the_longest_texts_share_the_last_bin() -> None:
    chart = words_histogram(lengths((12, 990), (90, 10), captions=((11, 5),)))
    assert [each.label for each in chart.bins[-2:]] == ["12 words", "more than 12 words"]
    assert [each.counts for each in chart.bins[-3:]] == [(0, 5), (990, 0), (10, 0)]
    assert [tick for _, tick in chart.ticks] == ["0", "5", "more"]


def test_texts_of_any_length_are_all_counted() -> None:
    chart = words_histogram(lengths((0, 1), (700, 1)))
    assert sum(each.counts[0] for each in chart.bins) == 2
    assert len(chart.bins) == 52


def test_similarities_begin_at_0_or_below() -> None:
    chart = similarity_histogram({"similarity": {"bins": [[0.4, 0.45, 3], [0.95, 1.0, 2]]}}, limit=0.4)
    assert (len(chart.bins), chart.bins[0].label, chart.bins[8].counts) == (20, "0.00 to 0.05", (3,))
    assert chart.mark == WIDTH * 8 / 20
    assert (chart.mark, "0.4") in chart.ticks
    below = similarity_histogram({"similarity": {"bins": [[-0.1, -0.05, 1]]}}, limit=0.4)
    assert (below.bins[0].label, below.bins[0].counts) == ("-0.10 to -0.05", (1,))
    assert below.mark == pytest.approx(WIDTH * 10 / 22)
