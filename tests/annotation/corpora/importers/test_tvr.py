"""TVR's files: what is read, what is refused, and that no line can raise."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, ImportFileError
from annotation.corpora.importers.tvr import read_durations, read_tvr

SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", Path(__file__).resolve().parents[5] / "shared"))
TVR = SHARED / "data" / "tvr"
DURATIONS = {"show_01": (60.0, 7), "show_02": (30.5, 8)}
GIVEN = Given(DURATIONS)
GOOD = {"vid_name": "show_01", "duration": 60.0, "ts": [1, 4.5], "desc": " She sits. ", "type": "v", "desc_id": 12}


def line(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


def without(field: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != field})


def test_good_line_gives_a_record() -> None:
    assert list(read_tvr([line()], GIVEN)) == [
        DescriptionRecord(1, "show_01", 1.0, 4.5, source_id=12, text="She sits.", kind="video"),
    ]


@pytest.mark.parametrize(("type_", "kind"), [("v", "video"), ("t", "subtitle"), ("vt", "both")])
def test_type_says_what_the_description_was_written_from(type_: str, kind: str) -> None:
    (record,) = read_tvr([line(type=type_)], GIVEN)
    assert isinstance(record, DescriptionRecord) and record.kind == kind


@pytest.mark.parametrize(("end", "end_after"), [(60, 60.0), (60.4, 60.0), (61.0, 60.0)])
def test_end_within_a_second_beyond_the_video_is_clipped(end: float, end_after: float) -> None:
    (record,) = read_tvr([line(ts=[50, end])], GIVEN)
    assert isinstance(record, DescriptionRecord) and record.end_s == end_after


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        ("[1, 2]", "not an object"),
        ("null", "not an object"),
        *((without(field), f"missing {field}") for field in GOOD),
        (line(vid_name=3), "vid_name is not a text"),
        (line(vid_name="show_99"), "unknown video 'show_99'"),
        (line(duration=True), "duration is not a number"),
        (line(duration=float("nan")), "duration is not a number"),
        (line(ts="1-2"), "ts is not a pair"),
        (line(ts=[1]), "ts is not a pair"),
        (line(ts=[1, 2, 3]), "ts is not a pair"),
        (line(ts=[False, True]), "ts is not a pair"),
        (line(ts=[1, "2"]), "ts is not a pair"),
        (line(ts=[1, None]), "ts is not a pair"),
        (line(ts=[float("nan"), 2]), "ts is not a pair"),
        (line(ts=[1, float("inf")]), "ts is not a pair"),
        (line(ts=[1, 10**400]), "ts is not a pair"),
        (line(ts=[-0.5, 2]), "before the video"),
        (line(ts=[4, 4]), "not before its end"),
        (line(ts=[5, 4]), "not before its end"),
        (line(ts=[60, 60.5]), "not before its end"),
        (line(ts=[50, 61.01]), "but the video is 60 s long"),
        (line(desc=""), "desc is empty"),
        (line(desc=" \n"), "desc is empty"),
        (line(desc=["a"]), "desc is not a text"),
        (line(desc="a\0b"), "null byte"),
        (line(desc="a\ud800b"), "broken character"),
        (line(type="x"), "type is not one of"),
        (line(type=["v"]), "type is not one of"),
        (line(desc_id=True), "desc_id is not"),
        (line(desc_id=1.5), "desc_id is not"),
        (line(desc_id=None), "desc_id is not"),
        (line(desc_id=" "), "desc_id must be a whole number"),
        (line(desc_id="abc"), "desc_id must be a whole number"),
        (line(desc_id=-5), "desc_id must be a whole number"),
        (line(desc_id="9" * 5000), "desc_id must be a whole number"),
        (line(desc_id=2**63), "desc_id must be a whole number"),
        (line(desc_id="a\0"), "desc_id must be a whole number"),
    ],
)
def test_bad_line_is_reported_with_its_reason(bad: str, reason: str) -> None:
    first, second = read_tvr([bad, line()], GIVEN)
    assert isinstance(first, BadLine) and first.line == 1 and reason in first.reason
    assert isinstance(second, DescriptionRecord) and second.line == 2


def test_blank_lines_are_skipped_but_counted() -> None:
    (record,) = read_tvr(["\n", "   ", line()], GIVEN)
    assert record.line == 3


def test_second_use_of_an_id_is_refused() -> None:
    first, second = read_tvr([line(), line(desc="Another.", desc_id="12")], GIVEN)
    assert isinstance(first, DescriptionRecord)
    assert second == BadLine(2, "desc_id 12 was used by an earlier line")


def test_id_of_a_refused_line_stays_free() -> None:
    _, second = read_tvr([line(desc=""), line()], GIVEN)
    assert isinstance(second, DescriptionRecord)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["v", "show_01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD, JSON_VALUES))
NEAR_MISSES = OBJECTS.map(lambda changes: json.dumps(GOOD | changes))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text() | JSON_VALUES.map(json.dumps) | NEAR_MISSES, max_size=6))
def test_no_line_raises_and_every_record_is_sound(lines: list[str]) -> None:
    for result in read_tvr(lines, GIVEN):
        assert 1 <= result.line <= len(lines)
        if isinstance(result, DescriptionRecord):
            assert 0 <= result.start_s < result.end_s <= DURATIONS[result.video_name][0]
            assert result.text.strip() and "\0" not in result.text


def test_durations_are_read_across_splits(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text('{"train": {"a": [1.5, 1]}, "val": {"b": [2, 0]}}')
    durations = read_durations(path)
    assert durations == {"a": (1.5, 1), "b": (2.0, 0)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[1]",
        '{"val": [1]}',
        '{"val": {"a": 1}}',
        '{"val": {"a": [1]}}',
        '{"val": {"a": ["1", 0]}}',
        '{"val": {"a": [true, 0]}}',
        '{"val": {"a": [NaN, 0]}}',
        '{"val": {"a": [0, 0]}}',
        '{"val": {"a": [1, 0.5]}}',
        '{"val": {"a": [1, true]}}',
        '{"val": {"a": [1, -1]}}',
        '{"val": {"": [1, 0]}}',
        '{"val": {"a\\u0000": [1, 0]}}',
        '{"train": {"a": [1, 0]}, "val": {"a": [1, 1]}}',
        '{"train": {"a": [1, 0]}, "val": {"b": [1, 0]}}',
    ],
)
def test_malformed_durations_have_a_named_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "durations.json"
    path.write_text(text)
    with pytest.raises(ImportFileError):
        read_durations(path)


def test_missing_or_binary_durations_have_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    with pytest.raises(ImportFileError):
        read_durations(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ImportFileError):
        read_durations(path)


@pytest.mark.skipif(not TVR.is_dir(), reason=f"the shared TVR files are not at {TVR}")
def test_published_validation_file_is_read_whole() -> None:
    durations = read_durations(TVR / "tvr_video2dur_idx.json")
    with (TVR / "tvr_val_release.jsonl").open(encoding="utf-8") as lines:
        records = list(FORMATS["tvr"].read(lines, Given(durations)))
    good = [record for record in records if isinstance(record, DescriptionRecord)]
    assert len(good) == len(records) == 10_895
    assert Counter(record.kind for record in good) == {"video": 8_097, "both": 1_834, "subtitle": 964}
    assert len({(record.video_name, record.start_s, record.end_s) for record in good}) == 10_841
    assert len({record.video_name for record in good}) == 2_179
    assert len(durations) == 21_793
