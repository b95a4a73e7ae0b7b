"""Locks for work that must not run twice at the same time, across processes and hosts."""

from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from django.db import connection


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


def is_held(name: str) -> bool:
    """Whether some process, this one too, is inside ``only_one(name)``."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, [number % 2**32 for number in _numbers(name, 0)])
        row = cursor.fetchone()
    return bool(row and row[0])


def _numbers(name: str, key: int) -> list[int]:
    return [crc32(name.encode()) - 2**31, key % 2**31]


HELD = """
SELECT EXISTS (
    SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database() AND granted
    AND classid::bigint = %s AND objid::bigint = %s AND objsubid = 2
)"""
