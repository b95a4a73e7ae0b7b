"""PostgreSQL past the ORM: rows read by statements that are worded once, and locks across processes and hosts.

Django's ORM words each look-up anew, which costs more than PostgreSQL takes to answer one by key. Only for what every
request or every judgment reads; everything else asks the ORM.
"""

from collections import namedtuple
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID
from zlib import crc32

from django.db import connection
from django.db.models import ForeignKey, Model

Row = TypeVar("Row", bound=Model)
IS_LOCKED = """
SELECT EXISTS (
    SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database() AND granted
    AND classid::bigint = %s AND objid::bigint = %s AND objsubid = 2
)"""


def row_first(model: type[Row], condition: str, *params: int | UUID, related: str = "") -> Row | None:
    """Return the first row that a statement finds, None where there is none.

    Args:
        model: whose rows; none of its fields may need converting from what PostgreSQL gives, as JSON does.
        condition: what follows FROM and the table, as "WHERE id = %s FOR UPDATE"; constant, with ``params`` for values.
        related: name of a foreign key that is never null, whose row is read with it.
    """
    worded = _worded(model, condition, related)
    with connection.cursor() as cursor:
        cursor.execute(worded.statement, params)
        row = cursor.fetchone()
    if row is None:
        return None
    own = len(worded.columns)
    instance = model.from_db(connection.alias, worded.columns, row[:own])
    if worded.other is not None:
        setattr(instance, related, worded.other.from_db(connection.alias, worded.other_columns, row[own:]))
    return instance


def sql_rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return all rows of a statement of our own; what it is asked with are ``parameters``, never part of its text."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def sql_named(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    """Return all rows as ``sql_rows`` does, with the names of their columns as attributes."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = namedtuple("row", [column[0] for column in cursor.description or ()])  # type: ignore[misc]
        return list(map(row._make, cursor.fetchall()))


class _Worded(NamedTuple):
    statement: str
    columns: list[str]
    other: type[Model] | None
    other_columns: list[str]


@cache
def _worded(model: type[Model], condition: str, related: str) -> _Worded:
    table, columns, other = model._meta.db_table, _columns(model), None
    selected, join = [f"{table}.{name}" for name in columns], ""
    if related:
        key = model._meta.get_field(related)
        assert isinstance(key, ForeignKey) and not key.null, f"{model.__name__}.{related}"
        other = key.related_model
        selected += [f"{other._meta.db_table}.{name}" for name in _columns(other)]
        join = f"JOIN {other._meta.db_table} ON {other._meta.db_table}.id = {table}.{key.attname} "
    statement = f"SELECT {', '.join(selected)} FROM {table} {join}{condition}"  # noqa: S608  # nosec B608 - constants
    return _Worded(statement, columns, other, _columns(other) if other else [])


def _columns(model: type[Model]) -> list[str]:
    converted = [field.name for field in model._meta.concrete_fields if hasattr(field, "from_db_value")]
    if converted:
        raise TypeError(f"{model.__name__} has fields that need converting: {', '.join(converted)}")
    return [field.attname for field in model._meta.concrete_fields]


@contextmanager
def only_one(name: str, key: int = 0) -> Iterator[bool]:
    """Whether this process is the only one inside ``only_one(name, key)``; never waits.

    An advisory lock of PostgreSQL: it ends with the connection, so a killed process leaves none behind.
    """
    numbers = _numbers(name, key)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", numbers)
        row = cursor.fetchone()
    alone = bool(row and row[0])
    try:
        yield alone
    finally:
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", numbers)


def wait_for_turn(name: str, key: int = 0) -> None:
    """Wait until no other transaction that has called this with the same name and key is open; call it in one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", _numbers(name, key))


def is_locked(name: str, key: int = 0) -> bool:
    """Whether some process, this one too, is inside ``only_one(name, key)``."""
    with connection.cursor() as cursor:
        cursor.execute(IS_LOCKED, [number % 2**32 for number in _numbers(name, key)])
        row = cursor.fetchone()
    return bool(row and row[0])


def _numbers(name: str, key: int) -> list[int]:
    return [crc32(name.encode()) - 2**31, key % 2**31]
