"""Reads our own form, as CSV or as one JSON object a line; docs/data-formats.md describes it."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from annotation.corpora.importers import fields
from annotation.corpora.importers.base import Given, Item, Kind
from annotation.corpora.importers.fields import LONGEST_LINE, Refused, Source

NEEDED = ("video", "start", "end", "description")
KINDS: tuple[Kind, ...] = get_args(Kind)


def read_jsonl(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read objects with ``video``, ``start``, ``end``, ``description`` and perhaps ``duration``, ``id``, ``kind``."""
    return fields.json_lines(parts, NEEDED, partial(_records, Source(options)))


def read_csv(parts: Iterable[str], options: Given) -> Iterator[Item]:
    """Read the same fields from columns named in the first line. A row is one line: quotes hold no line break, so
    that a quote somebody forgot costs one row and not the rest of the file.
    """
    source, names = Source(options), list[str]()

    def read(number: int, line: str) -> list[Item]:
        cells = _cells(line)
        if not names:
            names.extend(_header(cells))
            return []
        if len(cells) != len(names):
            raise Refused(f"{len(cells)} columns, but the header has {len(names)}")
        return _records(source, number, _typed(dict(zip(names, cells, strict=True))))

    for item in fields.lines(parts, read):
        yield item
        if not names:
            return  # the header itself was refused


def _cells(line: str) -> list[str]:
    if len(line) > LONGEST_LINE:
        raise Refused(f"longer than {LONGEST_LINE} characters")
    try:
        (cells,) = csv.reader([line.rstrip("\r\n")], strict=True)
    except csv.Error:
        raise Refused("not CSV: a quote is not closed, or stands in the wrong place") from None
    return cells


def _header(cells: list[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise Refused(f"the first line names no column {', '.join(missing)}")
    if len(set(names)) < len(names):
        raise Refused("the first line names a column twice")
    return names


def _typed(row: dict[str, str]) -> dict[str, Any]:
    """Cells as JSON would hold them; an empty cell is left out where the field may be absent."""
    typed: dict[str, Any] = {name: value for name, value in row.items() if value.strip() or name in NEEDED}
    for name in ("start", "end", "duration"):
        if name in typed:
            typed[name] = fields.number(typed[name])
            if typed[name] is None:
                raise Refused(f"{name} is not a number")
    return typed


def _records(source: Source, line: int, entry: Mapping[str, Any]) -> list[Item]:
    name, duration_s, video = source.video(entry["video"], entry.get("duration"))
    kind = entry.get("kind") or "video"
    if kind not in KINDS:
        raise Refused(f"kind is not one of {', '.join(KINDS)}")
    window = source.window((entry["start"], entry["end"]), "the window", duration_s)
    text = fields.text(entry["description"], "description")
    source_id = fields.source_id(entry["id"], "id") if entry.get("id") is not None else None
    source.take_number(source_id)
    record = fields.described(line, name, window, text, number=source_id, kind=kind)
    return [video, record] if video else [record]
