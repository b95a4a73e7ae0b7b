"""The time by the database: the clocks of hosts differ, and jump.

Leases, and whatever else one host writes and another compares with its own time, go by this one. The database is asked
once a minute; in between passes what the host's steady clock counts, which is never set.
"""

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple

from django.db import connection

CACHE_S = 60.0


class Reading(NamedTuple):
    time: datetime
    at: float  # of the steady clock

    def now(self) -> datetime:
        return self.time + timedelta(seconds=monotonic() - self.at)


_last: Reading | None = None


def now() -> datetime:
    """The database's time."""
    global _last  # noqa: PLW0603
    last = _last
    if last is None or monotonic() - last.at > CACHE_S:
        last = _last = _read()
    return last.now()


def _read() -> Reading:
    """Past Django's cursor: it belongs to no work at hand, and is no statement of it."""
    at = monotonic()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        row = connection.connection.execute("SELECT clock_timestamp()").fetchone()
    return Reading(row[0].astimezone(UTC), at)
