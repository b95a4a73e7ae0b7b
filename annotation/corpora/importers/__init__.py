"""Reads annotation files of other projects; ``FORMATS`` lists them, ``form_of`` says which one a file seems to be."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Mapping
from typing import IO, Any

from annotation.corpora.importers.base import Format
from annotation.corpora.importers.grounding import read_charades, read_frames, read_qvhighlights, read_seconds
from annotation.corpora.importers.plain import NEEDED, read_csv, read_jsonl
from annotation.corpora.importers.subtitles import read_srt, read_tvqa
from annotation.corpora.importers.tvr import read_tvc, read_tvr

FORMATS: Mapping[str, Format] = {
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

HEAD = 1 << 16  # bytes looked at
GZIP, ZIP = b"\x1f\x8b", b"PK"
CHARADES_LINE = re.compile(r"\S+ [\d.]+ [\d.]+##")
SRT_TIME = re.compile(r"^\d+:\d\d:\d\d[,.]\d+ *-->", re.M)
LINES: tuple[tuple[str, set[str]], ...] = (  # what a line's object holds; the first that fits
    ("tvqa-subtitles", {"vid_name", "sub"}),
    ("tvr", {"vid_name", "ts", "desc", "type"}),
    ("qvhighlights", {"qid", "query", "vid"}),
    ("tvc", {"vid_name", "ts"}),
    ("jsonl", set(NEEDED)),
)


def form_of(source: IO[bytes], name: str = "") -> str:
    """The name of the format that the file's head and name indicate; empty where they indicate none."""
    head = source.read(HEAD)
    source.seek(0)
    if head.startswith(ZIP):
        return "srt"  # the only form that comes as an archive
    text = _unpacked(head).decode("utf-8-sig", "replace").lstrip()
    if text.startswith("{"):
        return _of_line(text.splitlines()[0]) or _of_entries(text)
    if SRT_TIME.search(text[:1000]) or name.lower().endswith(".srt"):
        return "srt"
    if CHARADES_LINE.match(text):
        return "charades-sta"
    return "csv" if _names_columns(text) else ""


def _unpacked(head: bytes) -> bytes:
    if not head.startswith(GZIP):
        return head
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD)
    except (zlib.error, gzip.BadGzipFile):
        return b""


def _of_line(line: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return next((form for form, fields in LINES if isinstance(value, dict) and fields <= set(value)), "")


def _of_entries(text: str) -> str:
    """One object of videos: its first entry distinguishes frames from seconds; names distinguish the two in seconds."""
    try:
        entry = _first_entry(text)
    except (ValueError, RecursionError, KeyError):
        return ""
    if not isinstance(entry, dict) or not {"timestamps", "sentences"} <= set(entry):
        return ""
    if {"fps", "num_frames"} & set(entry):
        return "tacos"
    return "activitynet" if text[1:].lstrip().startswith('"v_') else "charades-sta"


def _first_entry(text: str) -> Any:
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(text, text.index('"'))
    entry, _ = decoder.raw_decode(text[text.index(":", end) + 1 :].lstrip())
    return entry


def _names_columns(text: str) -> bool:
    try:
        (cells,) = csv.reader([next(iter(text.splitlines()), "")])
    except (csv.Error, ValueError):
        return False
    return set(NEEDED) <= {cell.strip().lower() for cell in cells}
