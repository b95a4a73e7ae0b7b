"""Tasks of accounts: those of the services, and what is deleted every hour."""

from celery import shared_task
from django.utils import timezone

from accounts.models import BrowserSession, CacheEntry
from accounts.services import identities

__all__ = ["identities"]  # its tasks are registered where they are written


@shared_task
def sessions_sweep() -> None:
    """Delete sessions that have ended, and tries that no limit looks at any more."""
    BrowserSession.objects.filter(expire_date__lt=timezone.now()).delete()
    CacheEntry.objects.filter(expires__lt=timezone.now()).delete()
