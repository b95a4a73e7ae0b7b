"""Making a backup while people judge: snapshot first, then the files that its rows name."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from django.core.files.storage import FileSystemStorage, default_storage

from core.backup.database import BackupError, contents, environment, files_named, major_of, program, snapshot
from core.backup.files import Entry, Pool, bucket_of, digest_of, keeps_versions, versions_of
from core.media_files import BACKUP
from core.sql import is_locked, only_one

FORM = 1  # of the folder
DUMP, MEDIA, ABOUT = "database.dump", "media.jsonl", "backup.json"
EVERY_S = 5.0
COPIERS = 4
Report = Callable[[str], None]


def backup_make(*, root: Path, media: str = "", keep: int = 0, report: Report) -> dict[str, Any]:
    """Add a backup to the folder ``root``; says what it holds.

    Rows are of one instant. Nothing that they name is removed before it is copied, and stored files never change, so
    both fit together. ``media``: copy, list (versions in a bucket) or none; by default what the storage allows.
    ``keep`` (0: all) is how many backups stay in the folder, this one among them.

    Raises:
        BackupError: it could not be made; a repeat copies only files that are not copied yet.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with only_one(BACKUP) as alone:
        if not alone:
            raise BackupError("Another backup is running.")
        method = media or ("list" if keeps_versions(default_storage) else "copy")
        begun = datetime.now(UTC)
        for killed in root.glob("*.part"):
            shutil.rmtree(killed)
        folder = root / f"{begun:%Y%m%d-%H%M%S-%f}.part"
        folder.mkdir(mode=0o700)
        about: dict[str, Any] = {"format": FORM, "begun_at": begun.isoformat()}
        names = _database(folder, about, report)
        about["media"] = _media(root, folder, names, method, report)
        if not is_locked(BACKUP):
            raise BackupError("The database was restarted meanwhile. Run it again; copied files stay.")
        about["ended_at"] = datetime.now(UTC).isoformat()
        (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        final_folder = folder.rename(folder.with_suffix(""))
        if keep:
            _older_removed(root, keep, report)
    return {"folder": str(final_folder), **about}


def _database(folder: Path, about: dict[str, Any], report: Report) -> list[str]:
    """Dump the database, and say what its tables hold at that instant; the files that are named there."""
    with snapshot() as instant:
        pg_dump = program("pg_dump", server=instant.server)
        about |= {"snapshot_at": instant.taken_at.isoformat(), "server": instant.server, "pg_dump": major_of(pg_dump)}
        time_text = f"{instant.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        report(f"Snapshot of {time_text}; pg_dump {about['pg_dump']} writes {folder / DUMP}")
        options = ["--format=custom", "--compress=3", "--no-owner", "--no-acl", "--lock-wait-timeout=60000"]
        target = [f"--snapshot={instant.name}", f"--file={folder / DUMP}"]
        with Running([str(pg_dump), *options, *target]) as dumping:
            table_contents = contents(instant.link)
            names = files_named(instant.link)
            report(
                f"{len(table_contents)} tables, {sum(one.rows for one in table_contents.values()):,} rows, "
                f"{len(names):,} stored files"
            )
            dumping.wait(lambda: report(f"pg_dump: {_mb(folder / DUMP)} written"))
    about["tables"] = {name: list(one) for name, one in table_contents.items()}
    about["dump"] = {"bytes": (folder / DUMP).stat().st_size, "sha256": digest_of(folder / DUMP)}
    report(f"Database done: {_mb(folder / DUMP)}")
    return names


def _media(root: Path, folder: Path, names: list[str], method: str, report: Report) -> dict[str, Any]:
    """Write the manifest of the files; counts."""
    if method == "list" and not keeps_versions(default_storage):
        raise BackupError("Files can be listed only in a bucket that keeps versions.")
    methods: dict[str, Callable[[], Iterable[Entry]]] = {
        "copy": lambda: _copied(Pool(root), names),
        "list": lambda: versions_of(default_storage, names),
        "none": lambda: [],
    }
    counts = {"files": 0, "bytes": 0, "missing": 0}
    reported_at = time.monotonic()
    with (folder / MEDIA).open("w", encoding="utf-8") as lines:
        for entry in methods[method]():
            lines.write(json.dumps(entry) + "\n")
            counts["missing" if "missing" in entry else "files"] += 1
            counts["bytes"] += entry.get("bytes", 0)
            if time.monotonic() - reported_at >= EVERY_S:
                reported_at = time.monotonic()
                report(f"Files: {counts['files']:,} of {len(names):,}, {counts['bytes'] / 1e6:,.0f} MB")
    report(
        f"Files done: {counts['files']:,} ({method}), {counts['bytes'] / 1e6:,.0f} MB, {counts['missing']:,} not there"
    )
    return {"way": method, "bucket": bucket_of(default_storage), **counts}


def _copied(pool: Pool, names: list[str]) -> Iterator[Entry]:
    """Copy files and yield their entries, in order; what an earlier backup has copied is not copied again."""
    new = [name for name in names if not pool.entry_of(name)]
    _room_checked(pool, new)
    workers = ThreadPoolExecutor(COPIERS)
    try:
        entries = workers.map(lambda name: pool.entry_of(name) or pool.take(default_storage, name), names)
        for entry in entries:
            if "missing" not in entry and pool.entries.get(entry["name"]) != entry:
                pool.note(entry)
            yield entry
    finally:
        workers.shutdown(cancel_futures=True)


def whole_backups(root: Path) -> list[Path]:
    """The backups of a folder that were finished, the newest last."""
    return sorted(path.parent for path in root.glob(f"*/{ABOUT}") if path.parent.suffix != ".part")


def entries_of(folder: Path) -> Iterator[Entry]:
    with (folder / MEDIA).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _older_removed(root: Path, keep: int, report: Report) -> None:
    """Remove all but the newest backups, and the copies that none of those names."""
    whole = whole_backups(root)
    for old in whole[:-keep]:
        shutil.rmtree(old)
    names = {entry["name"] for folder in whole[-keep:] for entry in entries_of(folder)}
    removed = Pool(root).keep_only(names)
    report(f"{len(whole[:-keep])} older backups and {removed:,} copies that only they named are removed")


def _room_checked(pool: Pool, names: list[str]) -> None:
    """Say at once that a disk is too small, where sizes cost nothing to ask."""
    if not isinstance(default_storage, FileSystemStorage):
        return
    needed = sum(default_storage.size(name) for name in names if default_storage.exists(name))
    free = shutil.disk_usage(pool.sums.parent).free
    if needed > free:
        raise BackupError(f"The files take {needed / 1e9:,.1f} GB more, and {free / 1e9:,.1f} GB are free.")


class Running:
    """A program of PostgreSQL at work; it ends with its block."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.output = TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.output, env=environment()
        )

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def wait(self, on_wait: Callable[[], None]) -> None:
        """Raises BackupError with its last words when it fails."""
        while True:
            try:
                code = self.process.wait(EVERY_S)
                break
            except subprocess.TimeoutExpired:
                on_wait()
        if code:
            self.output.seek(0)
            words = "\n".join(self.output.read().strip().splitlines()[-8:])
            raise BackupError(f"{Path(self.command[0]).name} failed ({code}):\n{words}")


def _mb(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.0f} MB" if path.exists() else "nothing"
