"""Events of files, in order: reached the disk, moved, removed."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

Seen = list[tuple[str, str]]


def watched(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """From now on: ("fsync" or "remove", name), ("move", "from > to")."""
    events: Seen = []
    fsync, replace, rmtree = os.fsync, os.replace, shutil.rmtree

    def synced(number: int) -> None:
        events.append(("fsync", Path(f"/proc/self/fd/{number}").readlink().name))
        fsync(number)

    def moved(source: Any, target: Any) -> None:
        events.append(("move", f"{Path(source).name} > {Path(target).name}"))
        replace(source, target)

    def removed(path: Any, **how: Any) -> None:
        if Path(path).exists():
            events.append(("remove", Path(path).name))
        rmtree(path, **how)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    monkeypatch.setattr(shutil, "rmtree", removed)
    return events
