"""Tasks of accounts: those of the services, and what is deleted every hour."""

from celery import shared_task

from accounts import sessions
from accounts.services import identities, throttles

__all__ = ["identities"]  # its tasks are registered where they are written


@shared_task
def sessions_sweep() -> None:
    """Delete sessions that have ended, and tries that no limit looks at any more."""
    sessions.sessions_sweep()
    throttles.throttles_sweep()
