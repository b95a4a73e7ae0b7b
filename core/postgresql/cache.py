"""Django's cache in PostgreSQL: shared by all processes and hosts, kept over restarts, and exact where many write."""

import json
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import connection


class SharedCache(BaseCache):
    """A table of JSON values, by the database's clock.

    Django's own adds by looking first and writing then, so that two may add the same key; it takes a database that is
    unavailable for a key that is there; it deletes keys at random once there are many, with them tries that were
    counted; and it stores pickles. What has run out is deleted every hour (accounts.tasks).
    """

    def __init__(self, table: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.table = table

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        where = "WHERE cache_key = %s AND expires > statement_timestamp()"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT value FROM {self.table} {where}",  # noqa: S608  # nosec B608 - constants
                [self.make_key(key, version)],
            )
            row = cursor.fetchone()
        return default if row is None else json.loads(row[0])

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._store("", key, value, timeout, version)

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Store the value where there is none that is still good; whether it was stored."""
        return self._store(f"WHERE {self.table}.expires <= statement_timestamp()", key, value, timeout, version)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Add to a number, whoever else does; ValueError where there is none."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {self.table} SET value = (value::bigint + %s)::text"  # noqa: S608  # nosec B608 - constants
                " WHERE cache_key = %s AND expires > statement_timestamp() RETURNING value::bigint",
                [delta, self.make_key(key, version)],
            )
            row = cursor.fetchone()
        if row is None:
            raise ValueError(f"There is no {key!r}.")
        return int(row[0])

    def delete(self, key: str, version: int | None = None) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {self.table} WHERE cache_key = %s",  # noqa: S608  # nosec B608 - constants
                [self.make_key(key, version)],
            )
            return bool(cursor.rowcount)

    def _store(self, where: str, key: str, value: Any, timeout: Any, version: int | None) -> bool:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self.table} (cache_key, value, expires)"  # noqa: S608  # nosec B608 - constants
                " VALUES (%s, %s, statement_timestamp() + %s * interval '1 second') ON CONFLICT (cache_key) DO UPDATE"
                f" SET value = EXCLUDED.value, expires = EXCLUDED.expires {where}",
                [self.make_key(key, version), json.dumps(value), seconds],
            )
            return bool(cursor.rowcount)
