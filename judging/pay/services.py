"""Rates, and corrections of hours. Rows are only added: a newer rate or another correction sets a slip right.

Who reads the audit need not know what people earn: it says who set what for whom, and the rows say how much and why.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from accounts.access import PAID
from accounts.models import Membership, Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from judging.guidelines.selectors import policy_in_force
from judging.models import HoursCorrection, PayRate
from judging.pay.rules import DAY_S
from judging.pay.selectors import pay_statement
from judging.people.selectors import actor_names


@transaction.atomic
def pay_rate_set(
    *, project: Project, annotator: User, rate: Decimal, currency: str, from_day: date, actor: User
) -> PayRate:
    """Set the person's hourly pay from this day on, until a rate of a later day holds. Raises NotPossible where
    the person neither judges, writes nor checks in the project."""
    facts = _facts(_member(project, annotator))
    pay_rate = PayRate.objects.create(
        project=project, annotator=annotator, rate=rate, currency=currency, from_day=from_day, set_by=actor
    )
    facts |= {"from_day": from_day.isoformat()}
    audit_record(project=project, actor=actor, action="pay.rate", subject=pay_rate.uuid, **facts)
    return pay_rate


@transaction.atomic
def hours_correct(
    *, project: Project, annotator: User, day: date, seconds: int, reason: str, actor: User, now: datetime | None = None
) -> HoursCorrection:
    """Add time to a day of the person, or take some away; the reason is kept and shown to them. Raises NotPossible
    where nothing is to be changed, no reason is given, the day lies ahead, or would then hold less than nothing or more
    than a day has; the time spent on pilot batches is counted with the rest."""
    if not seconds or not reason.strip():
        raise NotPossible("Say how much time to add or to take away, and why.")
    facts = _facts(_member(project, annotator))
    zone = policy_in_force(project.pk).time_zone
    if day > (now or timezone.now()).astimezone(ZoneInfo(zone)).date():
        raise NotPossible(f"{_name(day)} has not come yet.")
    statement = pay_statement(project_id=project.pk, zone=zone, first_day=day, last_day=day, annotator_id=annotator.pk)
    total_s = statement.time.total / 1000
    minutes = f"{total_s / 60:.1f}".removesuffix(".0")
    if total_s + seconds < 0:
        raise NotPossible(f"{_name(day)} holds {minutes} minutes: no more can be taken away.")
    if total_s + seconds > DAY_S:
        raise NotPossible(f"{_name(day)} holds {minutes} minutes: so much does not fit into a day.")
    correction = HoursCorrection.objects.create(
        project=project, annotator=annotator, day=day, seconds=seconds, reason=reason.strip(), made_by=actor
    )
    facts |= {"day": day.isoformat(), "seconds": seconds}
    audit_record(project=project, actor=actor, action="pay.correct", subject=correction.uuid, **facts)
    return correction


@transaction.atomic
def pay_export(*, project: Project, actor: User, first_day: date, last_day: date) -> None:
    """Write down that a statement left the site as a file."""
    period = {"first_day": first_day.isoformat(), "last_day": last_day.isoformat()}
    audit_record(project=project, actor=actor, action="pay.export", subject=project.uuid, **period)


def _member(project: Project, person: User) -> Membership:
    """Locked, so that of two corrections the second sees the first."""
    members = Membership.objects.select_for_update().filter(project=project, roles__overlap=list(PAID))
    member = members.filter(user=person).first()
    if member is None:
        raise NotPossible("This person neither judges, writes nor checks in the project.")
    return member


def _facts(member: Membership) -> dict[str, Any]:
    """Say whom an event is about: an annotator by number, others as everybody but leads calls them."""
    if member.number is not None:
        return {"number": member.number}
    return {"person": actor_names(member.project, to_lead=False)[member.user_id]}


def _name(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
