"""Rates and corrections: only ever added, and written down."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Project, User
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.models import HoursCorrection, PayRate
from judging.pay.services import hours_correct, pay_rate_set
from tests.factories import annotator, lead
from tests.judging.money import judged, local, project_in

pytestmark = pytest.mark.django_db
DAY = date(2026, 3, 2)


@pytest.fixture
def project() -> Project:
    return project_in("Asia/Singapore")


@pytest.fixture
def person(project: Project) -> User:
    return annotator(project)


def correct(project: Project, person: User, seconds: int, **values: Any) -> HoursCorrection:
    fields = {"day": DAY, "reason": "The clip would not load.", "actor": lead(project), **values}
    return hours_correct(project=project, annotator=person, seconds=seconds, **fields)


def set_rate(project: Project, person: User) -> PayRate:
    return pay_rate_set(
        project=project, annotator=person, rate=Decimal("15.50"), currency="EUR", from_day=DAY, actor=lead(project)
    )


def test_a_rate_a_correction_and_their_audit_events(project: Project, person: User) -> None:
    rate = set_rate(project, person)
    number = person.memberships.get().number
    event = AuditEvent.objects.get(action="pay.rate")
    assert (event.subject, event.actor) == (rate.uuid, rate.set_by)
    assert event.data == {"number": number, "from_day": "2026-03-02"}  # without the amount
    correction = correct(project, person, 600, reason="  The clip would not load. ")
    assert (correction.seconds, correction.reason) == (600, "The clip would not load.")
    event = AuditEvent.objects.get(action="pay.correct")
    assert event.data == {"number": number, "day": "2026-03-02", "seconds": 600}
    for seconds, reason in ((0, "because"), (60, ""), (60, " \n ")):
        with pytest.raises(NotPossible, match="and why"):
            correct(project, person, seconds, reason=reason)


def test_only_those_who_work_are_paid(project: Project, person: User) -> None:
    for somebody in (lead(project), annotator(project_in())):
        with pytest.raises(NotPossible, match="neither judges, writes nor checks"):
            set_rate(project, somebody)
        with pytest.raises(NotPossible, match="neither judges, writes nor checks"):
            correct(project, somebody, 60)
    assert not PayRate.objects.exists()
    assert not HoursCorrection.objects.exists()


def test_no_more_is_subtracted_than_the_day_holds(project: Project, person: User) -> None:
    judged(project, person, local("2026-03-02T00:00", "Asia/Singapore"), 90, pilot=True)
    correct(project, person, 30)
    with pytest.raises(NotPossible, match="2 March 2026 holds 2 minutes"):
        correct(project, person, -121)
    correct(project, person, -100)
    with pytest.raises(NotPossible, match=r"holds 0\.3 minutes"):
        correct(project, person, -21)
    correct(project, person, -20)


def test_a_day_has_no_more_than_25_hours(project: Project, person: User) -> None:
    correct(project, person, 24 * 3600)
    with pytest.raises(NotPossible, match="does not fit into a day"):
        correct(project, person, 3601)


def test_days_that_have_not_come_cannot_be_corrected(project: Project, person: User) -> None:
    now = local("2026-03-01T23:59", "Asia/Singapore")
    with pytest.raises(NotPossible, match="2 March 2026 has not come yet"):
        correct(project, person, 60, now=now)
    assert correct(project, person, 60, now=local("2026-03-01T16:00", "UTC"))  # midnight in Singapore
