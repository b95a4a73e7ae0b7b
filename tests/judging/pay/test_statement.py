"""Hours by day and what they come to."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Project, User
from judging.pay.rules import Time
from judging.pay.selectors import Statement, pay_statement
from judging.pay.services import hours_correct, pay_rate_set
from tests.factories import annotator, lead, triggers_asleep
from tests.judging.money import gold_graded, judged, local, policy_from, project_in, trained

pytestmark = pytest.mark.django_db
MARCH = (date(2026, 3, 1), date(2026, 3, 31))
BERLIN = "Europe/Berlin"


def statement(
    project: Project, first: date = MARCH[0], last: date = MARCH[1], *, zone: str = "UTC", **values: Any
) -> Statement:
    who = values.pop("person", None)
    return pay_statement(
        project_id=project.pk, zone=zone, first_day=first, last_day=last, annotator_id=who and who.pk, **values
    )


def seconds_by_day(result: Statement, person: User) -> dict[str, float]:
    return {f"{day.day:%m-%d}": day.time.total / 1000 for day in result.account_of(person.pk).days}


@pytest.fixture
def project() -> Project:
    return project_in()


@pytest.fixture
def person(project: Project) -> User:
    return annotator(project)


def test_time_is_added_up_by_annotator_and_day(project: Project, person: User) -> None:
    other, elsewhere = annotator(project), project_in()
    judged(elsewhere, annotator(elsewhere), local("2026-03-02T10:00"), 10)
    for when, seconds in (("2026-03-02T10:00", 10), ("2026-03-02T11:00", 20.5), ("2026-03-03T10:00", 7)):
        judged(project, person, local(when), seconds)
    judged(project, other, local("2026-03-02T10:00"), 3)
    result = statement(project)
    assert seconds_by_day(result, person) == {"03-02": 30.5, "03-03": 7}
    assert seconds_by_day(result, other) == {"03-02": 3}
    assert (result.time.total, result.judgments, len(result.accounts)) == (40_500, 4, 2)
    assert statement(project, person=other).time.total == 3_000


def test_a_judgment_of_a_gold_pair_or_any_other_is_paid_up_to_the_cap_of_its_own_policy(
    project: Project, person: User
) -> None:
    gold_graded(project, person, local("2026-03-01T10:00"), 500)
    judged(project, person, local("2026-03-02T10:00"), 500)
    policy_from(project, local("2026-03-03T00:00"), pay_cap_s=300)
    judged(project, person, local("2026-03-03T10:00"), 500)
    result = statement(project)
    assert seconds_by_day(result, person) == {"03-01": 120, "03-02": 120, "03-03": 300}
    assert (result.time.judging, result.judgments) == (540_000, 3)


def test_training_is_apart_and_capped_by_the_policy_then_in_force(project: Project, person: User) -> None:
    trained(project, person, local("2026-03-02T10:00"), 500)
    policy_from(project, local("2026-03-03T00:00"), pay_cap_s=30)
    trained(project, person, local("2026-03-03T10:00"), 500)
    policy_from(project, local("2026-03-04T00:00"), pays_training=False)
    trained(project, person, local("2026-03-04T10:00"), 20)
    for instant in ("2026-04-01T00:00", "2026-02-28T23:59:59.999999"):
        judged(project, person, local(instant), 10)  # beyond the period
    result = statement(project)
    assert (result.time.judging, result.time.training, result.judgments) == (0, 150_000, 0)


def test_pilot_batches_count_unless_they_are_left_out(project: Project, person: User) -> None:
    judged(project, person, local("2026-03-02T10:00"), 10)
    judged(project, person, local("2026-03-02T11:00"), 20, pilot=True)
    without, whole = statement(project, pilot=False), statement(project)
    assert (without.time.total, without.left_out.total, without.judgments) == (10_000, 20_000, 1)
    assert (whole.time.total, whole.left_out.total, whole.judgments) == (30_000, 0, 2)


def test_what_nobody_measured_is_not_paid_up_to_the_cap(project: Project, person: User) -> None:
    """Judgments and training from before times were kept, and judgments of a file."""
    judged(project, person, local("2026-03-02T10:00"), None)
    judged(project, person, local("2026-03-02T10:00"), 10)
    judgment = judged(project, person, local("2026-03-02T10:00"), 10)
    graded = trained(project, person, local("2026-03-02T11:00"), 10)
    with transaction.atomic(), triggers_asleep():
        for row in (judgment, graded):
            type(row)._default_manager.filter(pk=row.pk).update(active_ms=None)  # type: ignore[attr-defined]
    result = statement(project)
    assert (result.time.total, result.judgments, result.untimed) == (10_000, 1, 2)


def test_corrections_are_part_of_their_day(project: Project, person: User) -> None:
    correction = {"day": date(2026, 3, 2), "reason": "r", "actor": lead(project)}
    judged(project, person, local("2026-03-02T10:00"), 100, pilot=True)
    for seconds in (60, -30):
        hours_correct(project=project, annotator=person, seconds=seconds, **correction)
    assert statement(project).time == Time(100_000, 0, 30_000)
    assert statement(project, *[date(2026, 3, 1)] * 2).accounts == []
    hours_correct(project=project, annotator=person, seconds=-110, **correction)
    assert statement(project, pilot=False).time == Time()  # a day is never below zero without its pilot batches
    assert statement(project).time == Time(100_000, 0, -80_000)


@pytest.mark.parametrize(
    ("at", "day"),
    [("2026-03-02T00:00", "03-02"), ("2026-03-01T23:59:59.999999", "03-01"), ("2026-03-31T23:59:59.999", "03-31")],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Singapore", "America/New_York"])
def test_days_begin_at_local_midnight(zone: str, at: str, day: str) -> None:
    project = project_in(zone)
    judged(project, person := annotator(project), local(at, zone), 10)
    assert seconds_by_day(statement(project, zone=zone), person) == {day: 10}


@pytest.mark.parametrize(
    ("day", "hours", "times"),
    [
        (date(2026, 3, 29), 23, ["00:00", "01:59:59", "03:00", "23:59:59"]),  # summer time begins
        (date(2026, 10, 25), 25, ["00:00", "02:30", "23:59:59"]),  # and ends
    ],
)
def test_days_of_23_and_25_hours_hold_all_that_was_given_on_them(day: date, hours: int, times: list[str]) -> None:
    project = project_in(BERLIN)
    person = annotator(project)
    instants = [local(f"{day}T{time}", BERLIN, fold=fold) for time in times for fold in (0, 1)]
    for at in sorted({at.timestamp(): at for at in instants}.values()):
        judged(project, person, at, 10)
    before, after = local(f"{day}T00:00", BERLIN), local(f"{day + timedelta(days=1)}T00:00", BERLIN)
    assert (after.timestamp() - before.timestamp()) / 3600 == hours
    totals = [statement(project, on, on, zone=BERLIN).time.total for on in (day - timedelta(days=1), day)]
    assert totals == [0, 40_000]
    assert statement(project, day + timedelta(days=1), day + timedelta(days=7), zone=BERLIN).time.total == 0


def test_rates_of_the_person_go_before_those_of_the_policy() -> None:
    project = project_in(pay_cap_s=3600)
    person, other = annotator(project), annotator(project)
    policy_from(project, local("2026-03-03T09:00"), pay_rate=Decimal(16), pay_currency="EUR")
    for user, amount, day in ((person, "20.50", 4), (other, "99", 1)):
        rate = {"rate": Decimal(amount), "currency": "SGD", "from_day": date(2026, 3, day)}
        pay_rate_set(project=project, annotator=user, actor=lead(project), **rate)
    for day in (2, 3, 4, 5):
        judged(project, person, local(f"2026-03-0{day}T08:00"), 3600)
    result = statement(project)
    assert [(line.rate.rate, line.rate.currency, line.amount) for line in result.accounts[0].lines] == [
        (14, "SGD", 14),
        (16, "EUR", 16),
        (Decimal("20.50"), "SGD", 41),
    ]
    assert result.amounts == [("EUR", 16), ("SGD", 55)]


@pytest.mark.parametrize("people", [1, 4])
def test_three_statements_read_it_whatever_there_is(project: Project, people: int) -> None:
    for number in range(people):
        for day in range(1, 4):
            judged(project, annotator(project), local(f"2026-03-0{day}T10:00"), number + 1)
    with CaptureQueriesContext(connection) as capture:
        result = statement(project)
    assert len(capture) == 3
    assert len(result.accounts) == 3 * people
