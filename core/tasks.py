"""Tasks of no concept: the sweep of all durable work, and housekeeping."""

from celery import shared_task

from core import clock, jobs, media_files


@shared_task
def sweep() -> None:
    """Send again all work whose message or worker was lost."""
    jobs.sweep_all(now=clock.now())


@jobs.swept
def files_sweep(now: object) -> None:
    """Remove stored files that nobody needs: a backup ran, or the storage did not answer."""
    media_files.left_files_sweep()
