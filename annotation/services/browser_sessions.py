"""Where somebody is logged in, and how to end it."""

import re
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from annotation.models import BrowserSession, User
from annotation.services.audit import audit_record

BROWSERS = [  # the first that fits: the others say that they are Safari, too
    *[("Edge", "Edg"), ("Opera", "OPR/"), ("Firefox", "Firefox|FxiOS"), ("Chrome", "Chrome|CriOS")],
    ("Safari", "Safari"),
]
SYSTEMS = [
    *[("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")],
    *[("macOS", "Mac OS"), ("ChromeOS", "CrOS"), ("Linux", "Linux")],
]


def rough_client(user_agent: str) -> str:
    """A browser as people know theirs: no version, nothing that tells two of one kind apart."""
    browser = next((name for name, pattern in BROWSERS if re.search(pattern, user_agent)), "")
    system = next((name for name, pattern in SYSTEMS if re.search(pattern, user_agent)), "")
    return f"{browser or 'A browser'} on {system}" if system else browser or "A program or an unknown browser"


def sessions_of(user: User) -> list[BrowserSession]:
    """Those that still open something, the one used last first."""
    return list(user.browser_sessions.filter(expire_date__gt=timezone.now()))


@transaction.atomic
def session_end(*, user: User, uuid: UUID) -> bool:
    """Log the person out there; False when they have no such session."""
    ended, _ = user.browser_sessions.filter(uuid=uuid).delete()
    if ended:
        audit_record(project=None, actor=user, action="session.end", subject=user.uuid, sessions=ended)
    return bool(ended)


@transaction.atomic
def sessions_end(*, user: User, actor: User | None, but: str | None = None) -> int:
    """Log the person out everywhere, but for the session with the key ``but``."""
    ended, _ = user.browser_sessions.exclude(session_key=but or "").delete()
    if ended:
        audit_record(project=None, actor=actor, action="session.end", subject=user.uuid, sessions=ended)
    return ended


def sessions_sweep() -> int:
    """Delete what has ended by itself."""
    return BrowserSession.objects.filter(expire_date__lt=timezone.now()).delete()[0]
