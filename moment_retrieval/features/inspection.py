"""Looks through a file of features in a child process, so that no file ends or fills the process that asks.

Whoever has not been told that a file is in order opens it here first; see ``limited`` for what the child may take.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from moment_retrieval.errors import BrokenFeatures, ScoringError
from moment_retrieval.features.checks import OnProgress, check
from moment_retrieval.features.stores import open_features
from moment_retrieval.limited import Limits, ReaderEnded, reader

MEMORY_MB = 2048  # rows of one name take 256 at most, a few times over while they are unpacked
LEAST_CPU_S, BYTES_A_SECOND = 600, 10 * 2**20


@dataclass(frozen=True)
class Inspection:
    """What a file holds.

    Attributes:
        width: numbers in a row.
        count: names that have rows.
        checksum: tells it from others.
        findings: what is wrong with it, as ``Finding.as_dict`` gives it.
    """

    width: int
    count: int
    checksum: str
    findings: list[dict[str, Any]]


def inspect(path: str | Path, kind: str, names: Sequence[str], *, on_progress: OnProgress | None = None) -> Inspection:
    """What a file of features holds, and what is wrong with it.

    Args:
        kind: of the file: video, subtitle, query.
        names: whose features there are to be.
        on_progress: called with names looked through, and all.

    Raises:
        BrokenFeatures: it cannot be read, ends its reader, or takes more memory or time than any file needs.
    """
    path = Path(path)
    request = json.dumps({"path": str(path.absolute()), "kind": kind, "names": list(names)}).encode()
    said: dict[str, Any] = {}
    try:
        with reader(__name__, request, _limits(path)) as output:
            for line in output:
                if not line.endswith(b"\n"):
                    break  # the child was ended while it wrote
                said = json.loads(line)
                if on_progress and "done" in said:
                    on_progress(said["done"], said["total"])
    except ReaderEnded as error:
        raise BrokenFeatures(f"{path.name}: {error}") from error
    if "error" in said:
        raise BrokenFeatures(said["error"])
    return Inspection(**said)


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

    asked = json.load(request)
    try:
        with open_features(asked["path"]) as store:
            findings = check(
                {asked["kind"]: store},
                {asked["kind"]: asked["names"]},
                on_progress=lambda done, total: say(done=done, total=total),
            )
            found = {"width": store.width, "count": len(store), "checksum": store.checksum()}
    except ScoringError as error:
        say(error=str(error))
    else:
        say(**found, findings=[finding.as_dict() for finding in findings])
