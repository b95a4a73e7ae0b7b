"""Beat's schedule, for clocks that are set back."""

from datetime import datetime, timedelta
from typing import Any

import psycopg
from celery.beat import PersistentScheduler, ScheduleEntry
from django.db import DatabaseError, connection
from django.utils import timezone

from annotation.clock import now

SHARE = 0.9  # of the time until the next one, after which a planned message has expired
SLACK = timedelta(seconds=1)


class SteadyScheduler(PersistentScheduler):
    """Celery's waits until its clock shows the time at which something is due; set back by an hour, it would send
    nothing for that hour. What was last sent in the future was sent now."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if any(self._ahead(entry) for entry in self.schedule.values()):
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now() if self._ahead(entry) else entry.last_run_at
            self._heap = None  # it is in the order of the old clock
        delay: float = super().tick(*args, **kwargs)
        return delay

    def _ahead(self, entry: ScheduleEntry) -> bool:
        return entry.last_run_at is not None and entry.last_run_at > entry.default_now() + SLACK

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        """A message expires by the database's clock: a beat that is behind would send none that any worker takes."""
        entry.options["expires"] = _now() + SHARE * entry.schedule.run_every
        return super().apply_async(entry, *args, **kwargs)


def _now() -> datetime:
    try:
        return now()
    except (DatabaseError, psycopg.Error):
        connection.close()  # it is asked anew at the next message
        return timezone.now()
