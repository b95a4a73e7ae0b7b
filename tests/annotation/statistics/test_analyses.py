"""TVR's analyses of a data set, by hand on tiny ones."""

import pytest

from annotation.statistics.analyses import Text, frequency_curve, span_analyses, text_analyses, unique_grams


def test_moments_by_length_share_and_centre() -> None:
    counts = span_analyses([(0, 4, 10), (0, 5, 10), (9, 10, 10), (0, 100, 100)])
    assert counts["seconds"] == [2, 1, *[0] * 10, 1]  # 4 s and 1 s; 5 s; 60 s or more
    assert [(index, n) for index, n in enumerate(counts["shares"]) if n] == [(2, 1), (8, 1), (10, 1), (19, 1)]
    assert [(index, n) for index, n in enumerate(counts["centres"]) if n] == [(4, 1), (5, 1), (10, 1), (19, 1)]


def test_texts_by_words_actions_and_people() -> None:
    texts = [
        Text("A man walks and sits.", "a", ("walk", "sit"), ("man",), 1),
        Text("Two men walk.", "b", ("walk",), ("man",), 2),
        Text("It rains.", "c", ("rain",), (), 0),
        Text("word " * 40, "d", (), (), 7),
    ]
    analyses = text_analyses(texts, tagged=True)
    assert [(n, count) for n, count in enumerate(analyses["words"]) if count] == [(2, 1), (3, 1), (5, 1), (30, 1)]
    assert (analyses["actions"], analyses["people"]) == ([1, 2, 1, 0], [1, 1, 1, 1])
    assert analyses["verbs"] == [("walk", 2), ("rain", 1), ("sit", 1)]
    assert analyses["nouns"] == [("man", 2)]
    untagged = text_analyses([Text("He sings.", "e", words=("sings",), people=1)], tagged=False)
    assert "verbs" not in untagged and untagged["frequent_words"] == [("sings", 1)]
    assert text_analyses([], tagged=True)["frequencies"] == [0.0] * 20


def test_different_runs_of_four_words() -> None:
    one, other = ["a", "man", "walks", "in", "now"], ["a", "man", "walks", "in"]
    assert unique_grams([one, other]) == [(1, pytest.approx(1.5, abs=0.5)), (2, 2)]
    assert unique_grams([["a", "man", "walks"]]) == [(1, 0)]
    assert unique_grams([]) == []


def test_the_most_frequent_texts_make_up_most() -> None:
    keys = ["same"] * 81 + [f"other {n}" for n in range(19)]
    curve = frequency_curve(keys)
    assert curve[0] == 0.81 and curve[1] == 0.82 and curve[-1] == 1.0
    assert frequency_curve([f"text {n}" for n in range(12_000)])[9] == 0.5  # of a sample, all different
