"""Word statistics of texts and queries: by hand, against an independent count on random texts, and as tables."""

import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.statistics import collection as report
from annotation.statistics.collection import PUBLISHED, TABLE_4, query_figures, rounded
from annotation.statistics.rules import MICRO, WORD, Row, Similarities, figures, words_per_text

ROWS = [
    Row(("all", "kind video"), "Ross and Joey wave.", "Two men wave.", 0.4, "friends_1"),
    Row(("all", "kind video"), "Joey's dog waves.", "A man's dog waves.", 0.75),
    Row(("all",), "It rains.", "It rains.", 1.0),
    Row(("all",), "It rains.", None),
]
TEXTS = st.lists(st.tuples(st.text("ab 'é-.", max_size=20), st.text("ab 'é-.", max_size=20)), max_size=30)


def names_somebody(text: str, video: str) -> bool:
    return "Joey" in text


def test_by_hand() -> None:
    result = figures(ROWS, names=names_somebody)
    everything, video = result["all"], result["kind video"]
    before, after = everything["descriptions"], everything["captions"]
    assert (before["texts"], before["distinct"], before["with_names"]) == (4, 3, 2)
    assert (after["texts"], after["distinct"], after["with_names"]) == (3, 3, 0)
    assert before["lengths"] == [(2, 2), (3, 1), (4, 1)]
    assert before["words"] == {"mean": 2.75, "median": 2.5, "min": 2, "max": 4}
    assert before["vocabulary"] == len({"ross", "and", "joey", "wave", "joey's", "dog", "waves", "it", "rains"})
    assert before["first_words"] == [("it", 2), ("joey's", 1), ("ross", 1)]
    assert (everything["pairs"], everything["changed"]) == (3, 2)
    assert everything["replacements"] == [("man", 1), ("men", 1), ("two", 1)]
    assert everything["similarity"]["mean"] == pytest.approx(2.15 / 3)
    assert everything["similarity"]["bins"] == [[0.4, 0.45, 1], [0.75, 0.8, 1], [0.95, 1.0, 1]]
    assert (video["pairs"], video["replaced"], video["similarity"]["texts"]) == (2, 3, 2)


@given(TEXTS)
def test_as_an_independent_count_says(texts: list[tuple[str, str]]) -> None:
    result = figures((Row(("all",), before, after) for before, after in texts), names=names_somebody).get("all")
    if not texts:
        assert result is None
        return
    assert result is not None
    for index, side in enumerate(("descriptions", "captions")):
        words = [WORD.findall(pair[index].lower()) for pair in texts]
        lengths = [len(one) for one in words]
        assert result[side]["lengths"] == sorted(Counter(lengths).items())
        assert result[side]["words"]["mean"] == pytest.approx(statistics.mean(lengths))
        assert result[side]["words"]["median"] == statistics.median(lengths)
        assert result[side]["vocabulary"] == len({word for one in words for word in one})
        assert sum(n for _, n in result[side]["first_words"]) == sum(bool(one) for one in words)
    assert result["changed"] == sum(before != after for before, after in texts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's dog-walker, 2 o'clock!", ["a", "man's", "dog-walker", "2", "o'clock"]),
        ("'Tis — so-called_thing", ["tis", "so-called", "thing"]),
        ("Der Mann läuft; 男人走进房间 🙂", ["der", "mann", "läuft", "男人走进房间"]),
        ("…", []),
    ],
)
def test_a_word(text: str, words: list[str]) -> None:
    assert WORD.findall(text.lower()) == words
    assert set(words_per_text({}).values()) == {None}
    result = figures([Row(("all",), "b a", "c"), Row(("all",), "a b", "c")], names=names_somebody)["all"]
    assert result["descriptions"]["first_words"] == [("a", 1), ("b", 1)]  # the alphabet decides


@given(st.integers(-MICRO, MICRO))
def test_a_similarity_is_in_its_bin(micro: int) -> None:
    similarities = Similarities()
    similarities.add(micro / MICRO)
    ((low, high, n),) = similarities.figures()["bins"]
    assert n == 1
    assert low <= micro / MICRO <= high
    assert micro / MICRO < high or high == 1


