"""The proxies are equal to what the released script of Wray et al. gives, under both versions of nltk."""

import csv
from ast import literal_eval

import numpy as np
import pytest
from numpy.typing import NDArray

from moment_retrieval.relevance import Normalisation, stop_words
from moment_retrieval.relevance.sets import (
    BagOfWords,
    Edition,
    PartOfSpeech,
    Postings,
    Reader,
    SetSimilarity,
    Synsets,
    common,
    meteor_relevance,
    set_relevance,
    with_own,
)
from moment_retrieval.relevance.tagger import GivenTags
from moment_retrieval.relevance.wordnet import NOUN, VERB, ClassTable, Ties, WordNet, WordNetSenses, read_classes
from tests.moment_retrieval.relevance.parity import EPIC, PARITY, captions60, held, matrix, needs_parity

pytestmark = needs_parity
OFFICIAL, CLEAN = Normalisation.OFFICIAL, Normalisation.CLEAN
EXACT = 1e-12


def tags() -> GivenTags:
    return GivenTags.read(PARITY / "captions60.json")


def between_all(reader: Reader) -> NDArray[np.float64]:
    """Relevance [60, 60], which the similarity gives for pairs too."""
    each = [[text] for text in captions60()]
    relevance = set_relevance(reader, each, each)
    similarity = SetSimilarity("x", "x", "x", "x", reader)
    assert similarity.pairs(captions60(), captions60()[::-1]) == pytest.approx(np.diag(relevance[:, ::-1]), abs=EXACT)
    return relevance


def test_the_stop_words_are_those_of_the_script() -> None:
    assert stop_words() == frozenset(held("stop_words_spacy_3.8.json"))
    for row in held("captions60.json"):
        assert BagOfWords(OFFICIAL).read(row["narration"]) == (frozenset(row["non_stop_words"]),)


@pytest.mark.parametrize(("how", "name"), [(OFFICIAL, "BoW"), (CLEAN, "BoW_clean")])
def test_bag_of_words(how: Normalisation, name: str) -> None:
    assert np.abs(between_all(BagOfWords(how)) - matrix("relevance60.npz", name)).max() < EXACT


def test_part_of_speech() -> None:
    assert np.abs(between_all(PartOfSpeech(tags(), OFFICIAL)) - matrix("relevance60.npz", "PoS")).max() < EXACT


@pytest.mark.parametrize(("ties", "edition"), [(Ties.FIRST, "nltk3104"), (Ties.LAST_NAME, "nltk35")])
def test_synsets_of_wordnet(ties: Ties, edition: str, wordnet: WordNet) -> None:
    reader = Synsets(tags(), WordNetSenses(wordnet, VERB, ties), WordNetSenses(wordnet, NOUN, ties), OFFICIAL)
    for row in held("captions60.json"):
        verbs, nouns = reader.read(row["narration"])
        assert verbs == set(row[f"synset_verbs_{edition}"])
        assert nouns == set(row[f"synset_nouns_{edition}"])
    assert np.abs(between_all(reader) - matrix("relevance60.npz", f"SYN_{edition}")).max() < EXACT


def test_synsets_of_class_tables(wordnet: WordNet) -> None:
    tables = []
    for part, file in ((VERB, "verb_classes_toy.csv"), (NOUN, "noun_classes_toy.csv")):
        with (PARITY / file).open(encoding="utf-8", newline="") as lines:
            tables.append(ClassTable(wordnet, part, read_classes(lines)))
    reference = held("dict_synsets.json")
    assert [len(table.classes) for table in tables] == reference["initial_sizes"]
    relevance = between_all(Synsets(tags(), *tables, OFFICIAL))
    assert np.abs(relevance - matrix("relevance60_dict_synsets.npz", "SYN_dict")).max() < EXACT
    assert [table.classes for table in tables] == list(reference["word_to_class_after"].values())


@pytest.mark.parametrize(("edition", "name"), [(Edition.NLTK_3_10, "MET_nltk3104"), (Edition.NLTK_3_5, "MET_nltk35")])
def test_meteor(edition: Edition, name: str, wordnet: WordNet) -> None:
    each = [[text] for text in captions60()]
    relevance = meteor_relevance(wordnet, each, each, edition=edition)
    assert np.abs(relevance - matrix("relevance60.npz", name)).max() < EXACT


def test_the_papers_diagonal_and_its_thresholds() -> None:
    relevance = with_own(between_all(PartOfSpeech(tags(), OFFICIAL)), range(60))
    for least, reference in held("threshold_sets_PoS_unitdiag.json").items():
        positive = (relevance >= float(least)).sum(axis=1)
        assert positive.tolist() == reference["n_pos_per_row"]
        assert (int(positive.sum()), positive.mean()) == (reference["n_pos_total"], reference["mean_relevant"])


def test_several_captions_of_a_video(wordnet: WordNet) -> None:
    reference = held("multi_caption.json")
    videos = [group["captions"] for group in reference["groups"]]
    for group in reference["groups"]:
        (words,) = common([BagOfWords(OFFICIAL).read(text) for text in group["captions"]])
        assert words == set(group["kept_words"])
    assert np.abs(set_relevance(BagOfWords(OFFICIAL), videos, videos) - reference["BoW"]).max() < EXACT
    assert np.abs(meteor_relevance(wordnet, videos, videos) - reference["MET"]).max() < EXACT


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
    reference = held("epic_syn_oracle.json")
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
