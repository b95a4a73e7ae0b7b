"""Tests of the notes on descriptions that stay."""

import pytest

from annotation.corpora.importers.fields import foreign_share, is_only_a_name, notes_of
from core.texts import is_storable


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Ross", "is only a name"),
        ("Rachel Green.", "is only a name"),
        ("Dr. Gregory House", "is only a name"),
        ("罗斯走进房间。", "not in Latin letters"),
        ("Росс входит в комнату.", "not in Latin letters"),
        ("روس يدخل الغرفة", "not in Latin letters"),
        ("<b>Ross</b> opens the door.", "HTML"),
        ("Ross &amp; Rachel sit down.", "HTML"),
        ("Ross smiles 😀 at her.", "emoji"),
        ("Ross\u202e opens", "control characters"),
        ("123 !!!", "no word"),
    ],
)
def test_noted(text: str, note: str) -> None:
    assert any(note in text_note for text_note in notes_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "Ross opens the door.",
        "Rachel Green and Ross were having a conversation.",
        "A café in Malmö, and a naïve waiter.",
        "He writes 1 < 2 & leaves.",
        "She enters.\nThen she leaves.",
        "Łukasz mówi: cześć.",
    ],
)
def test_not_noted(text: str) -> None:
    assert notes_of(text) == ()


def test_share_of_foreign_letters() -> None:
    assert foreign_share("aб") == 0.5
    assert foreign_share("12 !?") == foreign_share("😀") == 0.0


def test_a_name_has_few_words_each_with_a_capital() -> None:
    assert is_only_a_name("Ross O’Neil-Geller")
    assert not is_only_a_name("Ross smiles")
    assert not is_only_a_name("")


def test_what_the_database_cannot_hold() -> None:
    assert [is_storable(text) for text in ("ok", "é😀", "\0", "é\0", "\ud800", "\udcff")] == [True] * 2 + [False] * 4
