"""What names people is deleted when it was kept as long as settings say; a repeat finds nothing."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Exists, Max, OuterRef, QuerySet

from annotation.models import BrowserSession, Identity, Membership, User
from judging.exceptions import NotPossibleNow
from judging.models import Invitation
from judging.services.standings import person_forget

MONTH = timedelta(days=30)
DAY = timedelta(days=1)
REASON = "Kept as long as RETENTION_IDENTITY_MONTHS says after they left."
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Due:
    """What is to be deleted now; where a setting is 0, nothing is."""

    logs: Sequence[Path]
    sessions: "QuerySet[BrowserSession]"
    attempts: "QuerySet[AccessAttempt]"
    invited: "QuerySet[Identity]"
    left: "QuerySet[User]"

    def counts(self) -> dict[str, int]:
        rows = {"sessions": self.sessions, "attempts": self.attempts, "invited": self.invited, "left": self.left}
        return {"logs": len(self.logs)} | {name: found.count() for name, found in rows.items()}


def retention_due(*, now: datetime) -> Due:
    return Due(
        logs=logs_due(now),
        sessions=_before(BrowserSession.objects.all(), "used_at", now, settings.RETENTION_SESSION_DAYS),
        attempts=_before(AccessAttempt.objects.all(), "attempt_time", now, settings.RETENTION_LOGIN_DAYS),
        invited=invited_due(now),
        left=left_due(now),
    )


def retention_apply(*, now: datetime) -> dict[str, int]:
    """Delete it; how much of each kind it was. One that cannot be deleted keeps the others from nothing."""
    due = retention_due(now=now)
    done = dict.fromkeys(("logs", "sessions", "attempts", "invited", "left"), 0)
    for path in due.logs:
        path.unlink(missing_ok=True)
        done["logs"] += 1
    done["sessions"] = due.sessions.delete()[1].get(BrowserSession._meta.label, 0)
    done["attempts"] = due.attempts.delete()[1].get(AccessAttempt._meta.label, 0)
    done["invited"] = Identity.objects.filter(pk__in=list(due.invited.values_list("pk", flat=True))).delete()[0]
    for person in due.left:
        try:
            person_forget(user=person, actor=None, reason=REASON)
        except NotPossibleNow as refused:  # a lead is never among them, but a race may make one
            logger.warning("account %s is kept: %s", person.pk, refused)
        else:
            done["left"] += 1
    if any(done.values()):
        logger.info("retention: %s", ", ".join(f"{n} {name}" for name, n in done.items() if n))
    return done


def logs_due(now: datetime) -> list[Path]:
    """Logs of `make run` that were set aside; what is written to the standard error is whoever keeps it to drop."""
    days = settings.RETENTION_LOG_DAYS
    if not days:
        return []
    old = _ago(now, days * DAY).timestamp()
    return sorted(path for path in (settings.MOMENTJUDGE_VAR / "log").glob("*.log.*") if path.stat().st_mtime < old)


def invited_due(now: datetime) -> "QuerySet[Identity]":
    """E-mail addresses of people who never came, once none of their invitations has been open for so long."""
    days = settings.RETENTION_INVITATION_DAYS
    if not days:
        return Identity.objects.none()
    kept_from = _ago(now, days * DAY)
    waiting = Invitation.objects.filter(identity=OuterRef("pk"), expires_at__gt=kept_from)
    revoked = Invitation.objects.filter(identity=OuterRef("pk"), revoked_at__gt=kept_from)
    return Identity.objects.filter(user=None).exclude(Exists(waiting.filter(revoked_at=None))).exclude(Exists(revoked))


def left_due(now: datetime) -> "QuerySet[User]":
    """Annotators who have left every project of theirs, the last of them so long ago."""
    months = settings.RETENTION_IDENTITY_MONTHS
    if not months:
        return User.objects.none()
    staying = Membership.objects.filter(user=OuterRef("pk")).exclude(standing=Membership.Standing.LEFT)
    people = User.objects.filter(is_active=True, is_simulated=False, memberships__isnull=False)
    last = people.annotate(left_at=Max("memberships__standing_changes__created_at"))
    return last.exclude(Exists(staying)).filter(left_at__lte=_ago(now, months * MONTH)).order_by("pk")


def _before(rows: "QuerySet", field: str, now: datetime, days: int) -> "QuerySet":  # type: ignore[type-arg]
    return rows.filter(**{f"{field}__lt": _ago(now, days * DAY)}) if days else rows.none()


def _ago(now: datetime, kept: timedelta) -> datetime:
    if kept < timedelta():
        raise ValueError("Nothing is deleted: what is kept for less than no time lies ahead.")
    return now - kept
