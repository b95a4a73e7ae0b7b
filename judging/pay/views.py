"""Hours and pay: all and the forecast for leads alone, their own for whoever works; as pages and as CSV."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.access import LEAD, PAID, MemberRequest, project_action, project_page
from accounts.models import Membership, Project
from core.exceptions import NotPossible
from core.forms import SubmitForm
from core.lists import csv_download
from judging.guidelines.selectors import policy_in_force
from judging.pay import services
from judging.pay.forms import FIRST_DAY, CorrectionForm, ForecastForm, PeriodForm, PersonForm, RateForm, shown
from judging.pay.rules import TVR_RANKING, Day, Forecast, Line, Time, month_of
from judging.pay.selectors import (
    Account,
    Person,
    Statement,
    corrections_of,
    expected_of,
    forecast_measured,
    has_written,
    pay_statement,
    people_of,
)
from judging.work.selectors.assignments import work_done


def period_of(request: HttpRequest, project: Project, *, separable: bool = True) -> PeriodForm:
    """Read the period from the address."""
    return PeriodForm(request.GET, zone=policy_in_force(project.pk).time_zone, separable=separable)


@project_page(LEAD)
def pay(request: MemberRequest, project: Project) -> HttpResponse:
    """Who worked how long in a period, and what they earned."""
    period = period_of(request, project)
    statement = _statement(project, period)
    people = people_of(project)
    accounts = {account.annotator_id: account for account in statement.accounts}
    context = {
        "period": period,
        "statement": statement,
        "has_writing": statement.has_writing,
        "has_judging": statement.has_judging or not statement.has_writing,
        "rows": [
            (person, _page(project, person), accounts[user]) for user, person in people.items() if user in accounts
        ],
        "idle": [
            (person, _page(project, person))
            for user, person in people.items()
            if user not in accounts and person.member.has(PAID)
        ],
    }
    return render(request, "judging/pay/pay.html", context, status=period.status)


def _kinds(member: Membership, statement: Statement) -> dict[str, bool]:
    """Say which columns the tables of a person have."""
    judges = member.is_annotator or statement.has_judging
    return {"has_judging": judges, "has_writing": statement.has_writing or not judges}


def _page(project: Project, person: Person, name: str = "") -> str:
    """Return the address of a person's statement, or of its CSV."""
    if person.is_annotator:
        return reverse(f"judging:pay-person{name}", args=[project.uuid, person.member.number])
    return reverse(f"judging:pay-member{name}", args=[project.uuid, person.member.user.uuid])


@project_page(LEAD)
def pay_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return _csv(request, project, None, back=reverse("judging:pay", args=[project.uuid]))


@project_page(LEAD)
def person(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """One annotator's statement, with what they are paid and how to set it right."""
    return _person_page(request, project, _person(project, number=number), period_of(request, project))


@project_page(LEAD)
def person_csv(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    person = _person(project, number=number)
    return _csv(request, project, person, back=_page(project, person))


@project_page(LEAD)
def member(request: MemberRequest, project: Project, user_uuid: UUID) -> HttpResponse:
    """The same of somebody who writes or checks, or did."""
    return _person_page(request, project, _person(project, user__uuid=user_uuid), period_of(request, project))


@project_page(LEAD)
def member_csv(request: MemberRequest, project: Project, user_uuid: UUID) -> HttpResponse:
    person = _person(project, user__uuid=user_uuid)
    return _csv(request, project, person, back=_page(project, person))


@project_action(LEAD, back="judging:pay")
def rate_set(request: MemberRequest, project: Project) -> HttpResponse:
    form = RateForm(request.POST, auto_id=False)
    person = _person_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, person, period_of(request, project), rate_form=form)
    rate = {name: form.cleaned_data[name] for name in ("rate", "currency", "from_day")}
    services.pay_rate_set(project=project, annotator=person.member.user, actor=request.user, **rate)
    messages.success(request, f"{rate['rate']} {rate['currency']} an hour from {rate['from_day']:%-d %B %Y} on.")
    return _to_person(project, person, rate["from_day"])


@project_action(LEAD, back="judging:pay")
def correct(request: MemberRequest, project: Project) -> HttpResponse:
    form = CorrectionForm(request.POST, auto_id=False)
    person = _person_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, person, period_of(request, project), correction_form=form)
    day, minutes, reason = (form.cleaned_data[name] for name in ("day", "minutes", "reason"))
    change: dict[str, Any] = {"day": day, "seconds": 60 * minutes, "reason": reason}
    try:
        services.hours_correct(project=project, annotator=person.member.user, actor=request.user, **change)
    except NotPossible as error:
        form.add_error(None, str(error))
        period = period_of(request, project)
        return _person_page(request, project, person, period, correction_form=form, status=error.status)
    messages.success(request, f"{minutes:+} minutes on {day:%-d %B %Y}.")
    return _to_person(project, person, day)


