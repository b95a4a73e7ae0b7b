"""Reads temporal grounding's other data sets: Charades-STA, ActivityNet Captions, TACoS and QVHighlights.

The first three are JSON ``{video: {timestamps, sentences, ...}}``: ActivityNet Captions is published so (Krishna et
al., ICCV 2017); Charades-STA and TACoS have it from the authors of MMN (Wang et al., AAAI 2022), TACoS with times in
frames. QVHighlights (Lei et al., NeurIPS 2021) has one query a line with all the windows that answer it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import BadLine, Given, Item
from annotation.corpora.importers.fields import BrokenJson, Refused, Source, entries, lines_of_pieces, shown

FIELDS = ("qid", "query", "vid", "relevant_windows")
CLIP_S = 2  # windows are made of such clips
NEXT_WINDOW = 10**9  # the number of a query's n-th window, from 0, is n times this plus qid


def read_qvhighlights(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read lines with ``qid``, ``query``, ``vid``, ``duration`` and ``relevant_windows`` in seconds.

    Every window is a moment of its own with the query as its description: the first is numbered ``qid``, the others
    as ``NEXT_WINDOW`` says. A window of a length that clips of two seconds cannot make is kept and noted.
    """
    return fields.json_lines(parts, FIELDS, partial(_records, Source(options, "vid", "qid")))


def _records(source: Source, line: int, entry: dict[str, Any]) -> Iterator[Item]:
    name, duration_s, video = source.video(entry["vid"], entry.get("duration"))
    qid, text = fields.source_id(entry["qid"], "qid"), fields.text(entry["query"], "query")
    windows = entry["relevant_windows"]
    if qid >= NEXT_WINDOW:
        raise Refused(f"qid is not below {NEXT_WINDOW}")
    if not isinstance(windows, list) or not windows:
        raise Refused("relevant_windows is not a list of windows")
    source.take_number(qid)
    if video:
        yield video
    for index, window in enumerate(windows):
        item = f"window {index + 1}" if len(windows) > 1 else ""
        try:
            start_s, end_s, _ = span = source.window(window, "relevant_windows", duration_s)
        except Refused as refusal:
            yield BadLine(line, str(refusal), item or shown(str(window)))
            continue
        record = fields.described(line, name, span, text, number=qid + index * NEXT_WINDOW, item=item)
        if start_s % CLIP_S or (end_s % CLIP_S and end_s != duration_s):
            record = replace(record, notes=(*record.notes, f"the window is not made of clips of {CLIP_S} s"))
        yield record


Times = Callable[[dict[str, Any]], tuple[object, float]]  # an entry -> its video's length in seconds, its times' rate


def read_seconds(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Entries with ``duration`` and ``timestamps`` in seconds."""
    return _read(parts, options, _in_seconds)


def read_frames(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Entries with ``timestamps`` in frames, ``fps`` and ``num_frames``: a time is frame / fps."""
    return _read(parts, options, _in_frames)


def read_charades(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Charades-STA as JSON, as ``read_seconds``, or as first published, a line each: ``AO8RW 0.0 6.9##a sentence``."""
    pieces = iter(parts)
    first = next((piece for piece in pieces if piece.strip()), "")
    together = chain([first], pieces)
    return _read(together, options, _in_seconds) if first.lstrip()[:1] in "{[" else _read_lines(together, options)


def _read_lines(parts: Iterable[str], options: Given) -> Iterator[Item]:
    source = Source(options)

    def read(number: int, line: str) -> list[Item]:
        head, mark, sentence = line.partition("##")
        words = head.split()
        if not mark or len(words) != 3:
            raise Refused("not of the form: video start end##sentence")
        name, duration_s, _ = source.video(words[0])
        text = fields.text(sentence, "sentence")
        window = source.window([fields.number(word) for word in words[1:]], "timestamp", duration_s)
        return [fields.described(number, name, window, text)]

    return fields.lines(lines_of_pieces(parts), read)


def _in_seconds(entry: dict[str, Any]) -> tuple[object, float]:
    return entry.get("duration"), 1.0


def _in_frames(entry: dict[str, Any]) -> tuple[object, float]:
    fps, frames = fields.seconds(entry.get("fps")), fields.seconds(entry.get("num_frames"))
    if fps is None or fps <= 0:
        raise Refused("fps is not a positive number")
    if frames is None or frames <= 0:
        raise Refused("num_frames is not a positive number")
    return frames / fps, fps


def _read(parts: Iterable[str], options: Given, times: Times) -> Iterator[Item]:
    source, earlier_names = Source(options), set[str]()
    try:
        for line, name, entry in entries(parts):
            try:
                if name in earlier_names:
                    raise Refused(f"the video is listed twice; {_sentences(entry)} sentences are left out")
                earlier_names.add(name)
                yield from _entry(source, line, name, entry, times)
            except Refused as refusal:
                yield BadLine(line, str(refusal), shown(name))
    except BrokenJson as broken:
        yield BadLine(broken.line, str(broken))


def _sentences(entry: object) -> int:
    return len(sentences) if isinstance(entry, dict) and isinstance(sentences := entry.get("sentences"), list) else 0


def _entry(source: Source, line: int, name: str, entry: object, times: Times) -> Iterator[Item]:
    if not isinstance(entry, dict):
        raise Refused("not an object")
    spans, sentences = entry.get("timestamps"), entry.get("sentences")
    if not isinstance(spans, list) or not isinstance(sentences, list):
        raise Refused("timestamps and sentences must be lists")
    if len(spans) != len(sentences):
        raise Refused(f"{len(spans)} timestamps for {len(sentences)} sentences")
    length, rate = times(entry)
    name, duration_s, video = source.video(name, length)
    if video:
        yield video

    def description(item: str, pair: tuple[object, object]) -> Item:
        span, sentence = pair
        text = fields.text(sentence, "sentence")
        return fields.described(line, name, source.window(span, "timestamp", duration_s, rate=rate), text, item=item)

    pairs = enumerate(zip(spans, sentences, strict=True), start=1)
    yield from fields.items(line, ((f"{shown(name)} #{index}", pair) for index, pair in pairs), description)
