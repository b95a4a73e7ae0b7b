"""Which form a file seems to have, and the notes on descriptions that stay."""

import gzip
import io
import json

import pytest

from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.importers.fields import foreign_share, is_only_a_name, notes_of
from core.texts import is_storable

TVR = {"vid_name": "a", "duration": 9, "ts": [1, 2], "desc": "x", "type": "v", "desc_id": 1}
ENTRY = {"duration": 9, "timestamps": [[1, 2]], "sentences": ["x"]}


def detect(text: str | bytes, name: str = "") -> str:
    source = io.BytesIO(text.encode() if isinstance(text, str) else text)
    form = form_of(source, name)
    assert source.tell() == 0
    assert not form or form in FORMATS
    return form


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("tvr", json.dumps(TVR) + "\n" + "{" * 9),
        ("tvc", json.dumps({"vid_name": "a", "ts": [1, 2], "descs": []})),
        ("tvqa-subtitles", json.dumps({"vid_name": "a", "sub": []})),
        ("qvhighlights", json.dumps({"qid": 1, "query": "x", "vid": "a", "relevant_windows": []})),
        ("jsonl", json.dumps({"video": "a", "start": 1, "end": 2, "description": "x"})),
        ("activitynet", json.dumps({"v_1": ENTRY})),
        ("charades-sta", json.dumps({"AO8RW": ENTRY}, indent=1)),
        ("charades-sta", "AO8RW 0.0 6.9##a person sits."),
        ("tacos", json.dumps({"s13.avi": {"timestamps": [], "sentences": [], "fps": 29.4, "num_frames": 9}})),
        ("csv", "\ufeffEnd,Start,Description,Video,more\n1,2"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\nHello."),
        ("srt", b"PK\x03\x04"),
    ],
)
def test_recognised_by_its_head(form: str, text: str | bytes) -> None:
    assert detect(text) == form
    if isinstance(text, str):
        assert detect(gzip.compress(text.encode())) == form


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", "{}", '{"a": {}}', "a,b\n1,2", b"\x1f\x8bxx", b"\xff\xfe\x00", "{" * 9999]
)
def test_what_is_none_of_them_is_none_unless_its_name_says_it(text: str | bytes) -> None:
    assert detect(text) == ""
    assert detect("\n\n", "episode.srt") == "srt"


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
