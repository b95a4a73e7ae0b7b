"""Checks whether features are those a training needs; a file of unknown origin is looked through in a child process.

The child keeps a damaged or hostile file from ending or filling the process that asks; ``limited`` says what it may
take.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import numpy as np

from moment_retrieval.errors import BrokenFeatures, ScoringError
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.files import open_features
from moment_retrieval.features.stores import FeatureStore
from moment_retrieval.limited import Limits, ReaderEnded, reader

SHOWN = 20  # names that a finding lists
LENGTH_SLACK = 1  # rows by which video and subtitles may differ: the published files do
OnProgress = Callable[[int, int], None]


class Trouble(StrEnum):
    """Possible problems."""

    UNREADABLE = "unreadable"
    MISSING = "missing"
    SHAPE = "shape"
    NOT_FINITE = "not_finite"
    EMPTY = "empty"
    ZERO = "zero"
    LENGTH = "length"


WORDS = {
    Trouble.UNREADABLE: "the file cannot be read",
    Trouble.MISSING: "no features",
    Trouble.SHAPE: "not a table of numbers",
    Trouble.NOT_FINITE: "not a number (NaN) or infinite",
    Trouble.EMPTY: "no rows",
    Trouble.ZERO: "nothing but zeros",
    Trouble.LENGTH: "video and subtitles differ in length by more than a clip",
}
WARNINGS = (Trouble.ZERO, Trouble.LENGTH)  # training goes on in spite of them
Notes = defaultdict[tuple[str, Trouble], list[tuple[str, str]]]  # by kind and trouble, names with the detail of each


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a file."""

    kind: str  # of the file: video, subtitle, query
    trouble: Trouble
    count: int  # how many names have it
    names: tuple[str, ...] = ()  # the first of them
    detail: str = ""  # of the first

    @property
    def is_fatal(self) -> bool:
        """Whether training cannot do with it."""
        return self.trouble not in WARNINGS

    def __str__(self) -> str:
        what = f"{self.kind}: {WORDS[self.trouble]}"
        if self.names:
            more = f" and {self.count - len(self.names)} more" if self.count > len(self.names) else ""
            what += f": {self.count} ({', '.join(self.names)}{more})"
        return f"{what}: {self.detail}" if self.detail else what

    def as_dict(self) -> dict[str, Any]:
        record = {"kind": self.kind, "trouble": self.trouble.value, "count": self.count, "names": list(self.names)}
        return record | {"detail": self.detail, "fatal": self.is_fatal, "text": str(self)}


def check(
    stores: Mapping[str, FeatureStore | str | Path],
    required_names: Mapping[str, Collection[str]],
    *,
    on_progress: OnProgress | None = None,
) -> list[Finding]:
    """Find problems in files of features.

    Args:
        stores: by kind (video, subtitle, query), opened or by path.
        required_names: by kind, whose features there must be; a kind that is left out is looked through as it is.
        on_progress: called with names looked through, and all.
    """
    notes: Notes = defaultdict(list)
    open_stores = {
        kind: store for kind, source in stores.items() if (store := _opened(kind, source, notes)) is not None
    }
    names_by_kind = {kind: list(required_names.get(kind, store.names)) for kind, store in open_stores.items()}
    total, n_done = sum(map(len, names_by_kind.values())), 0
    lengths: dict[str, dict[str, int]] = {}
    for kind, store in open_stores.items():
        lengths[kind] = {}
        for name in names_by_kind[kind]:
            length = _look(kind, store, name, notes)
            if length is not None:
                lengths[kind][name] = length
            n_done += 1
            if on_progress:
                on_progress(n_done, total)
    for name, detail in _uneven(lengths.get("video", {}), lengths.get("subtitle", {})):
        notes["subtitle", Trouble.LENGTH].append((name, detail))
    return [
        Finding(kind, trouble, len(pairs), tuple(name for name, _ in pairs[:SHOWN] if name), pairs[0][1])
        for (kind, trouble), pairs in notes.items()
    ]


