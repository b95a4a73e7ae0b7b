"""Which form a file seems to have."""

import gzip
import io
import json

import pytest

from annotation.corpora.importers import FORMATS, form_of
from tests.annotation.corpora.importers.shared import DATA, needs_shared

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


@needs_shared
@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("tvr", "tvr/tvr_val_release.jsonl"),
        ("tvc", "tvc/tvc_test_public_release.jsonl"),
        ("tvc", "tvc/sample_val_predictions.jsonl"),
        ("qvhighlights", "qvhighlights/highlight_val_release.jsonl"),
        ("activitynet", "activitynet/test.json"),
        ("charades-sta", "charades_sta/charades_test.json"),
        ("tacos", "tacos/train.json"),
        ("tacos", "mvmr/tacos_test_mvmr.json"),
    ],
)
def test_published_files(form: str, path: str) -> None:
    with (DATA / path).open("rb") as source:
        assert form_of(source, path) == form
