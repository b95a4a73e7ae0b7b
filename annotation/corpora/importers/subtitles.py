"""Reads subtitles: TVQA's preprocessed JSON lines, and .srt and .vtt files named as their videos."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import BadLine, Given, Item, SubtitleRecord
from annotation.corpora.importers.fields import LONGEST_LINE, Refused, Source, shown

TIMES = re.compile(r"\s*(\S+)\s*-->\s*(\S+)")
TIME = re.compile(r"(-)?(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})$")
NO_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")  # first words of the blocks of a .vtt file that say nothing
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|\{\\[^{}]{0,200}\}")


def read_tvqa(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read lines with ``vid_name`` and ``sub``, a list of ``text``, ``start`` and ``end`` in seconds."""
    source, earlier_names = Source(options, "vid_name"), set[str]()

    def read(line: int, entry: dict[str, Any]) -> Iterator[Item]:
        name, duration_s, _ = source.video(entry["vid_name"])
        if not isinstance(entry["sub"], list):
            raise Refused("sub is not a list")
        if name in earlier_names:
            raise Refused(f"video {shown(name)} is listed twice; {len(entry['sub'])} subtitles are left out")
        earlier_names.add(name)

        def subtitle(item: str, sub: object) -> Item:
            if not isinstance(sub, dict):
                raise Refused("not an object")
            text = fields.text(sub.get("text"), "text")
            window = source.window((sub.get("start"), sub.get("end")), "the window", duration_s)
            return SubtitleRecord(line, name, *window, item, text=text)

        subs = ((f"{shown(name)} #{index}", sub) for index, sub in enumerate(entry["sub"], start=1))
        return fields.items(line, subs, subtitle)

    return fields.json_lines(parts, ("vid_name", "sub"), read)


def read_srt(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read the subtitles of the video that the file is named after. Tags are left out; lines become one.

    Of WebVTT the header, notes, styles and regions are left out, too (https://www.w3.org/TR/webvtt1/).
    """
    try:
        source = Source(options)
        name, duration_s, _ = source.video(options.stem)
    except Refused as refusal:
        yield BadLine(1, str(refusal))
        return
    is_webvtt = False
    for first, block in _blocks(parts):
        is_webvtt = is_webvtt or block[0].lstrip("\ufeff").startswith("WEBVTT")
        if is_webvtt and _is_no_cue(block):
            continue
        try:
            times, words = _parted(block)
            window = source.window(times, "time", duration_s)
            text = fields.text(" ".join(TAG.sub("", " ".join(words)).split()), "text")
        except Refused as refusal:
            yield BadLine(first, str(refusal))
        else:
            yield SubtitleRecord(first, name, *window, shown(name), text=text)


def _blocks(parts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Lines between blank ones, with the number of the first."""
    block: list[str] = []
    start = 1
    size = 0  # of the block; what is longer than any text is cut short, and refused
    for number, line in enumerate(parts, start=1):
        if line.strip():
            start, size = (start, size) if block else (number, 0)
            if size <= LONGEST_LINE:
                block.append(line.strip()[: LONGEST_LINE + 1])
                size += len(block[-1]) + 1
        elif block:
            yield start, block
            block = []
    if block:
        yield start, block


def _is_no_cue(block: list[str]) -> bool:
    return block[0].lstrip("\ufeff").split()[0] in NO_CUES and not any("-->" in line for line in block)


def _parted(block: list[str]) -> tuple[tuple[float, float], list[str]]:
    """Line, times and text of a block; the counter, or WebVTT's name, above the times may be missing."""
    index = 1 if len(block) > 1 and "-->" not in block[0] else 0
    match = TIMES.match(block[index])
    if not match:
        raise Refused("no line of times: 00:00:01,000 --> 00:00:02,500")
    start_s, end_s = _seconds(match[1]), _seconds(match[2])
    return (start_s, end_s), block[index + 1 :]


def _seconds(text: str) -> float:
    match = TIME.match(text)
    if not match:
        raise Refused(f"{shown(text)} is not a time")
    minus, hours, minutes, seconds, fraction = match.groups()
    value = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
    return -value if minus else value