def _statement(project: Project, period: PeriodForm, person: Person | None = None) -> Statement:
    return pay_statement(
        project_id=project.pk,
        zone=period.zone,
        first_day=period.first_day,
        last_day=period.last_day,
        annotator_id=person.member.user_id if person else None,
        pilot=not period.leaves_out_pilot,
    )


def _person_page(
    request: MemberRequest,
    project: Project,
    person: Person,
    period: PeriodForm,
    *,
    status: int = 0,
    **forms: SubmitForm,
) -> HttpResponse:
    statement, user = _statement(project, period, person), person.member.user
    rate = statement.rates.on(user.pk, period.today)
    initial = {"annotator": person.member.number, "member": None if person.is_annotator else user.uuid}
    context: dict[str, Any] = {
        "period": period,
        "statement": statement,
        **_kinds(person.member, statement),
        "person": person,
        "csv": _page(project, person, "-csv"),
        "account": statement.account_of(user.pk),
        "rate": rate,
        "rates": project.pay_rates.filter(annotator=user).order_by("-from_day", "-id"),
        "corrections": corrections_of(project, user.pk, period.first_day, period.last_day),
        # their labels hold their fields, so that two forms of a page need no ids
        "rate_form": RateForm(initial={**initial, "currency": rate.currency, "from_day": period.today}, auto_id=False),
        "correction_form": CorrectionForm(initial={**initial, "day": period.today}, auto_id=False),
        **forms,
    }
    return render(request, "judging/pay/person.html", context, status=status or (422 if forms else period.status))


def _person(project: Project, **key: Any) -> Person:
    """Return the annotator of this number, or whoever writes, checks or did either; 404 where there is none."""
    row = get_object_or_404(project.memberships, **key)
    person = people_of(project)[row.user_id]
    if not person.member.has(PAID) and not has_written(project, row.user_id):
        raise Http404
    return person


def _person_named(project: Project, form: PersonForm) -> Person:
    """Whom a form is about."""
    form.is_valid()
    number, uuid = (form.cleaned_data.get(name) for name in ("annotator", "member"))
    if number is None and uuid is None:
        raise Http404
    return _person(project, number=number) if number is not None else _person(project, user__uuid=uuid)


def _to_person(project: Project, person: Person, day: date) -> HttpResponse:
    """Their statement of the month that was changed."""
    return redirect(f"{_page(project, person)}?month={month_of(day)[0]:%Y-%m}")


def _csv(
    request: MemberRequest, project: Project, person: Person | None, *, back: str, is_own: bool = False
) -> HttpResponse:
    """A row for each day of one person, or for each person and rate; ``back`` is the page that says why not."""
    period = period_of(request, project, separable=not is_own)
    if period.error:
        messages.error(request, period.error)
        return redirect(back)
    if not is_own:
        days = {"first_day": period.first_day, "last_day": period.last_day}
        services.pay_export(project=project, actor=request.user, **days)
    statement, dates = _statement(project, period, person), f"{period.first_day}-to-{period.last_day}"
    if person is None:
        return csv_download(f"pay-{dates}.csv", LINES, _line_rows(statement, people_of(project)))
    name = str(person.label).replace(" ", "-")
    rows = _day_rows(statement.account_of(person.member.user_id), person.label)
    return csv_download(f"hours-{name}-{dates}.csv", DAYS, rows)


