"""What needs a person's eye before it is rewritten, and names that stayed."""

import pytest

from annotation.ner import LexiconNames, ModelNames, NameModelMissing, name_finder
from annotation.rewriting.checks import Found, flaws
from annotation.rewriting.lexicon import lexicon_for

FLAWS = {
    "Ross reads a letter.": [],
    "A man 🙂 waves.": [],
    "   ": ["empty"],
    "...": ["empty"],
    "x" * 2001: ["huge"],
    "Ross": ["only_name"],
    "Dr. House.": ["only_name"],
    "Rachel and Ross": ["only_name"],
    "Ross <b>runs</b> in.": ["markup"],
    "Ross &amp; Joey run.": ["markup"],
    "Der Mann geht schnell ins Haus zurück": ["language"],
    "男人走进房间": ["language"],
}


@pytest.mark.parametrize("description", FLAWS, ids=lambda text: text[:20])
def test_flaws(description: str) -> None:
    assert flaws(description, lexicon_for()) == FLAWS[description]


def test_lexicon_finds_names_that_stayed() -> None:
    finder = name_finder("lexicon")
    assert isinstance(finder, LexiconNames)
    texts = ["A man walks to Joey's car.", "A man walks to a car.", "A man walks to Xylon.", "A man leaves the house."]
    assert finder.find(texts, videos=[""] * 4) == [Found(1.0, "Joey"), Found(), Found(0.85, "Xylon"), Found()]


def test_model_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest entity that is a person counts, whatever the model calls persons."""
    told = [
        [{"entity_group": "PER", "score": 0.7, "word": "Ann"}, {"entity_group": "LOC", "score": 0.99, "word": "Rome"}],
        [{"entity_group": "person", "score": 0.9, "word": "Bo"}, {"entity_group": "PER", "score": 0.95, "word": "Cy"}],
        [],
    ]
    monkeypatch.setattr("annotation.ner._load", lambda name: lambda texts, batch_size: told)
    assert name_finder("some/model").find(["", "", ""], videos=[""] * 3) == [
        Found(0.7, "Ann"),
        Found(0.95, "Cy"),
        Found(),
    ]


def test_missing_model_says_what_to_set() -> None:
    pytest.importorskip("transformers")
    with pytest.raises(NameModelMissing, match="CAPTION_NER"):
        ModelNames("/nowhere/at/all").find(["A man."], videos=[""])
