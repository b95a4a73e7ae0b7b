"""Beat's schedule, for clocks that are set back."""

from datetime import timedelta

from celery.beat import PersistentScheduler, ScheduleEntry

SLACK = timedelta(seconds=1)


class SteadyScheduler(PersistentScheduler):
    """Celery's waits until its clock shows the time at which something is due; set back by an hour, it would send
    nothing for that hour. What was last sent in the future was sent now."""

    def tick(self, *args: object, **kwargs: object) -> float:
        if any(self._ahead(entry) for entry in self.schedule.values()):
            for entry in self.schedule.values():
                entry.last_run_at = min(entry.last_run_at, entry.default_now())
            self._heap = None  # it is in the order of the old clock
        delay: float = super().tick(*args, **kwargs)
        return delay

    def _ahead(self, entry: ScheduleEntry) -> bool:
        return bool(entry.last_run_at > entry.default_now() + SLACK)