@project_page(PAID)
def hours(request: MemberRequest, project: Project) -> HttpResponse:
    period = period_of(request, project, separable=False)
    me = request.user.pk
    all_days = {"first_day": FIRST_DAY, "last_day": max(period.last_day, period.today)}
    statement = pay_statement(project_id=project.pk, zone=period.zone, annotator_id=me, **all_days)
    ever = statement.account_of(me)
    context = {
        "period": period,
        **{f"is_{role}": role in request.membership.roles for role in PAID},
        **_kinds(request.membership, statement),
        "policy": policy_in_force(project.pk),
        "account": ever.part(period.first_day, period.last_day),
        "today": ever.part(period.today, period.today),
        "ever": ever,
        "months": ever.by_month(),
        "rate": ever.rates.on(me, period.today),
        "batches": work_done(project=project, annotator=request.user, since=timezone.now())["batches"],
        "corrections": corrections_of(project, me, period.first_day, period.last_day),
    }
    return render(request, "judging/pay/hours.html", context, status=period.status)


@project_page(PAID)
def hours_csv(request: MemberRequest, project: Project) -> HttpResponse:
    person = people_of(project)[request.user.pk]
    return _csv(request, project, person, back=reverse("judging:hours", args=[project.uuid]), is_own=True)


STARTS = ("here", "paper")  # what a form can have been filled with


@project_page(LEAD)
def forecast(request: MemberRequest, project: Project) -> HttpResponse:
    """From what the address says; else from its own numbers where requested, or TVR-Ranking's by its rules."""
    policy = policy_in_force(project.pk)
    here = forecast_measured(project, policy)
    money: dict[str, Any] = {"rate": policy.pay_rate, "currency": policy.pay_currency}
    measured: dict[str, Any] = {name: value for name, value in here.items() if value is not None}
    came_from = request.GET.get("from", "")
    start = expected_of(project)
    if came_from == "here":
        start = replace(start, **measured, **money)
    if "queries" in request.GET:
        form = ForecastForm(request.GET, start=start if came_from in STARTS else None)
    else:
        form = ForecastForm.of(start)
        came_from = "here" if came_from == "here" else "paper"
    valid = form.is_valid()
    local = {**here, **money}
    context = {
        "form": form,
        "rows": [(f, shown(f.name, getattr(TVR_RANKING, f.name)), shown(f.name, local.get(f.name))) for f in form],
        "forecast": Forecast(form.assumptions()) if valid else None,
        "came_from": came_from if came_from in STARTS else "",
    }
    return render(request, "judging/pay/forecast.html", context, status=200 if valid else 422)


TIME = ["judging_s", "training_s", "correction_s", "total_s", "hours"]
OF_WRITING = ["queries", "checks", "writing_s", "checking_s"]
LINES = ["annotator", "first_day", "last_day", "judgments", *TIME, "rate", "currency", "amount", "unit", *OF_WRITING]
DAYS = ["annotator", "day", "judgments", *TIME, "rate", "currency", *OF_WRITING]


def _line_rows(statement: Statement, people: Mapping[int, Person]) -> Iterator[list[object]]:
    """A row for each person and rate, by the hour or by the piece; the days are the first and the last with anything
    on them."""
    accounts = {account.annotator_id: account for account in statement.accounts}
    for user, person in people.items():
        if user not in accounts:
            continue
        for line in accounts[user].all_lines:
            days = [person.label, line.first_day, line.last_day]
            money = [line.rate.rate, line.rate.currency, line.amount]
            if isinstance(line, Line):
                yield [*days, line.judgments, *_time(line.time), *money, "hour", *_writing(line)]
            else:
                counts = {"query": (line.n, 0), "check": (0, line.n)}[line.kind]
                yield [*days, 0, *_time(Time()), *money, line.kind, *counts, *_seconds(0, 0)]


def _day_rows(account: Account, label: str | int) -> Iterator[list[object]]:
    """A row for each day with anything on it."""
    for worked in account.days:
        rate = account.rates.on(account.annotator_id, worked.day)
        yield [label, worked.day, worked.judgments, *_time(worked.time), rate.rate, rate.currency, *_writing(worked)]


def _time(time: Time) -> list[Decimal]:
    return [*_seconds(time.judging, time.training, time.correction, time.total), time.hours["total"]]


def _writing(part: Line | Day) -> list[object]:
    return [part.queries, part.checks, *_seconds(part.time.writing, part.time.checking)]


def _seconds(*times_ms: int) -> list[Decimal]:
    return [Decimal(ms).scaleb(-3) for ms in times_ms]