VERBS = {"A man walks.": [("walks", "walk")], "Two men are walking.": [("walking", "walk")]}
ROWS_OF = [
    (("all", "split val"), "A man walks."),
    (("all",), "Two men are walking."),
    (("all",), "A man walks."),
    ((), "Nobody's."),
]


def test_queries_by_hand() -> None:
    texts: list[str] = []

    def verbs(text: str) -> list[tuple[str, str]]:
        texts.append(text)
        return VERBS.get(text, [])

    columns = query_figures(ROWS_OF, verbs=verbs)
    assert columns["all"] == {
        **{"queries": 3, "texts": 2, "vocabulary": 7, "verbs": 2, "lemmas": 1},
        **{"words_min": 3, "words_mean": pytest.approx(10 / 3), "words_max": 4},
    }
    assert (columns["split val"]["queries"], columns["split val"]["vocabulary"]) == (1, 3)
    assert texts == ["A man walks.", "Two men are walking."]  # each once
    untagged = query_figures(ROWS_OF, verbs=None)["all"]
    assert (untagged["verbs"], untagged["lemmas"], untagged["vocabulary"]) == (None, None, 7)


@pytest.mark.parametrize(
    ("value", "decimals", "words"), [(None, 2, "–"), (0, 0, "0"), (69317, 0, "69,317"), (8.706, 2, "8.71")]
)
def test_number_in_words(value: float | None, decimals: int, words: str) -> None:
    assert rounded(value, decimals) == words


SPLITS_IN_WORDS = ("training", "validation", "test")


def test_what_the_paper_prints_stands_behind_ours_and_is_called_so() -> None:
    (size, lengths) = report.tables([{"column": "all", "moments_are": "all", "queries": 7}, *report.published()])
    assert [name for name, *_ in size.head] == ["Corpus", *(f"TVR-Ranking, {name}" for name in SPLITS_IN_WORDS)]
    assert [published for *_, published in size.head] == [False, True, True, True]
    assert size.lines[0].cells == ["7", "69,317", "500", "2,781"]
    assert [line.cells[2] for line in lengths.lines[:6]] == ["7", "14.11", "35", "0.27", "8.71", "121.86"]
    assert [line.cells[2] for line in lengths.lines[6:]] == ["2.02", "76.59", "272.02", "0.11"]
    names = {row.name for row in report.ROWS}
    for values in PUBLISHED.values():
        assert {row.name for row in TABLE_4} <= set(values) <= {*names, "moments_are"}


def test_a_corpus_stands_before_the_data_sets_of_the_paper() -> None:
    rows = report.data_sets(
        [{"column": "split val", "queries": 3}, {"column": "all", "queries": 7, "video_hours": 1.5}]
    )
    assert [row.name for row in rows[:4]] == ["Corpus", *(f"TVR-Ranking, {name}" for name in SPLITS_IN_WORDS)]
    assert [row.is_ours for row in rows] == [True, *[False] * 12]
    assert (rows[0].cells[0], rows[0].cells[-1]) == ("7", "1.50")
    assert {row.name: row.cells for row in rows}["MAD"] == [
        *("3,328,745", "328,742", "488", "56,066", "13,993", "263.46", "1,207.30")
    ]


def test_words_for_names_have_their_gender_and_the_number_of_the_paper() -> None:
    words = report.replacement_table([("man", 3), ("her", 2), ("someone", 1), ("nurse", 1)])
    assert [(row.gender, row.paper) for row in words] == [("M", 37533), ("F", 572), ("N", 1938), ("N", None)]
    lines = report.replacement_lines(Counter(man=3, nurse=1), captions=2).splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["man", "3", "M", "37,533"],
        ["nurse", "1", "N", "not", "available"],
    ]
    assert lines[3] == "4 words replaced in 2 descriptions, 2.00 each."


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
