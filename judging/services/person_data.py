"""What is stored of one person, as a zip file: for themselves, and in full for who runs the site.

For themselves there is nothing that an annotator must not know while they judge: which pairs are gold, what is true,
what others gave. The full file is found by walking every table for references to the account, so that a new table is
in it without being named here.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.utils import timezone

from annotation.models import AuditEvent, Identity, User
from annotation.services.audit import audit_record
from annotation.spreadsheets import csv_text

OWN: Mapping[str, tuple[str, Sequence[str]]] = {  # table: how it names the person, and its columns
    "annotation.Membership": ("user", ["project__name", "role", "number", "standing", "created_at"]),
    "annotation.BrowserSession": ("user", ["client", "began_at", "used_at"]),
    "annotation.AccessToken": ("user", ["name", "scopes", "created_at", "expires_at", "used_at"]),
    "judging.OwnGrade": ("annotator", ["pair__uuid", "grade", "comment", "created_at"]),  # gold among others
    "judging.Flag": ("annotator", ["pair__uuid", "reason", "comment", "created_at", "withdrawn_at"]),
    "judging.Assignment": ("annotator", ["uuid", "state", "created_at", "ended_at"]),
    "judging.GuidelineConfirmation": ("annotator", ["guideline__version", "created_at"]),
    "judging.GateAttempt": ("annotator", ["project__name", "answers", "score", "created_at", "answered_at"]),
    "judging.Sitting": ("annotator", ["project__name", "purpose", "state", "passed", "created_at", "ended_at"]),
    "judging.SittingGrade": ("annotator", ["known_pair__uuid", "attempt", "grade", "created_at"]),
    "judging.PayRate": ("annotator", ["project__name", "rate", "currency", "from_day"]),
    "judging.HoursCorrection": ("annotator", ["project__name", "day", "seconds", "reason"]),
    "models_runner.Run": ("owner", ["uuid", "split", "system", "team", "state", "file_name", "bytes", "created_at"]),
}
INDIRECT = {"annotation.StandingChange": "membership__user", "judging.JudgmentChange": "judgment__annotator"}
SECRET = {"password", "digest", "session_key", "session_data", "key", "token"}  # columns: they open something
ELSEWHERE = {"annotation.Identity", "annotation.User", "judging.OwnGrade"}  # in person.json; a view of others
README = """What MomentJudge stores of you, as of {now}.

person.json holds who you are. Each table is a CSV file: the first line names its columns, times are UTC.
A query or a clip is named by a random UUID. {scope}
"""
OWN_SCOPE = "What your grades are compared with is not in it; ask a lead of your project."
FULL_SCOPE = "Every row that refers to the account is in it; a file is named after its table and how that names it."
Table = tuple[str, Sequence[str], Iterator[tuple[Any, ...]]]


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
            if text := table_text(columns, rows):
                archive.writestr(f"{name}.csv", text)
    return packed.getvalue()


def who(user: User) -> dict[str, Any]:
    held = Identity.objects.filter(user=user).first()
    return {
        "account": {
            name: getattr(user, name)
            for name in ("uuid", "username", "is_active", "is_simulated", "created_at", "last_login")
        },
        "identity": {"name": held.name, "email": held.email} if held else None,
    }


def own_tables(user: User) -> Iterator[Table]:
    for label, (names_them, columns) in OWN.items():
        rows = apps.get_model(label)._default_manager.filter(**{names_them: user}).order_by("pk")
        yield label.partition(".")[2], columns, rows.values_list(*columns).iterator(chunk_size=2000)


def all_tables(user: User) -> Iterator[Table]:
    """Every reference to the account, whatever it says of it: whose a row is, who made it, who looked at it."""
    for model in our_models():
        for names_them in references(model):
            rows = model._default_manager.filter(**{names_them: user}).order_by("pk")
            columns = [field.attname for field in model._meta.concrete_fields if field.name not in SECRET]
            yield f"{model._meta.label}.{names_them}", columns, rows.values_list(*columns).iterator(chunk_size=2000)
    about = AuditEvent.objects.filter(subject=user.uuid).order_by("pk")
    columns = ["uuid", "project_id", "actor_id", "action", "data", "created_at"]
    yield "annotation.AuditEvent.subject", columns, about.values_list(*columns).iterator(chunk_size=2000)


def our_models() -> Iterator[type[models.Model]]:
    for config in apps.get_app_configs():
        if config.label in ("annotation", "judging", "models_runner"):
            yield from (model for model in config.get_models() if model._meta.label not in ELSEWHERE)


def references(model: type[models.Model]) -> list[str]:
    """How rows of this table name an account."""
    direct = [field.name for field in model._meta.concrete_fields if field.related_model is User]
    return [*direct, *([INDIRECT[model._meta.label]] if model._meta.label in INDIRECT else [])]


def table_text(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> str:
    """As CSV; empty without rows."""
    first = next(rows, None)
    if first is None:
        return ""
    head = [name.replace("__", "_") for name in columns]
    return csv_text(head, ([_cell(value) for value in row] for row in (first, *rows)))


def _cell(value: Any) -> Any:
    """Lists and objects as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
    return value.isoformat() if hasattr(value, "isoformat") else value
