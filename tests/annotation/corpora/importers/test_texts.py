"""Tests of the notes on descriptions that stay."""

import pytest

from annotation.corpora.importers.fields import foreign_share, is_only_a_name, notes_of
from core.texts import is_storable


@pytest.mark.parametrize(
    ("note", "texts"),
    [
        ("is only a name", ["Ross", "Rachel Green.", "Dr. Gregory House"]),
        ("not in Latin letters", ["罗斯走进房间。", "Росс входит в комнату.", "روس يدخل الغرفة"]),
        ("HTML", ["<b>Ross</b> opens the door.", "Ross &amp; Rachel sit down."]),
        ("emoji", ["Ross smiles 😀 at her."]),
        ("control characters", ["Ross\u202e opens"]),
        ("no word", ["123 !!!"]),
    ],
)
def test_noted(note: str, texts: list[str]) -> None:
    for text in texts:
        assert any(note in text_note for text_note in notes_of(text)), text


@pytest.mark.parametrize(
    "text",
    [
        *("Ross opens the door.", "Rachel Green and Ross were having a conversation.", "He writes 1 < 2 & leaves."),
        *("A café in Malmö, and a naïve waiter.", "She enters.\nThen she leaves.", "Łukasz mówi: cześć."),
    ],
)
def test_not_noted(text: str) -> None:
    assert notes_of(text) == ()


def test_names_foreign_letters_and_what_the_database_cannot_hold() -> None:
    assert foreign_share("aб") == 0.5
    assert foreign_share("12 !?") == foreign_share("😀") == 0.0
    assert [is_only_a_name(text) for text in ("Ross O’Neil-Geller", "Ross smiles", "")] == [True, False, False]
    assert [is_storable(text) for text in ("ok", "é😀", "\0", "é\0", "\ud800", "\udcff")] == [True] * 2 + [False] * 4
