"""Dividing texts into splits: sizes, shares, and what always holds."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.queries.rules import JUDGED, LARGEST_SEED, NoSplit, Share, draw, size_of, sizes_in_texts

TEXTS = st.dictionaries(st.integers(0, 10**6), st.sampled_from("abcdefghij"), max_size=40)
SEEDS = st.integers(0, LARGEST_SEED)
PARTS = st.fractions(0, 50, max_denominator=1000)


def test_a_size_is_a_number_or_a_share() -> None:
    sizes = {"500": 500, " 0 ": 0, "5%": Share(Fraction(5)), "2.5 %": Share(Fraction(5, 2)), "0%": Share(Fraction(0))}
    assert {words: size_of(words) for words in sizes} == sizes
    for words in ("", "-3", "2.5", "5%%", "%", "5 percent", "1e3", "1,000", "٥", "nan%"):
        with pytest.raises(NoSplit, match="is no size"):
            size_of(words)


@pytest.mark.parametrize(
    ("val", "test", "texts", "sizes"),
    [
        ("5%", "20%", 100, (5, 20)),
        ("5%", "20%", 99, (4, 19)),  # 4.95 and 19.8: what is left over trains
        ("50%", "50%", 3, (1, 1)),  # never more than there is
        ("100%", "0%", 7, (7, 0)),
        ("0.1%", "99.9%", 1000, (1, 999)),
        ("3", "10%", 25, (3, 2)),
        ("0", "0", 0, (0, 0)),
    ],
)
def test_a_share_is_rounded_down_to_whole_texts(val: str, test: str, texts: int, sizes: tuple[int, int]) -> None:
    n_texts = sizes_in_texts({"val": size_of(val), "test": size_of(test)}, texts)
    assert (n_texts["val"], n_texts["test"]) == sizes


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"val": -1}, "fewer than 0"),
        ({"val": Share(Fraction(-1))}, "fewer than 0"),
        ({"val": size_of("60%"), "test": size_of("50%")}, "come to 110 %, more than 100 %"),
        ({"val": size_of("0.5%")}, "0.5% of 10 texts is less than one"),
        ({"val": 6, "test": size_of("50%")}, "There are 10 different texts, and 11 are asked for"),
        ({"dev": 1}, "No split is called dev"),
    ],
)
def test_what_cannot_be_is_refused_in_words(sizes: dict[str, int | Share], words: str) -> None:
    with pytest.raises(NoSplit, match=words):
        sizes_in_texts(sizes, 10)


@pytest.mark.parametrize("seed", [-1, LARGEST_SEED + 1])
def test_a_seed_is_a_number_that_gives_its_own_draw(seed: int) -> None:
    with pytest.raises(NoSplit, match="seed is a whole number"):
        draw({1: "a"}, {}, seed)


@given(TEXTS, PARTS, PARTS, SEEDS)
def test_what_holds_of_every_draw(texts: dict[int, str], val: Fraction, test: Fraction, seed: int) -> None:
    distinct = len(set(texts.values()))
    sizes = {"val": int(val * distinct / 100), "test": int(test * distinct / 100)}
    drawing = draw(texts, sizes, seed)
    texts_of = {
        split: [texts[n] for n, own_split in drawing.split_of.items() if own_split == split]
        for split in (*JUDGED, "train")
    }

    judged = texts_of["val"] + texts_of["test"]
    assert len(judged) == len(set(judged))  # no text twice, so none in both
    assert not set(judged) & set(texts_of["train"])
    assert {split: len(texts_of[split]) for split in JUDGED} == sizes
    assert sum(drawing.counts.values()) == len(texts)
    assert drawing.removed == sum(text in judged for text in texts.values()) - len(judged)
    assert set(judged) | set(texts_of["train"]) == set(texts.values())


@given(TEXTS, SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_the_captions_does_not_matter(texts: dict[int, str], seed: int, order: random.Random) -> None:
    sizes = {"val": len(set(texts.values())) // 3, "test": len(set(texts.values())) // 3}
    again = list(texts.items())
    order.shuffle(again)
    assert draw(texts, sizes, seed) == draw(dict(again), sizes, seed)


def test_a_seed_gives_the_same_draw_ever_after() -> None:
    drawing = draw({number: f"text {number % 9}" for number in range(12)}, {"val": 2, "test": 3}, seed=7)
    judged = {number: split for number, split in drawing.split_of.items() if split != "train"}
    assert judged == {11: "val", 7: "val", 3: "test", 10: "test", 8: "test"}
    texts = {number: f"text {number}" for number in range(50)}
    assert draw(texts, {"val": 10}, 7) != draw(texts, {"val": 10}, 8)


@pytest.mark.parametrize("other", ["a man waves.", "A man  waves.", "A man waves. "])
def test_texts_are_the_same_only_letter_by_letter(other: str) -> None:
    assert draw({1: "A man waves.", 2: other}, {"val": 1, "test": 1}, seed=1).removed == 0
    assert draw({1: "A man waves.", 2: "A man waves."}, {"val": 1}, seed=1).removed == 1
