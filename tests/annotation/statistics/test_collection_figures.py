"""Words and verbs of queries, and the tables as people read them."""

import pytest

from annotation.statistics import collection as report
from annotation.statistics.collection import PUBLISHED, ROWS, TABLE_4, query_figures, rounded

VERBS = {"A man walks.": [("walks", "walk")], "Two men are walking.": [("walking", "walk")]}
ROWS_OF = [
    (("all", "split val"), "A man walks."),
    (("all",), "Two men are walking."),
    (("all",), "A man walks."),
    ((), "Nobody's."),
]


def test_by_hand() -> None:
    texts: list[str] = []

    def verbs(text: str) -> list[tuple[str, str]]:
        texts.append(text)
        return VERBS.get(text, [])

    figures = query_figures(ROWS_OF, verbs=verbs)
    assert figures["all"] == {
        **{"queries": 3, "texts": 2, "vocabulary": 7, "verbs": 2, "lemmas": 1},
        **{"words_min": 3, "words_mean": pytest.approx(10 / 3), "words_max": 4},
    }
    assert (figures["split val"]["queries"], figures["split val"]["vocabulary"]) == (1, 3)
    assert texts == ["A man walks.", "Two men are walking."]  # each once
    untagged = query_figures(ROWS_OF, verbs=None)["all"]
    assert (untagged["verbs"], untagged["lemmas"], untagged["vocabulary"]) == (None, None, 7)


@pytest.mark.parametrize(
    ("value", "decimals", "words"), [(None, 2, "–"), (0, 0, "0"), (69317, 0, "69,317"), (8.706, 2, "8.71")]
)
def test_number_in_words(value: float | None, decimals: int, words: str) -> None:
    assert rounded(value, decimals) == words


def test_what_the_paper_prints_stands_behind_ours_and_is_called_so() -> None:
    (size, lengths) = report.tables([{"column": "all", "moments_are": "all", "queries": 7}, *report.published()])
    splits = ("training", "validation", "test")
    assert [name for name, *_ in size.head] == ["Corpus", *(f"TVR-Ranking, {name}" for name in splits)]
    assert [published for *_, published in size.head] == [False, True, True, True]
    assert size.lines[0].cells == ["7", "69,317", "500", "2,781"]
    assert [line.cells[2] for line in lengths.lines[:6]] == ["7", "14.11", "35", "0.27", "8.71", "121.86"]
    assert [line.cells[2] for line in lengths.lines[6:]] == ["2.02", "76.59", "272.02", "0.11"]
    names = {row.name for row in ROWS}
    for values in PUBLISHED.values():
        assert {row.name for row in TABLE_4} <= set(values) <= {*names, "moments_are"}


def test_long_form_leaves_out_what_is_not_known() -> None:
    rows = list(report.value_rows([{"column": "all", "queries": 7, "verbs": None, "words_mean": 1 / 3}]))
    assert rows == [("all", "queries", 7), ("all", "words_mean", 0.333333)]


def test_latex_needs_nothing_but_a_document_around_it() -> None:
    column = {"column": "source a_b&c", "moments_are": "", "queries": 12345}
    text = report.latex(report.tables([column]))
    assert "\\begin{tabular}{lr}" in text
    assert " & Source split a\\_b\\&c \\\\" in text
    assert "Queries & 12,345 \\\\" in text
    assert "Verbs & -- \\\\" in text
    assert text.count("\\end{tabular}") == 2
