"""Charts of relevance, and files of charts that stand alone."""

import re
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings

from core.charts.canvas import Canvas, document
from judging.figures.charts import Ranked, ranked_chart, shares_chart, standalone_style
from judging.work.rules import SHADES, TVR_RANKING, Rules, near_words
from tests.core.test_charts import elements_of, words


def test_shares_fill_the_column_and_nothing_is_drawn_for_none() -> None:
    chart = shares_chart("Shares", ["1", "2"], [(1, 0, 0, 0, 3), (0, 0, 0, 0, 0)], TVR_RANKING, x_name="rank")
    zero, four = (elements_of(chart, "rect", css)[-1] for css in ("r0", "r9"))  # the first is the legend's
    assert float(four.get("height", "")) == pytest.approx(3 * float(zero.get("height", "")), abs=0.2)
    foot = float(four.get("y", "")) + float(four.get("height", ""))
    assert foot == pytest.approx(float(zero.get("y", "")), abs=0.2)
    assert zero[0].text == "1: relevance 0: 1 of 4, 25.0 %"
    assert len(elements_of(chart, "rect", "r4")) == 1


def test_no_and_yes_are_drawn_in_the_colours_of_the_worst_and_the_best() -> None:
    yes_or_no = Rules(top_grade=1, judges=3, max_spread=0, max_rounds=2)
    chart = shares_chart("Shares", ["1"], [(1, 3)], yes_or_no, x_name="rank")
    titles = {css: [bar[0].text for bar in elements_of(chart, "rect", css) if len(bar)] for css in ("r0", "r1", "r9")}
    no, yes = "1: relevance 0: 1 of 4, 25.0 %", "1: relevance 1: 3 of 4, 75.0 %"
    assert titles == {"r0": [no], "r1": [], "r9": [yes]}
    assert [len(elements_of(chart, "rect", f"r{shade}")) for shade in SHADES] == [2, *[0] * 8, 2]  # with the legend
    bars = ranked_chart("Yes", [Ranked(1, 1, "settled", None)], yes_or_no)
    assert len(elements_of(bars, "rect", "r9")) == 1


@pytest.mark.parametrize("top_grade", range(1, 10))
def test_each_grade_of_a_scale_has_a_colour_of_its_own_the_same_on_buttons_and_in_charts(top_grade: int) -> None:
    scale = Rules(top_grade=top_grade, judges=2, max_spread=0, max_rounds=2)
    shades = [scale.shade(grade) for grade in scale.grades]
    assert shades == sorted(set(shades)) and (shades[0], shades[-1]) == (SHADES[0], SHADES[-1])
    css = (settings.BASE_DIR / "static/css/app.css").read_text()
    (block,) = re.findall(rf'\[data-top-grade="{top_grade}"\] {{(.*)}}', css)
    assert re.findall(r"--f(\d): var\(--r(\d)\)", block) == [(str(g), str(shade)) for g, shade in enumerate(shades)]
    assert re.findall(r"--g(\d): var\(--c(\d)\)", block) == [(str(g), str(shade)) for g, shade in enumerate(shades)]


@pytest.mark.parametrize(
    ("max_spread", "phrase"), [(0, "equal"), (1, "at most one apart"), (2, "at most 2 apart"), (8, "at most 8 apart")]
)
def test_grades_that_agree_in_words(max_spread: int, phrase: str) -> None:
    assert near_words(max_spread) == phrase


def test_relevance_by_rank_with_similarity() -> None:
    candidates = [Ranked(1, 4, "settled", 0.5), Ranked(2, None, "dropped", -0.2), Ranked(3, 0, "settled", None)]
    chart = ranked_chart("A man opens a door.", candidates, TVR_RANKING)
    assert [bar[0].text for bar in elements_of(chart, "rect")] == ["rank 1: relevance 4", "rank 3: relevance 0"]
    assert words(chart, "out") == ["×"]
    dots = [dot[0].text for dot in elements_of(chart, "circle")]
    assert dots == ["rank 1: similarity 0.500", "rank 2: similarity -0.200"]
    assert "similarity" not in ranked_chart("None", [Ranked(1, 4, "settled", None)], TVR_RANKING).inline()


def test_a_file_stands_alone() -> None:
    charts = [
        ("First", ranked_chart("One", [Ranked(1, 2, "settled", 0.5)], TVR_RANKING)),
        ("Second", Canvas("Two", 700, 10)),
    ]
    file = document("A figure & more", charts, standalone_style())
    root = ET.fromstring(file)
    assert file.startswith(b"<?xml")
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width", "")) > 700
    texts = [element for element in root.iter() if element.get("class") == "heading"]
    assert [element.text for element in texts] == ["First", "Second"]
    assert file == document("A figure & more", charts, standalone_style())


def test_the_stylesheet_of_files_names_every_colour_itself() -> None:
    style = standalone_style()
    assert "var(" not in style
    assert "@media" not in style
    classes = set(re.findall(r"svg\.chart \.([\w.-]+)", style))
    assert {"r0", "r4", "cell", "grid", "axis", "series-1", "line.series-2", "strong", "weak", "few"} <= classes
    assert "svg.chart .r9 { fill: #2f7d5b; }" in style
