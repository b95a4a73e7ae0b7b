"""What a database holds, in numbers: rows and a digest of each table, and the files that rows name."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from django.apps import apps
from django.db.models import FileField
from psycopg import sql

from core.backup.programs import connected

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
    """Of every table."""
    return {name: _content(link, name) for name in tables(link)}


def tables(link: Link) -> list[str]:
    return [name for (name,) in link.execute(TABLES).fetchall()]


def files_named(link: Link) -> list[str]:
    """Every stored file that a row names, each once, in no telling order."""
    there = set(tables(link))
    found: set[str] = set()
    for model in apps.get_models():
        columns = [str(field.column) for field in model._meta.concrete_fields if isinstance(field, FileField)]
        for column in columns if model._meta.db_table in there else []:
            asked = sql.SQL("SELECT DISTINCT {0} FROM {1} WHERE {0} <> ''")
            query = asked.format(sql.Identifier(column), sql.Identifier(model._meta.db_table))
            found.update(name for (name,) in link.execute(query))
    return sorted(found)


def differences(wanted: dict[str, Content], found: dict[str, Content]) -> list[str]:
    """What differs, a line for each table."""
    said = []
    for name in sorted(wanted.keys() | found.keys()):
        before, after = wanted.get(name), found.get(name)
        if before is None or after is None:
            said.append(f"{name}: {'only here' if before is None else 'missing'}")
        elif before.rows != after.rows:
            said.append(f"{name}: {after.rows:,} rows instead of {before.rows:,}")
        elif before.digest != after.digest:
            said.append(f"{name}: other content in its {after.rows:,} rows")
    return said


def _content(link: Link, table: str) -> Content:
    rows, total = _one(link, sql.SQL(DIGEST).format(sql.Identifier(table)))
    return Content(rows, f"{int(total) % 2**64:016x}")


def _one(link: Link, query: Any) -> tuple[Any, ...]:
    row = link.execute(query).fetchone()
    assert row is not None
    return tuple(row)


TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'public' AND relkind = 'r' ORDER BY relname"""
DIGEST = "SELECT count(*), coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) FROM {} AS t"
