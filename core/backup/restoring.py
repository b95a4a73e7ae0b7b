"""Restoring a backup, and comparing what came back with the snapshot."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from django.core.files.storage import default_storage

from core.backup import database
from core.backup.database import BackupError, Link, Occupied, Unlike
from core.backup.files import Entry, Outcome, Pool, bring_back, digest_of
from core.backup.making import ABOUT, COPIERS, DUMP, EVERY_S, FORM, Report, Running, entries_of, whole_backups
from core.compatibility import backup_check

HANDED_OUT = 1000  # files that wait for a copier: a manifest may hold millions
NEW_SCHEMA = 14  # the server from which the public schema belongs to whoever owns the database


def backup_restore(*, folder: Path, replace: bool = False, jobs: int = 0, media: bool = True, report: Report) -> Any:
    """Fill the database and the storage from a backup; says what was restored, once it is proved.

    ``folder`` is one backup, or a folder of several: then the newest whole one. ``replace`` empties a database that
    holds something. Files that are there already stay where their bytes are those of the backup.

    Raises:
        Occupied: the database holds something and ``replace`` is not set, or another process is connected.
        Unlike: rows or files differ from those of the backup.
        BackupError: the backup is not whole, or does not fit this server.
        TooOld: the backup was made before 0.1.0.
    """
    folder = _chosen(folder)
    about = _about(folder)
    report(f"{folder}: snapshot of {about['snapshot_at']}")
    begun = time.monotonic()
    with database.connected() as link:
        pg_restore = _program_for(link, about)
        _emptied(link, replace=replace)
        _database(link, pg_restore, folder, jobs, report)
        summary = _proved(link, about, report)
    summary["database_s"] = round(time.monotonic() - begun, 1)
    counts = _media(folder, about, report) if media else {}
    return {"folder": str(folder), **summary, "media": counts, "seconds": round(time.monotonic() - begun, 1)}


def _chosen(folder: Path) -> Path:
    if (folder / ABOUT).is_file():
        return folder
    whole = whole_backups(folder)
    if not whole:
        raise BackupError(f"There is no whole backup in {folder}.")
    return whole[-1]


def _about(folder: Path) -> dict[str, Any]:
    """Return the backup's own description, after comparing the dump with it."""
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORM:
            raise BackupError(f"The backup is of form {about['format']}; this restores form {FORM}.")
        if digest_of(folder / DUMP) != about["dump"]["sha256"]:
            raise Unlike(f"{folder / DUMP} is damaged.")
        backup_check(about["tables"], folder)
    except (OSError, ValueError, KeyError) as error:
        raise BackupError(f"{folder} cannot be read: {error}") from error
    return about


def _program_for(link: Link, about: dict[str, Any]) -> Path:
    here = link.info.server_version // 10_000
    if here < about["server"]:
        raise BackupError(f"The backup is of PostgreSQL {about['server']}; this server is {here}, which is older.")
    return database.program("pg_restore", server=here, least=about["pg_dump"])


def _emptied(link: Link, *, replace: bool) -> None:
    others = _number(link, OTHERS)
    if others:
        raise Occupied(f"{others} other connections use this database: stop the site first. Nothing was changed.")
    n_relations = _number(link, RELATIONS)
    if n_relations and not replace:
        raise Occupied(
            f"The database is not empty ({n_relations} tables, indexes and sequences)."
            " --yes (of make: YES=1) replaces it. Nothing was changed."
        )
    if n_relations:
        with link.transaction():
            link.execute("DROP SCHEMA public CASCADE")
            owner = " AUTHORIZATION pg_database_owner" if link.info.server_version // 10_000 > NEW_SCHEMA else ""
            link.execute(f"CREATE SCHEMA public{owner}")
            link.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")


def _database(link: Link, pg_restore: Path, folder: Path, jobs: int, report: Report) -> None:
    count = jobs or min(4, os.cpu_count() or 1)
    report(f"pg_restore {database.major_of(pg_restore)}, {count} jobs")
    words = ["--no-owner", "--no-acl", "--exit-on-error", f"--jobs={count}"]
    name = link.info.dbname
    with Running([str(pg_restore), *words, f"--dbname={name}", str(folder / DUMP)]) as restoring:
        restoring.wait(lambda: report(f"pg_restore: {_number(link, SIZE) / 1e6:,.0f} MB in the database"))
    report("Statistics for the planner ...")
    link.execute("ANALYZE")


def _proved(link: Link, about: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compare rows and digests of every table with those of the snapshot."""
    report("Comparing every table with the snapshot ...")
    expected_contents = {name: database.Content(*values) for name, values in about["tables"].items()}
    if differ := database.differences(expected_contents, database.contents(link)):
        raise Unlike("What was restored differs from the backup:\n" + "\n".join(differ))
    rows = sum(one.rows for one in expected_contents.values())
    report(f"{len(expected_contents)} tables, {rows:,} rows: equal")
    return {"tables": len(expected_contents), "rows": rows}


def _media(folder: Path, about: dict[str, Any], report: Report) -> dict[str, int]:
    """Bring every file of the manifest back, where it is not there or is another."""
    counts = {"files": 0, "equal": 0, "stored": 0, "replaced": 0, "missing": 0}
    reported_at = time.monotonic()
    for outcome in _restored(folder, about["media"]["bucket"]):
        counts[outcome] += 1
        counts["files"] += outcome != "missing"
        if time.monotonic() - reported_at >= EVERY_S:
            reported_at = time.monotonic()
            report(f"Files: {counts['files']:,} of {about['media']['files']:,}")
    if counts["files"] != about["media"]["files"]:
        raise Unlike(f"The manifest holds {counts['files']:,} files instead of {about['media']['files']:,}.")
    report(
        f"Files: {counts['files']:,}, of which {counts['stored']:,} were not there"
        f" and {counts['replaced']:,} differed and were replaced"
    )
    return counts


def _restored(folder: Path, bucket: str) -> Iterator[Outcome | Literal["missing"]]:
    """Restore files and yield their outcomes, in order: several are compared and copied at a time."""
    pool = Pool(folder.parent)

    def restore(entry: Entry) -> Outcome | Literal["missing"]:
        if "missing" in entry:
            return "missing"
        if "version" in entry:
            return bring_back(default_storage, entry, bucket=bucket)
        return pool.give(default_storage, entry)

    workers, entries = ThreadPoolExecutor(COPIERS), entries_of(folder)
    try:
        while some := list(islice(entries, HANDED_OUT)):
            yield from workers.map(restore, some)
    finally:
        workers.shutdown(cancel_futures=True)


def _number(link: Link, query: str) -> int:
    row = link.execute(query).fetchone()
    return int(row[0]) if row else 0


OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
RELATIONS = """
SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'public'"""
SIZE = "SELECT pg_database_size(current_database())"
