"""Published files give the counts that are known of them."""

from collections import Counter

import pytest

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, MomentRecord, VideoRecord
from annotation.corpora.importers.files import read_path
from annotation.corpora.importers.tvr import read_durations
from tests.annotation.corpora.importers.shared import DATA, needs_shared

pytestmark = needs_shared
LENGTHS = DATA / "tvr" / "tvr_video2dur_idx.json"


def counts(form: str, path: str, options: Given) -> dict[str, int]:
    items = list(read_path(FORMATS[form], DATA / path, options))
    kinds = Counter(type(item) for item in items)
    records = [item for item in items if isinstance(item, DescriptionRecord | MomentRecord)]
    return {
        "videos": len({record.video_name for record in records}),
        "described": kinds[DescriptionRecord],
        "bare": kinds[MomentRecord],
        "lines": len({record.line for record in records}),
        "past": sum(record.past_end for record in records),
        "bad": kinds[BadLine],
    }


@pytest.mark.parametrize(
    ("form", "path", "videos", "sentences", "past"),
    [
        ("charades-sta", "charades_sta/charades_train.json", 5336, 12404, 0),
        ("charades-sta", "charades_sta/charades_test.json", 1334, 3720, 0),
        ("charades-sta", "mvmr/charades_test_mvmr.json", 1334, 3720, 0),
        ("activitynet", "activitynet/test.json", 4885, 17031, 1),
        ("tacos", "tacos/train.json", 75, 9790, 43),
        ("tacos", "tacos/val.json", 27, 4436, 0),
        ("tacos", "tacos/test.json", 25, 4001, 5),
        ("tacos", "mvmr/tacos_test_mvmr.json", 25, 4001, 5),
    ],
)
def test_json_by_video(form: str, path: str, videos: int, sentences: int, past: int) -> None:
    totals = counts(form, path, Given(clip=True))
    assert totals == {"videos": videos, "described": sentences, "bare": 0, "lines": 1, "past": past, "bad": 0}


@pytest.mark.parametrize(
    ("path", "queries", "videos", "windows"),
    [("highlight_val_release.jsonl", 1550, 1519, 2803), ("highlight_test_with_gt.jsonl", 1542, 1529, 2761)],
)
def test_qvhighlights(path: str, queries: int, videos: int, windows: int) -> None:
    totals = counts("qvhighlights", f"qvhighlights/{path}", Given())
    assert totals == {"videos": videos, "described": windows, "bare": 0, "lines": queries, "past": 0, "bad": 0}


def test_tvc_without_captions_and_with_generated_ones_of_lengths_in_the_table() -> None:
    totals = counts("tvc", "tvc/tvc_test_public_release.jsonl", Given())
    assert totals == {"videos": 1089, "described": 0, "bare": 5420, "lines": 5420, "past": 0, "bad": 0}
    totals = counts("tvc", "tvc/sample_val_predictions.jsonl", Given(read_durations(LENGTHS)))
    assert (totals["described"], totals["lines"], totals["bad"]) == (10841, 10841, 0)


def test_tvr_with_and_without_the_table() -> None:
    durations = read_durations(LENGTHS)
    assert len(durations) == 21_793
    for options in (Given(durations), Given()):
        totals = counts("tvr", "tvr/tvr_val_release.jsonl", options)
        assert totals == {"videos": 2179, "described": 10895, "bare": 0, "lines": 10895, "past": 0, "bad": 0}
    records = list(read_path(FORMATS["tvr"], DATA / "tvr" / "tvr_val_release.jsonl", Given(durations)))
    kinds = Counter(record.kind for record in records if isinstance(record, DescriptionRecord))
    assert kinds == {"video": 8_097, "both": 1_834, "subtitle": 964}
    items = list(read_path(FORMATS["tvr"], DATA / "tvr" / "tvr_test_public_release.jsonl", Given()))
    assert len(items) == 5445
    assert {item.reason for item in items if isinstance(item, BadLine)} == {"missing vid_name, duration, ts, type"}


def test_tacos_seconds_are_frames_by_fps() -> None:
    first, second, *_ = read_path(FORMATS["tacos"], DATA / "tacos" / "test.json", Given())
    assert isinstance(first, VideoRecord) and first.name == "s30-d52.avi"
    assert isinstance(second, DescriptionRecord)
    assert (second.start_s, second.end_s) == (pytest.approx(141 / 29.4), pytest.approx(354 / 29.4))
