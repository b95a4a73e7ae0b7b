"""Bag of words, part of speech, synsets: on paper, by properties, and ranking a pool."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.relevance import Normalisation, content_words
from moment_retrieval.relevance.sets import BagOfWords, PartOfSpeech, Reader, SetSimilarity, Synsets, alike
from moment_retrieval.relevance.tagger import LexiconTagger, Tags
from moment_retrieval.relevance.wordnet import WordNetSenses
from tests.moment_retrieval.relevance.parity import GivenTags

OFFICIAL, CLEAN = Normalisation.OFFICIAL, Normalisation.CLEAN
TAGS = GivenTags(
    {
        "Man opens door": Tags(("opens",), ("Man", "door")),
        "a man shuts the door": Tags(("shuts",), ("man", "door")),
        "he sleeps": Tags(("sleeps",), ()),
        "how nice": Tags((), ()),
    }
)
TAGGER = cast(LexiconTagger, TAGS)


class FirstLetter:
    """Words that begin alike mean the same."""

    def sense(self, word: str, context: frozenset[str]) -> str:
        return word[0]


FIRST_LETTER = cast(WordNetSenses, FirstLetter())
READERS: dict[str, Reader] = {
    "bow": BagOfWords(CLEAN),
    "pos": PartOfSpeech(TAGGER, CLEAN),
    "synset": Synsets(TAGGER, FIRST_LETTER, FIRST_LETTER, CLEAN),
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
    assert similarity(PartOfSpeech(TAGGER, OFFICIAL)).pairs(first, second).tolist() == [0.5 / 3, 0.5, 0.0]
    assert similarity(PartOfSpeech(TAGGER, CLEAN)).pairs(first, second).tolist() == [0.5, 0.5, 0.0]


@given(texts, texts)
def test_bags_of_words_are_alike_in_both_directions_from_0_to_1(one: str, other: str) -> None:
    there, back = similarity(READERS["bow"]).pairs([one, other], [other, one])
    assert there == back
    assert 0 <= there <= 1


@pytest.mark.parametrize("name", READERS)
@given(one=tagged, other=tagged)
def test_sets_are_alike_in_both_directions_from_0_to_1(name: str, one: str, other: str) -> None:
    reader = READERS[name]
    there, back = similarity(reader).pairs([one, other], [other, one])
    assert there == back
    assert 0 <= there <= 1
    assert alike(reader.read(one), reader.read(one), reader.weights) == sum(
        weight for weight, part in zip(reader.weights, reader.read(one), strict=True) if part
    )


@given(few, st.lists(few, min_size=1), st.integers(1, 12))
def test_the_best_moments_are_those_of_a_full_sort(query_texts: list[str], pool: list[list[str]], depth: int) -> None:
    bow, captions = similarity(READERS["bow"]), [text for moment in pool for text in moment]
    first = np.cumsum([0, *map(len, pool)][:-1]).astype(np.intp)
    for query, (moments, similarities) in zip(
        query_texts, bow.top(query_texts, captions, first, depth=depth), strict=True
    ):
        best = [max(bow.pairs([query] * len(moment), moment).round(6)) for moment in pool]
        ranking = sorted(range(len(pool)), key=lambda index: (-best[index], index))[:depth]
        assert moments.tolist() == ranking
        assert similarities.tolist() == [best[index] for index in ranking]
