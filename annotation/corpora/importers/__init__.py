"""Reads annotation files of other projects; ``FORMATS`` lists the forms that can be imported."""

from collections.abc import Mapping
from types import MappingProxyType

from annotation.corpora.importers.base import (
    BadLine,
    DescriptionRecord,
    Durations,
    Format,
    Given,
    ImportFileError,
    Item,
    Kind,
    MomentRecord,
    Record,
    SubtitleRecord,
    VideoRecord,
)
from annotation.corpora.importers.detect import form_of
from annotation.corpora.importers.grounding import read_charades, read_frames, read_qvhighlights, read_seconds
from annotation.corpora.importers.plain import read_csv, read_jsonl
from annotation.corpora.importers.subtitles import read_srt, read_tvqa
from annotation.corpora.importers.tvr import durations_of, read_durations, read_tvc, read_tvr, videos_of

__all__ = [
    "FORMATS",
    "BadLine",
    "DescriptionRecord",
    "Durations",
    "Format",
    "Given",
    "ImportFileError",
    "Item",
    "Kind",
    "MomentRecord",
    "Record",
    "SubtitleRecord",
    "VideoRecord",
    "durations_of",
    "form_of",
    "read_durations",
    "read_tvr",
    "videos_of",
]

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        form.name: form
        for form in (
            Format("tvr", "TVR (one JSON object a line)", read_tvr),
            Format("charades-sta", "Charades-STA (JSON, or text with ##)", read_charades, whole=True),
            Format("activitynet", "ActivityNet Captions (JSON)", read_seconds, whole=True),
            Format("tacos", "TACoS (JSON, times in frames)", read_frames, whole=True),
            Format("qvhighlights", "QVHighlights (one JSON object a line)", read_qvhighlights),
            Format("tvc", "TVC (one JSON object a line)", read_tvc),
            Format("csv", "Own form: CSV", read_csv),
            Format("jsonl", "Own form: one JSON object a line", read_jsonl),
            Format("tvqa-subtitles", "Subtitles of TVQA (one JSON object a line)", read_tvqa, holds="subtitles"),
            Format("srt", "Subtitles: .srt files", read_srt, holds="subtitles", suffix=".srt"),
        )
    }
)
