"""What needs a person's eye before it is rewritten, and names that stayed."""

import json
import os
from pathlib import Path

import pytest

from annotation.ner import LexiconNames, ModelNames, NameModelMissing, name_finder
from annotation.rewriting.checks import Found, flaws
from annotation.rewriting.language import is_english
from annotation.rewriting.lexicon import lexicon_for

SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", Path(__file__).resolve().parents[4] / "shared"))
TVR = SHARED / "data" / "tvr" / "tvr_val_release.jsonl"
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
    "Ross entra in cucina e saluta Monica": ["language"],
    "Ross come una manzana a la mesa con Rachel": ["language"],
    "Ross a une lettre dans la main": ["language"],
    "Der Mann war in der Küche": ["language"],
    "Monica loopt met een hand op de tafel": ["language"],
    "Joey abre a porta e fala com uma mulher": ["language"],
    "Ross and Rachel go to the Casa de la Paz.": [],
    "Barney makes funny faces, Ted laughs.": [],
}


@pytest.mark.parametrize("description", FLAWS, ids=lambda text: text[:20])
def test_flaws(description: str) -> None:
    assert flaws(description, lexicon_for()) == FLAWS[description]


@pytest.mark.skipif(not TVR.exists(), reason="the TVR release is not here")
def test_hardly_an_english_description_is_taken_for_another_language() -> None:
    rows = [json.loads(line) for line in TVR.read_text(encoding="utf-8").splitlines()]
    assert [row["desc"] for row in rows if not is_english(row["desc"])] == []


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
