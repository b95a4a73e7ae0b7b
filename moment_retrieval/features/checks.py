"""Looks through files of features for what training would stumble over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from moment_retrieval.errors import BrokenFeatures
from moment_retrieval.features.stores import FeatureStore, open_features

SHOWN = 20  # names that a finding lists
LENGTH_SLACK = 1  # rows by which video and subtitles may differ: the published files do
OnProgress = Callable[[int, int], None]


class Trouble(StrEnum):
    """What can be wrong."""

    UNREADABLE = "unreadable"
    MISSING = "missing"
    SHAPE = "shape"
    WIDTH = "width"
    NOT_FINITE = "not_finite"
    EMPTY = "empty"
    ZERO = "zero"
    LENGTH = "length"


WORDS = {
    Trouble.UNREADABLE: "the file cannot be read",
    Trouble.MISSING: "no features",
    Trouble.SHAPE: "not a table of numbers",
    Trouble.WIDTH: "another width than asked for",
    Trouble.NOT_FINITE: "not a number (NaN) or infinite",
    Trouble.EMPTY: "no rows",
    Trouble.ZERO: "nothing but zeros",
    Trouble.LENGTH: "video and subtitles differ in length by more than a clip",
}
REMARKS = (Trouble.ZERO, Trouble.LENGTH)  # training goes on in spite of them


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a file.

    Attributes:
        kind: of the file: video, subtitle, query.
        trouble: what is wrong.
        count: how many names have it.
        names: the first of them.
        detail: of the first.
    """

    kind: str
    trouble: Trouble
    count: int
    names: tuple[str, ...] = ()
    detail: str = ""

    @property
    def is_fatal(self) -> bool:
        """Whether training cannot do with it."""
        return self.trouble not in REMARKS

    def __str__(self) -> str:
        what = f"{self.kind}: {WORDS[self.trouble]}"
        if self.names:
            more = f" and {self.count - len(self.names)} more" if self.count > len(self.names) else ""
            what += f": {self.count} ({', '.join(self.names)}{more})"
        return f"{what}: {self.detail}" if self.detail else what

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {"kind": self.kind, "trouble": self.trouble.value, "count": self.count, "names": list(self.names)}
        return told | {"detail": self.detail, "fatal": self.is_fatal, "text": str(self)}


def check(
    stores: Mapping[str, FeatureStore | str | Path],
    wanted: Mapping[str, Collection[str]],
    *,
    widths: Mapping[str, int] | None = None,
    on_progress: OnProgress | None = None,
) -> list[Finding]:
    """What is wrong with files of features.

    Args:
        stores: by kind (video, subtitle, query), opened or by path.
        wanted: by kind, whose features there must be; a kind that is left out is looked through as it is.
        widths: by kind, the numbers a row must have.
        on_progress: called with names looked through, and all.
    """
    notes = _Notes()
    opened = {kind: store for kind, held in stores.items() if (store := _opened(kind, held, notes)) is not None}
    asked = {kind: list(wanted.get(kind, store.names)) for kind, store in opened.items()}
    total, done = sum(map(len, asked.values())), 0
    lengths: dict[str, dict[str, int]] = {}
    for kind, store in opened.items():
        lengths[kind] = {}
        for name in asked[kind]:
            length = _look(kind, store, name, (widths or {}).get(kind), notes)
            if length is not None:
                lengths[kind][name] = length
            done += 1
            if on_progress:
                on_progress(done, total)
    for name, detail in _uneven(lengths.get("video", {}), lengths.get("subtitle", {})):
        notes.add("subtitle", Trouble.LENGTH, name, detail)
    return notes.findings()


class _Notes:
    """Findings as they come up."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, Trouble], list[str]] = {}
        self.details: dict[tuple[str, Trouble], str] = {}

    def add(self, kind: str, trouble: Trouble, name: str = "", detail: str = "") -> None:
        self.names.setdefault((kind, trouble), []).append(name)
        self.details.setdefault((kind, trouble), detail)

    def findings(self) -> list[Finding]:
        return [
            Finding(kind, trouble, len(names), tuple(filter(None, names[:SHOWN])), self.details[kind, trouble])
            for (kind, trouble), names in self.names.items()
        ]


def _opened(kind: str, held: FeatureStore | str | Path, notes: _Notes) -> FeatureStore | None:
    try:
        store = held if isinstance(held, FeatureStore) else open_features(held)
        _ = store.width
    except BrokenFeatures as error:
        notes.add(kind, Trouble.UNREADABLE, detail=str(error))
        return None
    return store


def _look(kind: str, store: FeatureStore, name: str, width: int | None, notes: _Notes) -> int | None:
    """Note what is wrong with the rows of a name; returns how many they are."""
    if name not in store:
        notes.add(kind, Trouble.MISSING, name)
        return None
    try:
        rows = store.rows(name)
    except BrokenFeatures as error:
        notes.add(kind, Trouble.SHAPE, name, str(error))
        return None
    if width is not None and rows.shape[1] != width:
        notes.add(kind, Trouble.WIDTH, name, f"{rows.shape[1]}, not {width}")
    if not len(rows):
        notes.add(kind, Trouble.EMPTY, name)
    elif not np.isfinite(rows).all():
        notes.add(kind, Trouble.NOT_FINITE, name)
    elif kind != "subtitle" and not rows.any():
        notes.add(kind, Trouble.ZERO, name)
    return len(rows)


def _uneven(video: Mapping[str, int], subtitle: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name, clips in video.items():
        other = subtitle.get(name)
        if other is not None and abs(other - clips) > LENGTH_SLACK:
            yield name, f"{name} has {clips} clips and {other} rows of subtitles"
