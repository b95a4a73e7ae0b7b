"""Reads TVR's annotation files (Lei et al., ECCV 2020): one JSON object a line, and the table of video lengths."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importers.base import BadLine, DescriptionRecord, Durations, ImportFileError, Kind, VideoRecord

END_SLACK_S = 1.0  # an end this much after its video's is a rounding of the annotation, and is clipped
KINDS: Mapping[str, Kind] = {"v": "video", "t": "subtitle", "vt": "both"}
LARGEST_ID = 2**63 - 1  # what the database holds
FIELDS = ("vid_name", "duration", "ts", "desc", "type", "desc_id")


class _Refused(Exception):
    """This line gives no record; the message says why."""


def read_tvr(lines: Iterable[str], durations: Durations) -> Iterator[DescriptionRecord | BadLine]:
    """Read descriptions line by line; blank lines are skipped, and no line raises.

    Args:
        lines: objects with ``vid_name``, ``duration``, ``ts`` (start and end in seconds), ``desc``, ``type``
            (``v``, ``t`` or ``vt``) and ``desc_id``.
        durations: length and index of every known video, as ``read_durations`` gives them; a line's own
            ``duration`` must be a number but is not used.

    Returns:
        A record or a bad line for each line, in order. Texts lose the white space around them.
    """
    seen: set[int] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = _record(number, _object(line), durations)
            if record.source_id in seen:
                raise _Refused(f"desc_id {record.source_id} was used by an earlier line")
        except _Refused as refusal:
            yield BadLine(number, str(refusal))
        else:
            seen.add(record.source_id)
            yield record


def read_durations(path: str | Path) -> dict[str, tuple[float, int]]:
    """Read the table of videos, ``{split: {name: [duration, index]}}``, as {name: (seconds, index)}.

    Raises:
        ImportFileError: the file cannot be read, is not of this form, or names a video or an index twice.
    """
    durations: dict[str, tuple[float, int]] = {}
    for videos in _table(Path(path)).values():
        if not isinstance(videos, dict):
            raise ImportFileError("Each split must be an object of videos.")
        for name, entry in videos.items():
            if name in durations:
                raise ImportFileError(f"Video {_shown(name)} is listed twice.")
            durations[name] = _duration_entry(name, entry)
    if len({index for _, index in durations.values()}) < len(durations):
        raise ImportFileError("Two videos have the same index.")
    return durations


def videos_of(durations: Durations) -> Iterator[VideoRecord]:
    """The table of videos as records, in the table's order."""
    return (VideoRecord(name, duration_s, index) for name, (duration_s, index) in durations.items())


def _table(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ImportFileError(f"The file of video lengths cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ImportFileError("The file of video lengths is not JSON.") from error
    if not isinstance(table, dict):
        raise ImportFileError("The file of video lengths must be an object of splits.")
    return table


def _duration_entry(name: str, entry: object) -> tuple[float, int]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise ImportFileError(f"Video {_shown(name)} must have a pair of duration and index.")
    duration_s, index = _seconds(entry[0]), entry[1]
    if not name.strip() or not _storable(name):
        raise ImportFileError("A video's name is empty or holds characters that cannot be stored.")
    if duration_s is None or duration_s <= 0:
        raise ImportFileError(f"The duration of video {_shown(name)} is not a positive number.")
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise ImportFileError(f"The index of video {_shown(name)} is not a whole number from 0.")
    return duration_s, index


def _object(line: str) -> dict[str, Any]:
    """The line's JSON object with every field present."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise _Refused("not JSON") from None
    if not isinstance(value, dict):
        raise _Refused("not an object")
    missing = [field for field in FIELDS if field not in value]
    if missing:
        raise _Refused(f"missing {', '.join(missing)}")
    return value


def _record(number: int, fields: dict[str, Any], durations: Durations) -> DescriptionRecord:
    video_name, kind = fields["vid_name"], fields["type"]
    if not isinstance(video_name, str):
        raise _Refused("vid_name is not a text")
    if _seconds(fields["duration"]) is None:
        raise _Refused("duration is not a number")
    if video_name not in durations:
        raise _Refused(f"unknown video {_shown(video_name)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise _Refused("type is not one of v, t, vt")
    source_id, text = _source_id(fields["desc_id"]), _text(fields["desc"])
    start_s, end_s = _span(fields["ts"], durations[video_name][0])
    return DescriptionRecord(number, source_id, video_name, start_s, end_s, text, KINDS[kind])


def _source_id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _Refused("desc_id is not a whole number")
    text = str(value).strip()
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_ID):
        raise _Refused(f"desc_id must be a whole number from 0 to {LARGEST_ID}")
    return int(text)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Refused("desc is not a text")
    if not _storable(value):
        raise _Refused("desc holds a null byte or a broken character")
    if not value.strip():
        raise _Refused("desc is empty")
    return value.strip()


def _span(value: object, duration_s: float) -> tuple[float, float]:
    """Start and end in seconds, the end clipped to the video."""
    if not isinstance(value, list) or len(value) != 2:
        raise _Refused("ts is not a pair of numbers")
    start_s, end_s = _seconds(value[0]), _seconds(value[1])
    if start_s is None or end_s is None:
        raise _Refused("ts is not a pair of numbers")
    if start_s < 0:
        raise _Refused(f"ts starts at {start_s:g} s, before the video")
    if end_s > duration_s + END_SLACK_S:
        raise _Refused(f"ts ends at {end_s:g} s, but the video is {duration_s:g} s long")
    end_s = min(end_s, duration_s)
    if start_s >= end_s:
        raise _Refused(f"ts starts at {start_s:g} s, not before its end at {end_s:g} s")
    return start_s, end_s


def _seconds(value: object) -> float | None:
    """A finite number as float, or None for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no null byte, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _shown(name: str) -> str:
    """A name from outside, safe and short enough for a message."""
    return ascii(name[:80])
