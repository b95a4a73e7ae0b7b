"""Reads TVC (Lei et al., ECCV 2020): one moment a line with several captions, or with none in the test set."""

from collections.abc import Iterable, Iterator
from typing import Any

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, Item, MomentRecord
from annotation.corpora.importers.fields import Numbers, Refused, Videos
from annotation.corpora.importers.texts import notes_of
from annotation.corpora.importers.tvr import kind_of

FIELDS = ("vid_name", "ts")


def read_tvc(parts: Iterable[str], given: Given) -> Iterator[Item]:
    """Read lines with ``vid_name``, ``duration``, ``ts`` in seconds and ``descs``, a list of ``desc``, ``desc_id``
    and ``type``. Without ``descs`` the moment stands alone. A caption without ``type``, as in files of predictions,
    counts as written from both video and subtitles.
    """
    videos, numbers = Videos(given, "vid_name"), Numbers("desc_id")
    for number, line in enumerate(parts, start=1):
        if not line.strip():
            continue
        try:
            yield from _records(number, fields.json_object(line, FIELDS), videos, numbers, given)
        except Refused as refusal:
            yield BadLine(number, str(refusal))


def _records(number: int, held: dict[str, Any], videos: Videos, numbers: Numbers, given: Given) -> Iterator[Item]:
    name, duration_s, video = videos.duration(held["vid_name"], held.get("duration"))
    start_s, end_s, past = fields.span(held["ts"], "ts", duration_s, clip=given.clip)
    descs = held.get("descs", [])
    if not isinstance(descs, list):
        raise Refused("descs is not a list")
    if video:
        yield video
    if not descs:
        yield MomentRecord(number, name, start_s, end_s, past_end=past)
    for place, desc in enumerate(descs, start=1):
        item = f"caption {place}" if len(descs) > 1 else ""
        try:
            if not isinstance(desc, dict) or "desc" not in desc:
                raise Refused("a caption is not an object with desc")
            text, kind = fields.text(desc["desc"], "desc"), kind_of(desc.get("type", "vt"))
            source_id = fields.source_id(desc["desc_id"], "desc_id") if "desc_id" in desc else None
            numbers.take(source_id)
        except Refused as refusal:
            yield BadLine(number, str(refusal), item)
        else:
            yield DescriptionRecord(
                number, source_id, name, start_s, end_s, text, kind, item, past_end=past, notes=notes_of(text)
            )
