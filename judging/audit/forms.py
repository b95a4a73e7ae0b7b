"""What is asked of the audit."""

from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.utils import timezone

from judging.audit.rules import KINDS
from judging.audit.selectors import AuditSieve

SYSTEM = "system"


class AuditForm(forms.Form):
    """A value that makes no sense asks for nothing."""

    who = forms.CharField(required=False, max_length=36)
    kind = forms.CharField(required=False, max_length=60)
    object = forms.UUIDField(required=False)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    q = forms.CharField(required=False, max_length=200)

    def clean_who(self) -> str:
        who = str(self.cleaned_data["who"])
        return who if who == SYSTEM or _uuid(who) else ""

    @property
    def days_are_turned(self) -> bool:
        """No day is on or after the one and on or before the other."""
        since, until = (self.cleaned_data.get(name) for name in ("since", "until"))
        return bool(since and until and since > until)

    def sieve(self) -> AuditSieve:
        self.is_valid()
        given: dict[str, Any] = self.cleaned_data
        who, until = given.get("who", ""), given.get("until")
        return AuditSieve(
            actor=_uuid(who),
            by_system=who == SYSTEM,
            actions=_actions(given.get("kind", "")),
            subject=given.get("object"),
            since=_begin(given.get("since")),
            before=_begin(until + timedelta(days=1)) if until else None,
            words=given.get("q", ""),
        )


def _actions(kind: str) -> tuple[str, ...]:
    """Those of a kind by its label, or the one that is named."""
    if kind in KINDS:
        return tuple(KINDS[kind])
    return (kind,) if any(kind in actions for actions in KINDS.values()) else ()


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _begin(day: Any) -> datetime | None:
    return timezone.make_aware(datetime.combine(day, time.min)) if day else None
