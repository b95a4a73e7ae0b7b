"""Reads QVHighlights (Lei et al., NeurIPS 2021): one query a line with all the windows that answer it."""

from collections.abc import Iterable, Iterator
from typing import Any

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, Item
from annotation.corpora.importers.fields import Numbers, Refused, Videos
from annotation.corpora.importers.texts import notes_of, shown

FIELDS = ("qid", "query", "vid", "relevant_windows")
CLIP_S = 2  # windows are made of such clips
NEXT_WINDOW = 10**9  # the number of a query's n-th window, from 0, is n times this plus qid


def read_qvhighlights(parts: Iterable[str], given: Given) -> Iterator[Item]:
    """Read lines with ``qid``, ``query``, ``vid``, ``duration`` and ``relevant_windows`` in seconds.

    Every window is a moment of its own with the query as its description: the first is numbered ``qid``, the others
    as ``NEXT_WINDOW`` says. A window of a length that clips of two seconds cannot make is kept and noted.
    """
    videos, numbers = Videos(given, "vid"), Numbers("qid")
    for number, line in enumerate(parts, start=1):
        if not line.strip():
            continue
        try:
            yield from _records(number, fields.json_object(line, FIELDS), videos, numbers, given)
        except Refused as refusal:
            yield BadLine(number, str(refusal))


def _records(number: int, held: dict[str, Any], videos: Videos, numbers: Numbers, given: Given) -> Iterator[Item]:
    name, duration_s, video = videos.duration(held["vid"], held.get("duration"))
    qid, text = fields.source_id(held["qid"], "qid"), fields.text(held["query"], "query")
    windows = held["relevant_windows"]
    if qid >= NEXT_WINDOW:
        raise Refused(f"qid is not below {NEXT_WINDOW}")
    if not isinstance(windows, list) or not windows:
        raise Refused("relevant_windows is not a list of windows")
    numbers.take(qid)
    if video:
        yield video
    for place, window in enumerate(windows):
        item = f"window {place + 1}" if len(windows) > 1 else ""
        try:
            start_s, end_s, past = fields.span(window, "relevant_windows", duration_s, clip=given.clip)
        except Refused as refusal:
            yield BadLine(number, str(refusal), item or shown(str(window)))
            continue
        notes = notes_of(text)
        if start_s % CLIP_S or (end_s % CLIP_S and end_s != duration_s):
            notes += (f"the window is not made of clips of {CLIP_S} s",)
        yield DescriptionRecord(
            number, qid + place * NEXT_WINDOW, name, start_s, end_s, text, "video", item, past_end=past, notes=notes
        )
