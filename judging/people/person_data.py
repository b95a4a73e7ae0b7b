"""Stored data of a person, as a zip file for themselves or in full for who runs the site; and how long it is stored.

For themselves there is nothing that an annotator must not know while they judge: which pairs are gold, what is true,
what others gave. The full file is found by walking every table for references to the account, so that a new table is
in it without being named here.
"""

import io
import json
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import BrowserSession, Identity, Membership, User
from accounts.services.members import invited_forget
from core import clock
from core.audit import audit_record
from core.jobs import durable
from core.lists import csv_text
from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Invitation
from judging.people.services import person_forget

PASSKEY_NAME = "data__name"
OWN: dict[str, tuple[str, Sequence[str]]] = {  # table: how it names the person, and its columns
    "accounts.Membership": ("user", ["project__name", "roles", "number", "status", "created_at"]),
    "accounts.BrowserSession": ("user", ["client", "began_at", "used_at"]),
    "accounts.AccessToken": ("user", ["name", "scopes", "created_at", "expires_at", "used_at"]),
    "mfa.Authenticator": ("user", ["type", PASSKEY_NAME, "created_at", "last_used_at"]),
    "socialaccount.SocialAccount": ("user", ["provider", "date_joined", "last_login"]),
    "judging.OwnGrade": ("annotator", ["pair__uuid", "grade", "comment", "created_at"]),  # gold among others
    "judging.Flag": ("annotator", ["pair__uuid", "reason", "comment", "created_at", "withdrawn_at"]),
    "judging.Assignment": ("annotator", ["uuid", "state", "created_at", "ended_at"]),
    "judging.GuidelineConfirmation": ("annotator", ["guideline__version", "created_at"]),
    "judging.ScreeningAttempt": ("annotator", ["project__name", "answers", "score", "created_at", "answered_at"]),
    "judging.ExamAttempt": ("annotator", ["project__name", "purpose", "state", "passed", "created_at", "ended_at"]),
    "judging.ExamGrade": ("annotator", ["known_pair__uuid", "try_number", "grade", "created_at"]),
    "judging.ClipAssignment": ("writer", ["uuid", "state", "draft_text", "created_at", "ended_at"]),
    "judging.WrittenQuery": ("writer", ["uuid", "text", "type", "start_s", "end_s", "active_ms", "created_at"]),
    "judging.WritingRoundMember": ("writer", ["round__name"]),
    "judging.WriterStop": ("writer", ["project__name", "reason", "created_at", "ended_at"]),
    "judging.QueryCheck": (
        "checker",
        ["query__uuid", "decision", "reason", "note", "start_s", "end_s", "active_ms", "created_at"],
    ),
    "judging.VerificationAssignment": ("verifier", ["uuid", "pair__uuid", "created_at", "answered_at", "undone_at"]),
    "judging.VerificationInspection": ("checker", ["pair__uuid", "decision", "reason", "note", "decided_at"]),
    "judging.PayRate": ("annotator", ["project__name", "rate", "currency", "from_day"]),
    "judging.HoursCorrection": ("annotator", ["project__name", "day", "seconds", "reason"]),
}
INDIRECT = {
    "accounts.StatusChange": "membership__user",
    "judging.JudgmentChange": "judgment__annotator",
    "judging.VerificationAnswer": "assignment__verifier",
    "account.EmailConfirmation": "email_address__user",
    "socialaccount.SocialToken": "account__user",
}
OF_LIBRARIES = ["account", "mfa", "socialaccount"]  # django-allauth's
SECRET = {
    "password",
    "digest",
    "session_key",
    "session_data",
    "key",
    "token",
    "token_secret",
    "uid",
}  # columns: they open something
ELSEWHERE = {"accounts.Identity", "accounts.User", "judging.OwnGrade"}  # in person.json; a view of others
README = """What MomentJudge stores of you, as of {now}.

person.json holds who you are. Each table is a CSV file: the first line names its columns, times are UTC.
A query or a clip is named by a random UUID. {scope}
"""
OWN_SCOPE = "What your grades are compared with is not in it; ask a lead of your project."
FULL_SCOPE = "Every row that refers to the account is in it; a file is named after its table and how that names it."
Table = tuple[str, Sequence[str], "QuerySet[Any]"]  # its name, its columns, its rows


def register_own(label: str, names_them: str, columns: Sequence[str]) -> None:
    """Add a table of another app to what people get of themselves: how it names the person, and its columns."""
    OWN[label] = (names_them, columns)


@transaction.atomic
def person_data(*, user: User, actor: User | None, own: bool) -> bytes:
    """The zip file; that it was made, and by whom, is in the audit."""
    audit_record(project=None, actor=actor, action="identity.export", subject=user.uuid, own=own)
    packed = io.BytesIO()
    now = timezone.now()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        scope = OWN_SCOPE if own else FULL_SCOPE
        archive.writestr("README.txt", README.format(now=f"{now:%Y-%m-%d %H:%M} UTC", scope=scope))
        archive.writestr("person.json", json.dumps(who(user), indent=2, ensure_ascii=False, cls=DjangoJSONEncoder))
        for name, columns, rows in own_tables(user) if own else all_tables(user):
            if rows.exists():
                archive.writestr(f"{name}.csv", table_text(columns, rows))
    return packed.getvalue()


def who(user: User) -> dict[str, Any]:
    identity = Identity.objects.filter(user=user).first()
    columns = ("uuid", "username", "is_active", "is_simulated", "created_at", "last_login")
    return {
        "account": {name: getattr(user, name) for name in columns},
        "identity": {"name": identity.name, "email": identity.email} if identity else None,
    }


