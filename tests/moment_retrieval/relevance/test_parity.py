"""The proxies are equal to what the released script of Wray et al. gives under nltk 3.10."""

import csv
from ast import literal_eval

import numpy as np
import pytest
from numpy.typing import NDArray

from moment_retrieval.relevance import Normalisation, stop_words
from moment_retrieval.relevance.sets import BagOfWords, PartOfSpeech, Postings, Reader, SetSimilarity, Synsets
from moment_retrieval.relevance.wordnet import NOUN, VERB, WordNet, WordNetSenses, meteor
from tests.moment_retrieval.relevance.parity import EPIC, captions60, given_tags, matrix, needs_parity, read_reference

pytestmark = needs_parity
OFFICIAL, CLEAN = Normalisation.OFFICIAL, Normalisation.CLEAN
EXACT = 1e-12


def between_all(reader: Reader) -> NDArray[np.float64]:
    """Relevance [60, 60], which the similarity gives for pairs too."""
    bags = [reader.read(text) for text in captions60()]
    postings = Postings(bags, reader.weights)
    relevance = np.array([postings.scores(bag) for bag in bags])
    similarity = SetSimilarity("x", "x", "x", "x", reader)
    assert similarity.pairs(captions60(), captions60()[::-1]) == pytest.approx(np.diag(relevance[:, ::-1]), abs=EXACT)
    return relevance


def test_stop_words_words_and_parts_of_speech() -> None:
    assert stop_words() == frozenset(read_reference("stop_words_spacy_3.8.json"))
    for row in read_reference("captions60.json"):
        assert BagOfWords(OFFICIAL).read(row["narration"]) == (frozenset(row["non_stop_words"]),)
    assert_equals(between_all(BagOfWords(OFFICIAL)), "BoW")
    assert_equals(between_all(BagOfWords(CLEAN)), "BoW_clean")
    assert_equals(between_all(PartOfSpeech(given_tags(), OFFICIAL)), "PoS")


def assert_equals(relevance: NDArray[np.float64], name: str) -> None:
    assert np.abs(relevance - matrix("relevance60.npz", name)).max() < EXACT


def test_synsets_of_wordnet_and_meteor(wordnet: WordNet) -> None:
    reader = Synsets(given_tags(), WordNetSenses(wordnet, VERB), WordNetSenses(wordnet, NOUN), OFFICIAL)
    for row in read_reference("captions60.json"):
        verbs, nouns = reader.read(row["narration"])
        assert verbs == set(row["synset_verbs_nltk3104"])
        assert nouns == set(row["synset_nouns_nltk3104"])
    assert_equals(between_all(reader), "SYN_nltk3104")
    texts = [text.lower().split() for text in captions60()]
    relevance = np.array([[meteor(one, other, wordnet) for other in texts] for one in texts])
    assert_equals(relevance, "MET_nltk3104")


@pytest.mark.slow
@pytest.mark.skipif(not EPIC.is_dir(), reason=f"EPIC-KITCHENS-100 is not at {EPIC}")
def test_the_annotated_classes_of_epic_kitchens() -> None:
    """9,668 videos by 3,842 captions: verbs and nouns are the annotated classes."""
    with (EPIC / "EPIC_100_retrieval_test.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["narration_id"]: row for row in csv.DictReader(lines)}
    with (EPIC / "EPIC_100_retrieval_test_sentence.csv").open(encoding="utf-8", newline="") as lines:
        unique = [row["narration_id"] for row in csv.DictReader(lines)]
    bags = {
        key: (frozenset({row["verb_class"]}), frozenset(literal_eval(row["all_noun_classes"])))
        for key, row in rows.items()
    }
    postings = Postings([bags[key] for key in unique], (0.5, 0.5))
    relevance = np.array([postings.scores(bag) for bag in bags.values()])
    reference = read_reference("epic_syn_oracle.json")
    assert list(relevance.shape) == reference["shape"]
    assert (relevance.mean(), (relevance > 0).mean()) == pytest.approx(
        (reference["mean"], reference["nonzero"]), abs=1e-8
    )
    assert relevance[0].sum() == pytest.approx(reference["row0_sum"], abs=1e-3)
    assert relevance[:, 0].sum() == pytest.approx(reference["col0_sum"], abs=1e-3)
    values, counts = np.unique(relevance.round(4), return_counts=True)
    assert {f"{value:.4f}": int(n) for value, n in zip(values, counts, strict=True)} == {
        f"{float(value):.4f}": n for value, n in reference["value_counts"].items()
    }
    for least, mean in reference["avg_relevant_per_video_at_T"].items():
        assert (relevance >= float(least)).sum(axis=1).mean() == pytest.approx(mean, abs=1e-9)
