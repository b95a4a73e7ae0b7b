"""Tests of flaws to review before rewriting, and of names that stayed."""

import json
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from annotation.captions.ner import LexiconNames, ModelNames, NameModelMissing, agreement, name_finder, windows
from annotation.captions.rewriting.english import is_english
from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.rules import Found, flaws
from tests.annotation.corpora.importers.shared import DATA

TVR = DATA / "tvr" / "tvr_val_release.jsonl"
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


CORPUS_TEXTS = [
    *["Xylon walks to the door.", "The dog follows Xylon and Brisa.", "Brisa's cup falls.", "Xylon is in Perkland."],
    *[
        "They sit in Perkland.",
        "People wave in Perkland.",
        "A man will mark the box.",
        "Dr. Quux reads while Quux sits.",
    ],
    *["The Zeta is red.", "They like the Zeta.", "A cat sleeps. Cats sleep."],
]


@pytest.mark.parametrize(
    ("text", "name"),
    {
        "The paint is needed by Friday.": Found(),  # a day is nobody
        "A man talks to Xylon.": Found(0.95, "Xylon"),  # the corpus writes it with a capital, and it acts
        "Brisa's cup falls.": Found(0.95, "Brisa"),
        "Quux reads.": Found(0.95, "Quux"),  # behind a title
        "A man talks to Monica.": Found(0.9, "Monica"),  # given to people, and not in the corpus
        "They sit in Perkland.": Found(),  # always behind "in"
        "They like the Zeta.": Found(),
        "Mark the box.": Found(),  # a given name that the corpus writes small
        "A man talks to Blorp.": Found(0.85, "Blorp"),  # nothing is known of it
        "Blorp waves.": Found(0.85, "Blorp"),
        "Two doctors talk.": Found(),
        "Cats sleep.": Found(),
        "A man watches TV.": Found(),
        "MONICA waves.": Found(0.9, "MONICA"),
        "LEO waves.": Found(0.9, "LEO"),  # given to people, so no acronym
        "A man talks to Mark.": Found(0.9, "Mark"),  # with a capital, though the corpus writes it small
        "A man hugs leo.": Found(),
        "They sit.": Found(),
        "": Found(),
    }.items(),
)
def test_a_corpus_shows_its_names_by_capitals(text: str, name: Found) -> None:
    assert name_finder("corpus", texts=lambda: CORPUS_TEXTS).find([text], videos=[""]) == [name]


def test_two_finders_agree_as_counted_by_hand() -> None:
    name, nothing = Found(0.9, "Ann"), Found()
    result = agreement([name] * 3 + [nothing] * 2, [name] * 2 + [nothing] * 3, above=0.8)
    assert (result.both, result.neither, result.first_alone, result.second_alone) == (2, 2, {"Ann": 1}, {})
    assert result.kappa == pytest.approx((4 / 5 - 12 / 25) / (1 - 12 / 25))
    assert agreement([name], [name], above=0.8).kappa is None


@pytest.mark.skipif(not TVR.exists(), reason="the TVR release is not here")
def test_the_two_finders_on_the_video_descriptions_of_tvr(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("rewriting_report", file=TVR, finders=True, top=3)
    assert capsys.readouterr().out.splitlines() == [
        "A name in 7,731 of 8,097 descriptions by both finders, in 293 by neither: agreement 99.10 %, kappa 0.885",
        "corpus alone: 3: Caring 1, Grady 1, Nicholas 1",
        "lexicon alone: 70: castle 14, Gates 7, 13 5",
    ]


def test_model_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest entity that is a person counts, whatever the model calls persons."""
    rows = [[("PER", 0.7, "Ann"), ("LOC", 0.99, "Rome")], [("person", 0.9, "Bo"), ("PER", 0.95, "Cy")], []]
    keys = ("entity_group", "score", "word")
    entities = [[dict(zip(keys, one, strict=True)) for one in row] for row in rows]
    monkeypatch.setattr("annotation.captions.ner._load", lambda name: lambda texts, batch_size: entities)
    people = name_finder("some/model").find(["", "", ""], videos=[""] * 3)
    assert people == [Found(0.7, "Ann"), Found(0.95, "Cy"), Found()]


class FakePipeline:
    """Finds Xylon, and breaks on what is longer than 512 bytes, as a model without a longest length does."""

    def __call__(self, texts: list[str], batch_size: int) -> list[list[dict[str, object]]]:
        if any(len(text.encode()) > 512 for text in texts):
            raise RuntimeError("The size of tensor a (700) must match the size of tensor b (512)")
        return [[{"entity_group": "PER", "score": 0.99, "word": "Xylon"}] if "Xylon" in text else [] for text in texts]


@pytest.mark.parametrize("filler", ["a man walks ", "人" * 7, "🙂 "])
def test_a_long_text_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch, filler: str) -> None:
    monkeypatch.setattr("annotation.captions.ner._load", lambda name: FakePipeline())
    long = filler * 150
    texts = ["Xylon", long + " Xylon", long, ""]
    entity = Found(0.99, "Xylon")
    assert ModelNames("some/model").find(texts, videos=[""] * 4) == [entity, entity, Found(), Found()]


def test_a_name_on_the_edge_of_two_windows_is_whole_in_one() -> None:
    text = " ".join(f"word{n}" for n in range(300))
    pairs = {pair for window in windows(text) for pair in pairwise(window.split())}
    assert pairs == set(pairwise(text.split()))


@pytest.mark.parametrize("error", [ImportError("no torch"), RuntimeError("no backend"), OSError("no folder")])
def test_a_model_that_does_not_load_or_breaks_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(pipeline=broken))
    with pytest.raises(NameModelMissing, match="CAPTION_NER"):
        ModelNames(f"broken/{error}").find(["A man."], videos=[""])
    if isinstance(error, RuntimeError):  # as torch raises while it works
        monkeypatch.setattr("annotation.captions.ner._load", lambda name: broken)
        with pytest.raises(NameModelMissing, match=r"no backend.*CAPTION_NER"):
            ModelNames("some/model").find(["A man."], videos=[""])
