"""TVR's files: what is read, what is refused, and that no line can raise."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, ImportFileError
from annotation.corpora.importers.tvr import read_durations, read_tvr

DURATIONS = {"show_01": (60.0, 7), "show_02": (30.5, 8)}
GIVEN = Given(DURATIONS)
GOOD = {"vid_name": "show_01", "duration": 60.0, "ts": [1, 4.5], "desc": " She sits. ", "type": "v", "desc_id": 12}


def line(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


def without(field: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != field})


def test_good_line_gives_a_record() -> None:
    assert list(read_tvr([line()], GIVEN)) == [
        DescriptionRecord(1, "show_01", 1.0, 4.5, source_id=12, text=" She sits. ", kind="video")
    ]
    for type_, kind in (("v", "video"), ("t", "subtitle"), ("vt", "both")):
        (record,) = read_tvr(["\n", "   ", line(type=type_)], GIVEN)  # blank lines are skipped but counted
        assert isinstance(record, DescriptionRecord) and (record.kind, record.line) == (kind, 3)


@pytest.mark.parametrize(("end", "end_after"), [(60, 60.0), (60.4, 60.0), (61.0, 60.0)])
def test_end_within_a_second_beyond_the_video_is_clipped(end: float, end_after: float) -> None:
    (record,) = read_tvr([line(ts=[50, end])], GIVEN)
    assert isinstance(record, DescriptionRecord) and record.end_s == end_after


BAD_LINES: list[tuple[str, list[str]]] = [
    ("not JSON", ["{", "[" * 100_000, "1" * 5000]),
    ("not an object", ["[1, 2]", "null"]),
    *((f"missing {field}", [without(field)]) for field in GOOD),
    ("vid_name is not a text", [line(vid_name=3)]),
    ("unknown video 'show_99'", [line(vid_name="show_99")]),
    ("duration is not a number", [line(duration=True), line(duration=float("nan"))]),
    ("ts is not a pair", [line(ts=ts) for ts in ("1-2", [1], [1, 2, 3], [False, True], [1, "2"], [1, None])]),
    ("ts is not a pair", [line(ts=ts) for ts in ([float("nan"), 2], [1, float("inf")], [1, 10**400])]),
    ("before the video", [line(ts=[-0.5, 2])]),
    ("not before its end", [line(ts=ts) for ts in ([4, 4], [5, 4], [60, 60.5])]),
    ("but the video is 60 s long", [line(ts=[50, 61.01])]),
    ("desc is empty", [line(desc=""), line(desc=" \n")]),
    ("desc is not a text", [line(desc=["a"])]),
    ("null byte", [line(desc="a\0b")]),
    ("broken character", [line(desc="a\ud800b")]),
    ("type is not one of", [line(type="x"), line(type=["v"])]),
    ("desc_id is not", [line(desc_id=number) for number in (True, 1.5, None)]),
    ("desc_id must be a whole number", [line(desc_id=n) for n in (" ", "abc", -5, "9" * 5000, 2**63, "a\0")]),
]


@pytest.mark.parametrize(("reason", "lines"), BAD_LINES, ids=[reason for reason, _ in BAD_LINES])
def test_bad_line_is_reported_with_its_reason(reason: str, lines: list[str]) -> None:
    for bad in lines:
        first, second = read_tvr([bad, line()], GIVEN)
        assert isinstance(first, BadLine) and first.line == 1 and reason in first.reason, bad
        assert isinstance(second, DescriptionRecord) and second.line == 2


def test_second_use_of_an_id_is_refused() -> None:
    _, first, second = read_tvr([line(desc=""), line(), line(desc="Another.", desc_id="12")], GIVEN)
    assert isinstance(first, DescriptionRecord)  # the id of a refused line stays free
    assert second == BadLine(3, "desc_id 12 was used by an earlier line")


def test_durations_are_read_across_splits_or_have_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    with pytest.raises(ImportFileError):
        read_durations(path)
    path.write_text('{"train": {"a": [1.5, 1]}, "val": {"b": [2, 0]}}')
    assert read_durations(path) == {"a": (1.5, 1), "b": (2.0, 0)}
    values = ("1", "[1]", '["1", 0]', "[true, 0]", "[NaN, 0]", "[0, 0]", "[1, 0.5]", "[1, true]", "[1, -1]")
    for content in (
        *("", "not json", "[1]", '{"val": [1]}', *(f'{{"val": {{"a": {value}}}}}' for value in values)),
        *('{"val": {"": [1, 0]}}', '{"val": {"a\\u0000": [1, 0]}}', b"\xff\xfe\x00".decode("latin-1")),
        '{"train": {"a": [1, 0]}, "val": {"a": [1, 1]}}',
        '{"train": {"a": [1, 0]}, "val": {"b": [1, 0]}}',
    ):
        path.write_text(content, encoding="latin-1")
        with pytest.raises(ImportFileError):
            read_durations(path)
