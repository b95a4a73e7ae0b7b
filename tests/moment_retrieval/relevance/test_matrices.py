"""Matrices of relevance: several captions of a video, classes of words, own captions."""

from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.errors import InvalidRecord, MalformedFile, UnreadableFile
from moment_retrieval.relevance import Normalisation
from moment_retrieval.relevance.matrices import (
    Captions,
    WordClasses,
    common,
    meteor_relevance,
    read_classes,
    set_relevance,
    with_own_captions,
)
from moment_retrieval.relevance.sets import BagOfWords, Synsets
from moment_retrieval.relevance.wordnet import NOUN, VERB, WordNet
from tests.moment_retrieval.relevance.parity import PARITY, captions60, given_tags, matrix, needs_parity, read_reference

OFFICIAL = Normalisation.OFFICIAL
ROWS = [("a", "cut bread"), ("b", "open door"), ("a", "cut cheese"), ("a", "slice bread"), ("a", "cut it")]


def test_a_quarter_of_a_videos_captions_makes_a_word_its_own() -> None:
    """cut is in three of four captions of a, bread in two, cheese and slice in one, which is a quarter."""
    captions = Captions.of(ROWS)
    assert captions.videos == ("a", "b") and captions.owners.tolist() == [0, 1, 0, 0, 0]
    relevance = set_relevance(captions, BagOfWords(OFFICIAL))
    assert relevance.shape == (2, 5)
    assert relevance[:, 0].tolist() == [2 / 4, 0]  # cut, bread of cut, bread, cheese, slice
    assert relevance[1].tolist() == [0, 1, 0, 0, 0]
    assert common([(frozenset({"x"}),), *[(frozenset(),)] * 4]) == (frozenset(),)  # one of five
    own = with_own_captions(relevance, captions.owners)
    assert own[0].tolist() == [1, 0, 1, 1, 1] and relevance[0, 0] == 0.5


def test_without_captions_there_is_nothing_to_compare() -> None:
    with pytest.raises(InvalidRecord, match="there is no caption"):
        Captions.of([])


@needs_parity
def test_several_captions_are_as_the_reference_has_them(wordnet: WordNet) -> None:
    reference = read_reference("multi_caption.json")
    captions = Captions.of([(group["video"], text) for group in reference["groups"] for text in group["captions"]])
    words = set_relevance(captions, BagOfWords(OFFICIAL), between_videos=True)
    np.testing.assert_allclose(words, np.array(reference["BoW"]), atol=1e-12)
    scores = meteor_relevance(captions, wordnet, OFFICIAL, between_videos=True)
    np.testing.assert_allclose(scores, np.array(reference["MET"]), atol=1e-12)


@needs_parity
def test_classes_of_words_are_as_the_released_script_has_them(wordnet: WordNet) -> None:
    classes = [
        WordClasses(read_classes(PARITY / f"{kind}_classes_toy.csv"), lambda word, part=part: wordnet.lemma(word, part))
        for kind, part in (("verb", VERB), ("noun", NOUN))
    ]
    reader = Synsets(given_tags(), *classes, OFFICIAL)
    captions = Captions.of([(str(number), text) for number, text in enumerate(captions60())])
    relevance = set_relevance(captions, reader)
    np.testing.assert_allclose(relevance, matrix("relevance60_dict_synsets.npz", "SYN_dict"), atol=1e-12)


def test_files_of_classes_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "verbs.csv"
    with pytest.raises(UnreadableFile, match="verbs.csv"):
        read_classes(path)
    for text, error, words in (
        ("id,key\n0,take\n", MalformedFile, "expected the columns"),
        ("id,key,instances\nx,take,['take']\n", MalformedFile, "expected the columns"),
        ("id,key,instances\n0,take,['get']\n1,put,['get']\n", InvalidRecord, "'get' is in the classes 0 and 1"),
    ):
        path.write_text(text)
        with pytest.raises(error, match=words):
            read_classes(path)
    path.write_text("id,key,instances\n0,take,\"['take', 'get']\"\n")
    assert read_classes(path) == {"take": 0, "get": 0}