def own_tables(user: User) -> Iterator[Table]:
    for label, (names_them, columns) in OWN.items():
        yield label.partition(".")[2], columns, apps.get_model(label)._default_manager.filter(**{names_them: user})


def all_tables(user: User) -> Iterator[Table]:
    """Every reference to the account, whatever it says of it: whose a row is, who made it, who looked at it."""
    for model in our_models():
        for names_them in references(model):
            secret = SECRET | ({"data"} if model is Authenticator else set())
            columns = [field.attname for field in model._meta.concrete_fields if field.name not in secret]
            columns += [PASSKEY_NAME] if model is Authenticator else []
            rows = model._default_manager.filter(**{names_them: user})
            yield f"{model._meta.label}.{names_them}", columns, rows
    columns = ["uuid", "project_id", "actor_id", "action", "data", "created_at"]
    yield "core.AuditEvent.subject", columns, AuditEvent.objects.filter(subject=user.uuid)


def our_models() -> Iterator[type[models.Model]]:
    for label in [*settings.OUR_APPS, *OF_LIBRARIES]:
        yield from (model for model in apps.get_app_config(label).get_models() if model._meta.label not in ELSEWHERE)


def references(model: type[models.Model]) -> list[str]:
    """How rows of this table name an account."""
    direct = [field.name for field in model._meta.concrete_fields if field.related_model is User]
    return [*direct, *([INDIRECT[model._meta.label]] if model._meta.label in INDIRECT else [])]


def table_text(columns: Sequence[str], rows: "QuerySet[Any]") -> str:
    """Return the rows as CSV."""
    head = [name.replace("__", "_") for name in columns]
    values = rows.order_by("pk").values_list(*columns).iterator(chunk_size=2000)
    return csv_text(head, ([_cell(value) for value in row] for row in values))


def _cell(value: Any) -> Any:
    """Lists and objects as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
    return value.isoformat() if hasattr(value, "isoformat") else value


REASON = "Kept as long as RETENTION_IDENTITY_MONTHS says after they left."
logger = logging.getLogger(__name__)


def retention_due(*, now: datetime) -> dict[str, Any]:
    """Return the data to be deleted now, by kind: log files, and querysets; where a setting is 0, there is none."""
    return {
        "logs": logs_due(now),
        "sessions": _before(BrowserSession.objects.all(), "used_at", now, settings.RETENTION_SESSION_DAYS),
        "invited": invited_due(now),
        "left": left_due(now),
    }


def retention_counts(*, now: datetime) -> dict[str, int]:
    """Return how much of each kind is to be deleted now."""
    return {name: len(rows) if name == "logs" else rows.count() for name, rows in retention_due(now=now).items()}


@durable("judging.tasks.retention_sweep", autoretry_for=())
def retention_apply(*, now: datetime | None = None) -> dict[str, int]:
    """Delete what was kept as long as settings say; how much of each kind it was. One that cannot be deleted keeps the
    others from nothing; a repeat finds nothing."""
    now = now or clock.now()
    due = retention_due(now=now)  # all of it first: a setting that makes no sense deletes nothing
    for path in due["logs"]:
        path.unlink(missing_ok=True)
    counts = {"logs": len(due["logs"])}
    counts["sessions"] = due["sessions"].delete()[1].get("accounts.BrowserSession", 0)
    counts["invited"] = invited_forget(due["invited"])
    counts["left"] = 0
    for person in due["left"]:
        try:
            person_forget(user=person, actor=None, reason=REASON)
        except NotPossibleNow as refused:  # a lead is never among them, but a race may make one
            logger.warning("account %s is kept: %s", person.pk, refused)
        else:
            counts["left"] += 1
    if any(counts.values()):
        logger.info("retention: %s", ", ".join(f"{n} {name}" for name, n in counts.items() if n))
    return counts


def logs_due(now: datetime) -> list[Path]:
    """Logs of `make run` that were set aside; what is written to the standard error is whoever keeps it to drop."""
    days = settings.RETENTION_LOG_DAYS
    if not days:
        return []
    old = _ago(now, days).timestamp()
    return sorted(path for path in (settings.MOMENTJUDGE_VAR / "log").glob("*.log.*") if path.stat().st_mtime < old)


def invited_due(now: datetime) -> "QuerySet[Identity]":
    """E-mail addresses of people who never came, once none of their invitations has been open for so long."""
    days = settings.RETENTION_INVITATION_DAYS
    if not days:
        return Identity.objects.none()
    cutoff = _ago(now, days)
    lately_open = Q(revoked_at=None, expires_at__gt=cutoff) | Q(revoked_at__gt=cutoff)
    invited = Invitation.objects.filter(lately_open, identity=OuterRef("pk"))
    return Identity.objects.filter(~Exists(invited), user=None)


def left_due(now: datetime) -> "QuerySet[User]":
    """Annotators who have left every project of theirs, the last of them so long ago."""
    months = settings.RETENTION_IDENTITY_MONTHS
    if not months:
        return User.objects.none()
    staying = Membership.objects.filter(user=OuterRef("pk")).exclude(status=Membership.Status.LEFT)
    people = User.objects.filter(is_active=True, is_simulated=False, memberships__isnull=False)
    last = people.annotate(left_at=Max("memberships__status_changes__created_at"))
    return last.exclude(Exists(staying)).filter(left_at__lte=_ago(now, 30 * months)).order_by("pk")


def _before(rows: "QuerySet", field: str, now: datetime, days: int) -> "QuerySet":  # type: ignore[type-arg]
    return rows.filter(**{f"{field}__lt": _ago(now, days)}) if days else rows.none()


def _ago(now: datetime, days: int) -> datetime:
    if days < 0:
        raise ValueError("Nothing is deleted: what is kept for less than no time lies ahead.")
    return now - timedelta(days=days)