def _opened(kind: str, source: FeatureStore | str | Path, notes: Notes) -> FeatureStore | None:
    try:
        store = source if isinstance(source, FeatureStore) else open_features(source)
        _ = store.width
    except BrokenFeatures as error:
        notes[kind, Trouble.UNREADABLE].append(("", str(error)))
        return None
    return store


def _look(kind: str, store: FeatureStore, name: str, notes: Notes) -> int | None:
    """Note what is wrong with the rows of a name; returns how many they are."""
    if name not in store:
        notes[kind, Trouble.MISSING].append((name, ""))
        return None
    try:
        rows = store.rows(name)
    except BrokenFeatures as error:
        notes[kind, Trouble.SHAPE].append((name, str(error)))
        return None
    if not len(rows):
        notes[kind, Trouble.EMPTY].append((name, ""))
    elif not np.isfinite(rows).all():
        notes[kind, Trouble.NOT_FINITE].append((name, ""))
    elif kind != "subtitle" and not rows.any():
        notes[kind, Trouble.ZERO].append((name, ""))
    return len(rows)


def _uneven(video: Mapping[str, int], subtitle: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name, clips in video.items():
        other = subtitle.get(name)
        if other is not None and abs(other - clips) > LENGTH_SLACK:
            yield name, f"{name} has {clips} clips and {other} rows of subtitles"


MEMORY_MB = 2048  # rows of one name take 256 at most, a few times over while they are unpacked
LEAST_CPU_S, BYTES_A_SECOND = 600, 10 * 2**20


@dataclass(frozen=True)
class Inspection:
    """A file's contents."""

    width: int  # numbers in a row
    count: int  # names that have rows
    checksum: str  # tells it from others
    findings: list[dict[str, Any]]  # what is wrong with it, as ``Finding.as_dict`` gives it
    attributes: Attributes = field(default_factory=dict)  # how it was made, as far as it says


def inspect(path: str | Path, kind: str, names: Sequence[str], *, on_progress: OnProgress | None = None) -> Inspection:
    """Inspect a file of features of a kind (video, subtitle, query) for ``names``, and for problems.

    Raises:
        BrokenFeatures: it cannot be read, ends its reader, or takes more memory or time than any file needs.
    """
    path = Path(path)
    request = json.dumps({"path": str(path.absolute()), "kind": kind, "names": list(names)}).encode()
    message: dict[str, Any] = {}
    try:
        with reader(__name__, request, _limits(path)) as output:
            for line in output:
                if not line.endswith(b"\n"):
                    break  # the child was ended while it wrote
                message = json.loads(line)
                if on_progress and "done" in message:
                    on_progress(message["done"], message["total"])
    except ReaderEnded as error:
        raise BrokenFeatures(f"{path.name}: {error}") from error
    if "error" in message:
        raise BrokenFeatures(message["error"])
    return Inspection(**message)


def _limits(path: Path) -> Limits:
    files = path.iterdir() if path.is_dir() else [path]
    try:
        size = sum(file.stat().st_blocks * 512 for file in files)  # a hole in a file takes no reading
    except OSError as error:
        raise BrokenFeatures(f"{path.name}: {error.strerror}") from error
    return Limits(MEMORY_MB, LEAST_CPU_S + size // BYTES_A_SECOND)


def serve(request: IO[bytes], output: IO[bytes]) -> None:
    """The child: a line of JSON for every name looked through, and one with the outcome."""

    def say(**values: Any) -> None:
        output.write(json.dumps(values).encode() + b"\n")
        output.flush()

    options = json.load(request)
    try:
        with open_features(options["path"]) as store:
            findings = check(
                {options["kind"]: store},
                {options["kind"]: options["names"]},
                on_progress=lambda n_done, total: say(done=n_done, total=total),
            )
            summary = {"width": store.width, "count": len(store), "checksum": store.checksum()}
            summary["attributes"] = store.attributes
    except ScoringError as error:
        say(error=str(error))
    else:
        say(**summary, findings=[finding.as_dict() for finding in findings])
