"""Charts: where marks lie, and what they say."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics.selectors import similarity_histogram, words_histogram
from core.charts.canvas import Axis, Canvas, LogAxis, number
from core.charts.kinds import (
    HEIGHT,
    WIDTH,
    Bin,
    Cell,
    Column,
    Histogram,
    Series,
    Spread,
    columns_chart,
    heat_map,
    lines_chart,
    spread_chart,
)

UNIT = Axis("share", 0, 1, 0.5)


def elements_of(canvas: Canvas, tag: str, css: str = "") -> list[ET.Element]:
    return [element for element in canvas.root.iter(tag) if css in element.get("class", "").split() or not css]


def words(canvas: Canvas, css: str) -> list[str]:
    return [element.text or "" for element in elements_of(canvas, "text", css)]


class TestLogAxis:
    @pytest.mark.parametrize(
        ("low", "high", "labels"),
        [
            (1, 62, ["1", "2", "5", "10", "20", "50", "100"]),
            (1, 1, ["1", "2"]),
            (0.3, 1200, ["0.2", "0.5", "1", "2", "5", *("10", "20", "50", "100", "200", "500", "1,000", "2,000")]),
            (2, 5, ["2", "5"]),
        ],
    )
    def test_ticks_by_hand(self, low: float, high: float, labels: list[str]) -> None:
        axis = LogAxis.covering("captions", low, high)
        assert [axis.label(tick) for tick in axis.ticks] == labels
        assert axis.base == axis.low

    def test_equal_ratios_are_equal_distances(self) -> None:
        axis = LogAxis.covering("captions", 1, 100)
        shares = [axis.share(value) for value in (1, 10, 100)]
        assert shares == [0, pytest.approx(0.5), 1]
        assert (axis.share(0), axis.share(1000)) == (0, 1)


class TestAxis:
    @pytest.mark.parametrize(
        ("low", "high", "ticks", "labels"),
        [
            (0, 4, [0, 1, 2, 3, 4], ["0", "1", "2", "3", "4"]),
            (0, 34_564, [0, 10_000, 20_000, 30_000, 40_000], ["0", "10,000", "20,000", "30,000", "40,000"]),
            (-0.5, 0.5, [-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6], ["−0.6", "−0.4", "−0.2", "0.0", "0.2", "0.4", "0.6"]),
            (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (3, 3, [3, 4], ["3", "4"]),
        ],
    )
    def test_ticks_by_hand(self, low: float, high: float, ticks: list[float], labels: list[str]) -> None:
        axis = Axis.over("pairs", low, high)
        assert axis.ticks == pytest.approx(ticks)
        assert [axis.label(tick) for tick in axis.ticks] == labels

    @given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
    def test_an_axis_holds_its_values_and_is_not_much_longer(self, low: float, length: float) -> None:
        axis = Axis.over("x", low, low + length)
        slack = 1e-6 * (abs(low) + length)
        assert axis.low <= low + slack
        assert axis.high >= low + length - slack
        assert axis.high - axis.low <= length + 2 * axis.step + slack
        assert 2 <= len(axis.ticks) <= 8

    def test_what_lies_outside_is_drawn_at_the_edge(self) -> None:
        assert [UNIT.share(value) for value in (-1, 0, 0.25, 1, 7)] == [0, 0, 0.25, 1, 1]


def test_a_number_has_one_decimal_at_most() -> None:
    texts = {0: "0", -0.04: "0", 12: "12", 12.04: "12", 12.36: "12.4", -7.5: "-7.5", "end": "end"}
    assert {value: number(value) for value in texts} == texts


class TestCharts:
    def test_a_column_is_as_high_as_its_value_and_a_gap_without_one(self) -> None:
        columns = [Column("a", 0.5, ("half",)), Column("b", 1, ("all",))]
        chart = columns_chart("Parts", columns, UNIT, x_name="part", height=100)
        heights = [float(bar.get("height", "")) for bar in elements_of(chart, "rect", "bar")]
        assert heights == [50, 100]
        assert words(chart, "value") == ["half", "all"]
        assert [bar[0].text for bar in elements_of(chart, "rect", "bar")] == ["a: half", "b: all"]
        chart = columns_chart("Parts", [Column("a", None, ()), Column("b", 0, ("none",))], UNIT, x_name="part")
        assert [bar[0].text for bar in elements_of(chart, "rect", "bar")] == ["b: none"]

    def test_a_band_without_anything_stays_empty(self) -> None:
        spreads = [Spread("1", 0.5, 0.25, 0.75, "one"), Spread("2", None, 0, 0, "")]
        chart = spread_chart("Means", spreads, UNIT, x_name="rank")
        assert len(elements_of(chart, "circle")) == len(elements_of(chart, "line", "whisker")) == 1
        assert words(chart, "tick")[-2:] == ["1", "2"]

    def test_a_line_is_broken_where_a_value_is_missing(self) -> None:
        chart = lines_chart("Lines", list("abcd"), [Series("one", [0, 1, None, 0.5])], UNIT)
        first, second = (line.get("points", "").split() for line in elements_of(chart, "polyline"))
        assert (len(first), len(second)) == (2, 1)
        assert len(elements_of(chart, "circle")) == 3
        assert words(chart, "key") == ["one"]

    def test_a_heat_map_by_hand(self) -> None:
        cells = {(0, 1): Cell(0.9, ("9",), "nine"), (1, 0): Cell(2, ("?",), "few", "below", is_faint=True)}
        chart = heat_map("Heat", rows=["a", "b"], columns=["c", "d"], cells=cells, names=("row", "column"))
        strong, faint = elements_of(chart, "rect", "cell")
        assert (strong.get("fill-opacity"), faint.get("fill-opacity")) == ("0.90", "0.30")
        assert float(strong.get("x", "")) > float(faint.get("x", ""))
        assert float(strong.get("y", "")) < float(faint.get("y", ""))
        assert (words(chart, "strong"), words(chart, "few")) == (["9"], ["?"])

    def test_labels_are_dropped_where_there_is_no_room(self) -> None:
        spreads = [Spread(f"long label {index}", 0.5, 0.4, 0.6, "") for index in range(60)]
        chart = spread_chart("Many", spreads, UNIT, x_name="label")
        labels = [text for text in elements_of(chart, "text", "tick") if "long" in (text.text or "")]
        gaps = [float(b.get("x", "")) - float(a.get("x", "")) for a, b in pairwise(labels)]
        assert min(gaps) > 7 * len("long label 59")
        assert any("minor" in text.get("class", "") for text in labels)


def test_words_are_escaped_and_nothing_is_styled_inline() -> None:
    chart = columns_chart('<b>&"', [Column("<i>", 1, ("</svg><script>",))], UNIT, x_name="&")
    page = chart.inline()
    assert "<script" not in page
    assert "<i>" not in page
    assert "style=" not in page
    assert ET.fromstring(page).get("aria-label") == '<b>&"'


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


def test_long_names_of_rows_have_room_in_a_heat_map() -> None:
    cells = {(0, 0): Cell(1.0, ("1",), "itself")}
    canvas = heat_map("map", rows=["a very long name"], columns=["a"], cells=cells, names=("one", "other"))
    (cell,) = elements_of(canvas, "rect")
    assert float(cell.get("x", 0)) > 9 * len("a very long name")
