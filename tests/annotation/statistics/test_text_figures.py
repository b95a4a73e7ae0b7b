"""Word statistics of texts: by hand, and against an independent count on random texts."""

import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
