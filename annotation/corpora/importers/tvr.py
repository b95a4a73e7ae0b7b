"""Reads the files of TVR and TVC (Lei et al., ECCV 2020), one JSON object a line, and the table of video lengths."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import Given, ImportFileError, Item, Kind, MomentRecord
from annotation.corpora.importers.fields import Refused, Source, shown
from core.texts import is_storable

KINDS: Mapping[str, Kind] = {"v": "video", "t": "subtitle", "vt": "both"}
LARGEST_INDEX = 2**31 - 1  # what the database holds
FIELDS = ("vid_name", "duration", "ts", "desc", "type", "desc_id")
TVC_FIELDS = ("vid_name", "ts")


def read_tvr(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read descriptions line by line; blank lines are skipped, and no line raises.

    A line is an object with ``vid_name``, ``duration``, ``ts`` (start and end in seconds), ``desc``, ``type`` (``v``,
    ``t`` or ``vt``) and ``desc_id``. With a table of videos a line's own ``duration`` must be a number but is not used.
    """
    return fields.json_lines(parts, FIELDS, partial(_records, Source(options, "vid_name", "desc_id")))


def _records(source: Source, line: int, entry: dict[str, Any]) -> list[Item]:
    if fields.seconds(entry["duration"]) is None:
        raise Refused("duration is not a number")
    name, duration_s, video = source.video(entry["vid_name"], entry["duration"])
    kind = kind_of(entry["type"])
    source_id, text = fields.source_id(entry["desc_id"], "desc_id"), fields.text_with_blanks(entry["desc"], "desc")
    window = source.window(entry["ts"], "ts", duration_s)
    source.take_number(source_id)
    record = fields.described(line, name, window, text, number=source_id, kind=kind)
    return [video, record] if video else [record]


def kind_of(value: object) -> Kind:
    if not isinstance(value, str) or value not in KINDS:
        raise Refused("type is not one of v, t, vt")
    return KINDS[value]


def read_durations(path: str | Path) -> dict[str, tuple[float, int]]:
    """Read the table of videos, ``{split: {name: [duration, index]}}``, as {name: (seconds, index)}. Raises
    ImportFileError where the file cannot be read, is not of this form, or names a video or an index twice."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ImportFileError(f"The file of video lengths {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ImportFileError(f"The file of video lengths {path} is not JSON.") from error
    return durations_of(text)


def durations_of(text: str) -> dict[str, tuple[float, int]]:
    """As ``read_durations``, from the text of the file."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ImportFileError("The file of video lengths is not JSON.") from error
    if not isinstance(table, dict):
        raise ImportFileError("The file of video lengths must be an object of splits.")
    durations: dict[str, tuple[float, int]] = {}
    for videos in table.values():
        if not isinstance(videos, dict):
            raise ImportFileError("Each split must be an object of videos.")
        for name, entry in videos.items():
            if name in durations:
                raise ImportFileError(f"Video {shown(name)} is listed twice.")
            durations[name] = _duration_entry(name, entry)
    if len({index for _, index in durations.values()}) < len(durations):
        raise ImportFileError("Two videos have the same index.")
    return durations


def _duration_entry(name: str, entry: object) -> tuple[float, int]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise ImportFileError(f"Video {shown(name)} must have a pair of duration and index.")
    duration_s, index = fields.seconds(entry[0]), entry[1]
    if not name.strip() or not is_storable(name):
        raise ImportFileError("A video's name is empty or holds characters that cannot be stored.")
    if len(name) > fields.LONGEST_NAME:
        raise ImportFileError(f"The name {shown(name)} has more than {fields.LONGEST_NAME} characters.")
    if duration_s is None or duration_s <= 0:
        raise ImportFileError(f"The duration of video {shown(name)} is not a positive number.")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index <= LARGEST_INDEX:
        raise ImportFileError(f"The index of video {shown(name)} is not a whole number from 0 to {LARGEST_INDEX}.")
    return duration_s, index


def read_tvc(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read lines with ``vid_name``, ``duration``, ``ts`` in seconds and ``descs``, a list of ``desc``, ``desc_id``
    and ``type``. Without ``descs`` the moment stands alone. A caption without ``type``, as in files of predictions,
    counts as written from both video and subtitles.
    """
    return fields.json_lines(parts, TVC_FIELDS, partial(_tvc_records, Source(options, "vid_name", "desc_id")))


def _tvc_records(source: Source, line: int, entry: dict[str, Any]) -> Iterator[Item]:
    name, duration_s, video = source.video(entry["vid_name"], entry.get("duration"))
    window = source.window(entry["ts"], "ts", duration_s)
    descs = entry.get("descs", [])
    if not isinstance(descs, list):
        raise Refused("descs is not a list")
    if video:
        yield video
    if not descs:
        yield MomentRecord(line, name, *window)

    def caption(item: str, desc: object) -> Item:
        if not isinstance(desc, dict) or "desc" not in desc:
            raise Refused("a caption is not an object with desc")
        text, kind = fields.text_with_blanks(desc["desc"], "desc"), kind_of(desc.get("type", "vt"))
        source_id = fields.source_id(desc["desc_id"], "desc_id") if "desc_id" in desc else None
        source.take_number(source_id)
        return fields.described(line, name, window, text, number=source_id, kind=kind, item=item)

    items = [f"caption {index}" if len(descs) > 1 else "" for index in range(1, len(descs) + 1)]
    yield from fields.items(line, zip(items, descs, strict=True), caption)
