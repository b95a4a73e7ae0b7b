"""The scheduler of what beat sends; and modules whose services are tasks or are called by one: workers import them."""

import copy
from datetime import datetime, timedelta
from typing import Any

import psycopg
from celery.beat import PersistentScheduler, ScheduleEntry
from django.db import DatabaseError, connection

from core import clock, jobs, media_files

__all__ = ["SteadyScheduler", "jobs", "media_files"]
SLACK = timedelta(seconds=1)


class SteadyScheduler(PersistentScheduler):
    """Celery's waits until its clock shows the time at which something is due; set back by an hour, it would send
    nothing for that hour. What was last sent in the future was sent now. And what a message expires at is a time of
    the database's clock: by one that is late, every message would be over before it came."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        for entry in self.schedule.values():
            if entry.last_run_at and entry.last_run_at > entry.default_now() + SLACK:
                entry.last_run_at = entry.default_now()
                self._heap = None  # it is in the order of the old clock
        delay: float = super().tick(*args, **kwargs)
        return delay

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        options = entry.options or {}
        if isinstance(seconds := options.get("expires"), int | float):
            entry = copy.copy(entry)
            entry.options = {**options, "expires": _in(seconds)}
        return super().apply_async(entry, *args, **kwargs)


def _in(seconds: float) -> datetime | None:
    """So many seconds from now; None, that is never, while the database cannot be asked."""
    try:
        return clock.now() + timedelta(seconds=seconds)
    except (DatabaseError, psycopg.Error):
        return None
    finally:
        connection.close()  # asked once a minute
