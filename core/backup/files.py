"""Stored files beside the backups: copies in one folder, as they never change, or versions that the bucket keeps."""

import json
import os
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage

from core.backup.database import BackupError, Unlike
from core.files import checksum

PIECE = 1 << 20
Entry = dict[str, Any]  # name, bytes, sha256; or name, missing
Outcome = Literal["equal", "stored", "replaced"]  # of a restored file: its bytes, none or others were there


class Pool:
    """The folder ``media`` of a folder of backups, and the sums of what it holds in ``media.sums``."""

    def __init__(self, root: Path) -> None:
        self.storage = FileSystemStorage(root / "media")
        self.sums = root / "media.sums"
        self.entries = {entry["name"]: entry for entry in self._read()}

    def path(self, name: str) -> Path:
        """Raises SuspiciousFileOperation for a name that leaves the folder."""
        return Path(self.storage.path(name))

    def entry_of(self, name: str) -> Entry | None:
        """Return the entry of a copy that is there, whole."""
        entry = self.entries.get(name)
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
        self.entries[entry["name"]] = entry

    def give(self, storage: Storage, entry: Entry) -> Outcome:
        """Store a copy unless the same bytes are there under its name.

        Raises:
            Unlike: the copy is not what was copied.
            BackupError: it is not here.
        """
        name = entry["name"]
        if _is_in_storage(storage, entry):
            return "equal"
        was_there = storage.exists(name)
        try:
            if digest_of(self.path(name)) != entry["sha256"]:
                raise Unlike(f"The copy of {name} is damaged.")
            with self.path(name).open("rb") as copy:
                _store(storage, name, File(copy))
        except FileNotFoundError as error:
            raise BackupError(f"The copy of {name} is missing in {self.path('')}.") from error
        return "replaced" if was_there else "stored"

    def keep_only(self, names: set[str]) -> int:
        """Remove copies of other files; how many there were."""
        root = self.path("")
        others = [path for path in root.rglob("*") if path.is_file() and path.relative_to(root).as_posix() not in names]
        for path in others:
            path.unlink()
        self.entries = {name: entry for name, entry in self.entries.items() if name in names}
        part = self.sums.with_name(f"{self.sums.name}.part")
        part.write_text("".join(json.dumps(entry) + "\n" for entry in self.entries.values()), encoding="utf-8")
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
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_in_storage(storage: Storage, entry: Entry) -> bool:
    """Whether the entry's bytes are there, all of which are read where their number is right."""
    try:
        if storage.size(entry["name"]) != entry["bytes"]:
            return False
        with storage.open(entry["name"]) as file:
            return bool(checksum(file) == entry["sha256"])
    except FileNotFoundError:
        return False


def _store(storage: Storage, name: str, content: "File[bytes]") -> None:
    """Put it in the place of what is there, if anything is: at every instant the one or the other is there, whole."""
    if not isinstance(storage, FileSystemStorage):
        storage.save(name, content)  # a bucket replaces at once
        return
    part = f"{name}.part"
    storage.delete(part)  # of an earlier restore that was killed
    os.replace(storage.path(storage.save(part, content)), storage.path(name))


def keeps_versions(storage: Storage) -> bool:
    """Whether it is a bucket that keeps what is deleted."""
    client = _client(storage)
    return bool(client) and client.get_bucket_versioning(Bucket=bucket_of(storage)).get("Status") == "Enabled"


def bucket_of(storage: Storage) -> str:
    return str(getattr(storage, "bucket_name", ""))


def versions_of(storage: Storage, names: Iterable[str]) -> Iterator[Entry]:
    """The current version of each, by one listing of the bucket."""
    missing_names = set(names)
    for page in _client(storage).get_paginator("list_object_versions").paginate(Bucket=bucket_of(storage)):
        for one in page.get("Versions", []):
            if one["IsLatest"] and one["Key"] in missing_names:
                missing_names.remove(one["Key"])
                yield {"name": one["Key"], "bytes": one["Size"], "etag": one["ETag"], "version": one["VersionId"]}
    yield from ({"name": name, "missing": True} for name in sorted(missing_names))


def bring_back(storage: Storage, entry: Entry, *, bucket: str) -> Outcome:
    """Make the listed version of ``bucket`` the current one here, unless the same bytes are, by their ETag."""
    current = _etag(storage, entry["name"])
    if current == entry["etag"]:
        return "equal"
    source = {"Bucket": bucket, "Key": entry["name"], "VersionId": entry["version"]}
    _client(storage).copy(source, bucket_of(storage), entry["name"])
    return "replaced" if current else "stored"


def _etag(storage: Storage, name: str) -> str:
    from botocore.exceptions import ClientError  # only where there is a bucket

    try:
        return str(_client(storage).head_object(Bucket=bucket_of(storage), Key=name)["ETag"])
    except ClientError:
        return ""


def _client(storage: Any) -> Any:
    return storage.connection.meta.client if hasattr(storage, "signed_url") else None
