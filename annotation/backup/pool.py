"""Copies of stored files beside the backups: one folder for all, since a stored file never changes."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage

from annotation.backup.errors import BackupError, Unlike

PIECE = 1 << 20
Entry = dict[str, Any]  # name, bytes, sha256; or name, missing


class Pool:
    """The folder ``media`` of a folder of backups, and the sums of what it holds in ``media.sums``."""

    def __init__(self, root: Path) -> None:
        self.places = FileSystemStorage(root / "media")
        self.sums = root / "media.sums"
        self.known = {entry["name"]: entry for entry in self._read()}

    def path(self, name: str) -> Path:
        """Raises SuspiciousFileOperation for a name that leaves the folder."""
        return Path(self.places.path(name))

    def held(self, name: str) -> Entry | None:
        """What is known of a copy that is there, whole."""
        entry = self.known.get(name)
        try:
            return entry if entry and self.path(name).stat().st_size == entry["bytes"] else None
        except FileNotFoundError:
            return None

    def take(self, storage: Storage, name: str) -> Entry:
        """Copy one file here; a copy has its name only when it is whole."""
        target = self.path(name)
        part = target.with_name(f"{target.name}.part")
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = sha256()
        try:
            with storage.open(name) as source, part.open("wb") as copy:
                for piece in source.chunks(PIECE):
                    digest.update(piece)
                    copy.write(piece)
                size = copy.tell()
                copy.flush()
                os.fsync(copy.fileno())
        except FileNotFoundError:
            part.unlink(missing_ok=True)
            return {"name": name, "missing": True}
        part.rename(target)
        return {"name": name, "bytes": size, "sha256": digest.hexdigest()}

    def note(self, entry: Entry) -> None:
        """Remember the sum of a copy, for this backup's repeat and for later ones."""
        with self.sums.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")
        self.known[entry["name"]] = entry

    def give(self, storage: Storage, entry: Entry) -> bool:
        """Store a copy unless a file of its name and size is there; whether it was stored.

        Raises:
            Unlike: the copy is not what was copied.
            BackupError: it is not here.
        """
        name = entry["name"]
        if storage.exists(name):
            if storage.size(name) == entry["bytes"]:
                return False
            storage.delete(name)  # an earlier restore was ended while it wrote this
        try:
            if digest_of(self.path(name)) != entry["sha256"]:
                raise Unlike(f"The copy of {name} is damaged.")
            with self.path(name).open("rb") as source:
                stored = storage.save(name, File(source))
        except FileNotFoundError as error:
            raise BackupError(f"The copy of {name} is missing in {self.path('')}.") from error
        if stored != name:
            storage.delete(stored)
            raise BackupError(f"{name} appeared while it was restored.")
        return True

    def keep_only(self, names: set[str]) -> int:
        """Remove copies of other files; how many there were."""
        root = self.path("")
        others = [path for path in root.rglob("*") if path.is_file() and path.relative_to(root).as_posix() not in names]
        for path in others:
            path.unlink()
        self.known = {name: entry for name, entry in self.known.items() if name in names}
        part = self.sums.with_name(f"{self.sums.name}.part")
        part.write_text("".join(json.dumps(entry) + "\n" for entry in self.known.values()), encoding="utf-8")
        part.rename(self.sums)
        return len(others)

    def _read(self) -> Iterator[Entry]:
        try:
            lines = self.sums.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue  # the last line of a backup that was killed


def digest_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
