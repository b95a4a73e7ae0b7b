"""METEOR, by hand; ranking again with it."""

import numpy as np
import pytest

from annotation.similarity.registry import Reranked
from moment_retrieval.relevance import Normalisation, RankingNotOffered
from moment_retrieval.relevance.sets import BagOfWords, Meteor, SetSimilarity
from moment_retrieval.relevance.wordnet import WordNet, meteor

CLEAN, OFFICIAL = Normalisation.CLEAN, Normalisation.OFFICIAL


def of(wordnet: WordNet, how: Normalisation = CLEAN) -> Meteor:
    return Meteor(wordnet, how, name="meteor", version="1")


def test_on_paper(wordnet: WordNet) -> None:
    def score(reference: str, hypothesis: str) -> float:
        return meteor(reference.split(), hypothesis.split(), wordnet)

    assert score("a b c", "a b c") == pytest.approx(1 - 0.5 / 27)  # one chunk of three
    assert score("person runs", "xyz") == 0.0
    assert score("", "person") == score("person", "") == score("", "") == 0.0
    assert score("x y z w", "x q z") == pytest.approx((1 - 0.5) * (2 / 3 * 0.5) / (0.9 * 2 / 3 + 0.1 * 0.5))  # 2 chunks
    assert score("doors", "door") == pytest.approx(0.5)  # by its stem
    assert score("begin", "start") == pytest.approx(0.5)  # by a synonym


def test_a_word_is_matched_once(wordnet: WordNet) -> None:
    """Before nltk 3.6 a stem was matched once more by its synonyms, so that scores could pass 1."""
    reference, hypothesis = ["person", "opens", "the", "door"], ["a", "person", "opened", "doors", "slowly"]
    assert meteor(reference, hypothesis, wordnet) == pytest.approx(0.62331, abs=5e-6)


def test_pairs_are_read_as_requested(wordnet: WordNet) -> None:
    first, second = ["The Door."], ["the door"]
    assert of(wordnet, CLEAN).pairs(first, second).tolist() == [1 - 0.5 / 8]
    assert of(wordnet, OFFICIAL).pairs(first, second)[0] == pytest.approx(0.5 * 0.5)  # "door." is not "door"
    assert of(wordnet).pairs([], []).tolist() == []


def test_the_reference_is_on_the_left(wordnet: WordNet) -> None:
    assert of(wordnet).pairs(["a dog runs fast"], ["dog"])[0] < of(wordnet).pairs(["dog"], ["a dog runs fast"])[0]


def test_it_does_not_rank_alone(wordnet: WordNet) -> None:
    with pytest.raises(RankingNotOffered, match="'meteor over bow'"):
        of(wordnet).top(["a"], ["a"], np.zeros(1, np.intp), depth=1)


def test_it_ranks_the_best_of_another_again(wordnet: WordNet) -> None:
    bow = SetSimilarity("bow", "words", "1", "clean", BagOfWords(CLEAN))
    captions = ["door man opens", "man opens door", "a cat", "the dog", "man opens door"]
    first = np.array([0, 1, 3, 4], np.intp)  # the second moment has two captions
    ranked = Reranked(of(wordnet), bow, depth=3)
    ((moments, scores),) = ranked.top(["man opens door"], captions, first, depth=3)
    assert moments.tolist() == [1, 3, 0]  # ties by moment; the order of words decides what they alone do not
    assert (
        scores.tolist()
        == of(wordnet).pairs([captions[1], captions[4], captions[0]], ["man opens door"] * 3).round(6).tolist()
    )
    ((moments, _),) = Reranked(of(wordnet), bow, depth=1).top(["cat"], captions, first, depth=2)
    assert moments.tolist() == [1, 0]  # never fewer than asked for
    assert ranked.name == "meteor over bow"
    assert ranked.version == "1, nltk-3.10; over 1"
