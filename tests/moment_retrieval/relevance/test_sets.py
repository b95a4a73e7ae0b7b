"""Bag of words, part of speech, synsets: on paper, by properties, and ranking a pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.relevance import Normalisation, RelevanceMissing, content_words
from moment_retrieval.relevance.sets import (
    BagOfWords,
    PartOfSpeech,
    SetSimilarity,
    Synsets,
    alike,
    common,
    set_relevance,
    with_own,
)
from moment_retrieval.relevance.tagger import GivenTags, Tags
from moment_retrieval.relevance.wordnet import VERB, ClassTable, WordNet, read_classes

OFFICIAL, CLEAN = Normalisation.OFFICIAL, Normalisation.CLEAN
TAGS = GivenTags(
    {
        "Man opens door": Tags(("opens",), ("Man", "door")),
        "a man shuts the door": Tags(("shuts",), ("man", "door")),
        "he sleeps": Tags(("sleeps",), ()),
        "how nice": Tags((), ()),
    },
    name="tags by hand",
)


class FirstLetter:
    """Words that begin alike mean the same."""

    def sense(self, word: str, context: frozenset[str]) -> str:
        return word[0]


READERS = {
    "bow": BagOfWords(CLEAN),
    "pos": PartOfSpeech(TAGS, CLEAN),
    "synset": Synsets(TAGS, FirstLetter(), FirstLetter(), CLEAN),
}
texts = st.lists(st.sampled_from(["dog", "cat", "runs", "Door.", "door", "the"]), max_size=5).map(" ".join)
few = st.lists(texts, min_size=1, max_size=3)
tagged = st.sampled_from(list(TAGS.tags))


def similarity(reader: object) -> SetSimilarity:
    return SetSimilarity("x", "x", "1", "clean", reader)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        ("He opens the  door.", OFFICIAL, {"He", "opens", "", "door."}),
        ("He opens the  door.", CLEAN, {"opens", "door"}),
        ("Don't put IT there", OFFICIAL, {"Don't", "IT"}),
        ("Don't put IT there", CLEAN, {"don't"}),
        ("", OFFICIAL, {""}),
        ("", CLEAN, set()),
    ],
)
def test_words_of_a_text(text: str, how: Normalisation, words: set[str]) -> None:
    assert content_words(text, how) == words


def test_words_in_common() -> None:
    bow = similarity(BagOfWords(CLEAN))
    first = ["A man opens the door.", "Stop!", "the", "the"]
    second = ["The man shuts a window!", "stop", "of", "cat"]
    assert bow.pairs(first, second).tolist() == [1 / 5, 1.0, 0.0, 0.0]


def test_verbs_and_nouns_count_half_each() -> None:
    first, second = ["Man opens door", "he sleeps", "how nice"], ["a man shuts the door", "he sleeps", "how nice"]
    assert similarity(PartOfSpeech(TAGS, OFFICIAL)).pairs(first, second).tolist() == [0.5 / 3, 0.5, 0.0]
    assert similarity(PartOfSpeech(TAGS, CLEAN)).pairs(first, second).tolist() == [0.5, 0.5, 0.0]


def test_a_text_without_given_tags_is_refused() -> None:
    with pytest.raises(RelevanceMissing, match="no tags by hand for the text 'a cat'"):
        PartOfSpeech(TAGS, CLEAN).read("a cat")


@given(texts, texts)
def test_bags_of_words_are_alike_in_both_directions_from_0_to_1(left: str, right: str) -> None:
    there, back = similarity(READERS["bow"]).pairs([left, right], [right, left])
    assert there == back
    assert 0 <= there <= 1


@pytest.mark.parametrize("name", READERS)
@given(left=tagged, right=tagged)
def test_sets_are_alike_in_both_directions_from_0_to_1(name: str, left: str, right: str) -> None:
    reader = READERS[name]
    there, back = similarity(reader).pairs([left, right], [right, left])
    assert there == back
    assert 0 <= there <= 1
    assert alike(reader.read(left), reader.read(left), reader.weights) == sum(
        weight for weight, part in zip(reader.weights, reader.read(left), strict=True) if part
    )


@given(few, st.lists(few, min_size=1), st.integers(1, 12))
def test_the_best_moments_are_those_of_a_full_sort(asked: list[str], pool: list[list[str]], depth: int) -> None:
    bow, captions = similarity(READERS["bow"]), [text for moment in pool for text in moment]
    first = np.cumsum([0, *map(len, pool)][:-1]).astype(np.intp)
    for query, (moments, similarities) in zip(asked, bow.top(asked, captions, first, depth=depth), strict=True):
        best = [max(bow.pairs([query] * len(moment), moment).round(6)) for moment in pool]
        ranking = sorted(range(len(pool)), key=lambda index: (-best[index], index))[:depth]
        assert moments.tolist() == ranking
        assert similarities.tolist() == [best[index] for index in ranking]


def test_what_a_quarter_of_the_captions_hold_is_common() -> None:
    bags = [
        BagOfWords(CLEAN).read(text) for text in ("dog runs", "dog dog", "cat", "cat", "cat", "cat", "cat", "mouse")
    ]
    assert common(bags) == (frozenset({"dog", "cat"}),)
    assert common(bags[:4]) == (frozenset({"dog", "runs", "cat"}),)


def test_the_own_video_is_fully_relevant_where_requested() -> None:
    relevance = set_relevance(BagOfWords(CLEAN), [["dog"], ["cat", "fish"]], [["dog"], ["cat"], ["bird"]])
    assert relevance.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]]
    assert with_own(relevance, [0, 1, 1]).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    assert relevance[1, 2] == 0.0


def test_a_word_in_two_classes_is_an_error() -> None:
    table = ["id,key,instances", "0,take,\"['take', 'get']\"", "4,get,\"['get']\""]
    with pytest.raises(ValueError, match="'get' is in class 0 and in class 4"):
        read_classes(table)
    assert read_classes(table[:2]) == {"take": 0, "get": 0}


def test_a_lemma_of_no_class_gets_one_that_stays(wordnet: WordNet) -> None:
    table = ClassTable(wordnet, VERB, {"take": 7, "get": 7})
    assert [table.sense(word, frozenset()) for word in ("takes", "runs", "sits", "running", "Runs")] == [7, 2, 3, 2, 4]
