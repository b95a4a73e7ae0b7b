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
    place = [crc32(name.encode()) - 2**31, key % 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", place)
        row = cursor.fetchone()
    alone = bool(row and row[0])
    try:
        yield alone
    finally:
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", place)
