"""Hours and pay: all and the forecast for leads alone, their own for annotators; as pages and as CSV."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.access import ANNOTATOR, LEAD, MemberRequest, project_action, project_page
from accounts.models import Membership, Project
from core.exceptions import NotPossible
from core.forms import SubmitForm
from core.lists import csv_download
from judging.guidelines.selectors import policy_in_force
from judging.pay import services
from judging.pay.forms import FIRST_DAY, CorrectionForm, ForecastForm, PeriodForm, RateForm, shown
from judging.pay.rules import TVR_RANKING, Forecast, Time, month_of
from judging.pay.selectors import Account, Statement, corrections_of, expected_of, forecast_measured, pay_statement
from judging.review.selectors import annotator_numbers
from judging.work.selectors.assignments import work_done


def period_of(request: HttpRequest, project: Project, *, separable: bool = True) -> PeriodForm:
    """Read the period from the address."""
    return PeriodForm(request.GET, zone=policy_in_force(project.pk).time_zone, separable=separable)


@project_page(LEAD)
def pay(request: MemberRequest, project: Project) -> HttpResponse:
    """Who worked how long in a period, and what they earned."""
    period = period_of(request, project)
    statement = _statement(project, period)
    members = project.memberships.filter(number__isnull=False).select_related("user").order_by("number")
    people = {member.user_id: member for member in members}
    accounts = {account.annotator_id: account for account in statement.accounts}
    context = {
        "period": period,
        "statement": statement,
        "rows": [(people[user], accounts[user]) for user in people if user in accounts],
        "idle": [member for user, member in people.items() if user not in accounts],
    }
    return render(request, "judging/pay/pay.html", context, status=period.status)


@project_page(LEAD)
def pay_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return _csv(request, project, None, back=("judging:pay", project.uuid))


@project_page(LEAD)
def person(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """One annotator's statement, with what they are paid and how to set it right."""
    return _person_page(request, project, _annotator(project, number), period_of(request, project))


@project_page(LEAD)
def person_csv(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    return _csv(request, project, _annotator(project, number), back=("judging:pay-person", project.uuid, number))


@project_action(LEAD, back="judging:pay")
def rate_set(request: MemberRequest, project: Project) -> HttpResponse:
    form = RateForm(request.POST, auto_id=False)
    member = _annotator_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, member, period_of(request, project), rate_form=form)
    rate = {name: form.cleaned_data[name] for name in ("rate", "currency", "from_day")}
    services.pay_rate_set(project=project, annotator=member.user, actor=request.user, **rate)
    messages.success(request, f"{rate['rate']} {rate['currency']} an hour from {rate['from_day']:%-d %B %Y} on.")
    return _to_person(project, member, rate["from_day"])


@project_action(LEAD, back="judging:pay")
def correct(request: MemberRequest, project: Project) -> HttpResponse:
    form = CorrectionForm(request.POST, auto_id=False)
    member = _annotator_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, member, period_of(request, project), correction_form=form)
    day, minutes, reason = (form.cleaned_data[name] for name in ("day", "minutes", "reason"))
    change: dict[str, Any] = {"day": day, "seconds": 60 * minutes, "reason": reason}
    try:
        services.hours_correct(project=project, annotator=member.user, actor=request.user, **change)
    except NotPossible as error:
        form.add_error(None, str(error))
        period = period_of(request, project)
        return _person_page(request, project, member, period, correction_form=form, status=error.status)
    messages.success(request, f"{minutes:+} minutes on {day:%-d %B %Y}.")
    return _to_person(project, member, day)


def _statement(project: Project, period: PeriodForm, member: Membership | None = None) -> Statement:
    return pay_statement(
        project_id=project.pk,
        zone=period.zone,
        first_day=period.first_day,
        last_day=period.last_day,
        annotator_id=member.user_id if member else None,
        pilot=not period.leaves_out_pilot,
    )


def _person_page(
    request: MemberRequest,
    project: Project,
    member: Membership,
    period: PeriodForm,
    *,
    status: int = 0,
    **forms: SubmitForm,
) -> HttpResponse:
    statement = _statement(project, period, member)
    rate = statement.rates.on(member.user_id, period.today)
    initial = {"annotator": member.number}
    context: dict[str, Any] = {
        "period": period,
        "statement": statement,
        "member": member,
        "account": statement.account_of(member.user_id),
        "rate": rate,
        "rates": project.pay_rates.filter(annotator=member.user).order_by("-from_day", "-id"),
        "corrections": corrections_of(project, member.user_id, period.first_day, period.last_day),
        # their labels hold their fields, so that two forms of a page need no ids
        "rate_form": RateForm(initial={**initial, "currency": rate.currency, "from_day": period.today}, auto_id=False),
        "correction_form": CorrectionForm(initial={**initial, "day": period.today}, auto_id=False),
        **forms,
    }
    return render(request, "judging/pay/person.html", context, status=status or (422 if forms else period.status))


def _annotator(project: Project, number: int) -> Membership:
    return get_object_or_404(project.memberships.select_related("user"), number=number)


def _annotator_named(project: Project, form: SubmitForm) -> Membership:
    """Whom a form is about."""
    form.is_valid()
    if "annotator" not in form.cleaned_data:
        raise Http404
    return _annotator(project, form.cleaned_data["annotator"])


def _to_person(project: Project, member: Membership, day: date) -> HttpResponse:
    """Their statement of the month that was changed."""
    page = reverse("judging:pay-person", args=[project.uuid, member.number])
    return redirect(f"{page}?month={month_of(day)[0]:%Y-%m}")


def _csv(
    request: MemberRequest, project: Project, member: Membership | None, *, back: tuple[Any, ...], is_own: bool = False
) -> HttpResponse:
    """A row for each day of one annotator, or for each annotator and rate; ``back`` is the page that says why not."""
    period = period_of(request, project, separable=not is_own)
    if period.error:
        messages.error(request, period.error)
        return redirect(*back)
    if not is_own:
        days = {"first_day": period.first_day, "last_day": period.last_day}
        services.pay_export(project=project, actor=request.user, **days)
    statement, dates = _statement(project, period, member), f"{period.first_day}-to-{period.last_day}"
    if member is None:
        return csv_download(f"pay-{dates}.csv", LINES, _line_rows(statement, annotator_numbers(project)))
    number = member.number or 0
    return csv_download(f"hours-{number}-{dates}.csv", DAYS, _day_rows(statement.account_of(member.user_id), number))


@project_page(ANNOTATOR)
def hours(request: MemberRequest, project: Project) -> HttpResponse:
    period = period_of(request, project, separable=False)
    me = request.user.pk
    all_days = {"first_day": FIRST_DAY, "last_day": max(period.last_day, period.today)}
    ever = pay_statement(project_id=project.pk, zone=period.zone, annotator_id=me, **all_days).account_of(me)
    context = {
        "period": period,
        "account": ever.part(period.first_day, period.last_day),
        "today": ever.part(period.today, period.today),
        "ever": ever,
        "months": ever.by_month(),
        "rate": ever.rates.on(me, period.today),
        "batches": work_done(project=project, annotator=request.user, since=timezone.now())["batches"],
        "corrections": corrections_of(project, me, period.first_day, period.last_day),
    }
    return render(request, "judging/pay/hours.html", context, status=period.status)


@project_page(ANNOTATOR)
def hours_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return _csv(request, project, request.membership, back=("judging:hours", project.uuid), is_own=True)


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
LINES = ["annotator", "first_day", "last_day", "judgments", *TIME, "rate", "currency", "amount"]
DAYS = ["annotator", "day", "judgments", *TIME, "rate", "currency"]


def _line_rows(statement: Statement, numbers: Mapping[int, int]) -> Iterator[list[object]]:
    """A row for each annotator and rate; the days are the first and the last with anything on them."""
    for account in sorted(statement.accounts, key=lambda account: numbers[account.annotator_id]):
        for line in account.lines:
            days = [line.first_day, line.last_day, line.judgments, *_time(line.time)]
            yield [numbers[account.annotator_id], *days, line.rate.rate, line.rate.currency, line.amount]


def _day_rows(account: Account, number: int) -> Iterator[list[object]]:
    """A row for each day with anything on it."""
    for worked in account.days:
        rate = account.rates.on(account.annotator_id, worked.day)
        yield [number, worked.day, worked.judgments, *_time(worked.time), rate.rate, rate.currency]


def _time(time: Time) -> list[Decimal]:
    return [*(Decimal(ms).scaleb(-3) for ms in (*time, time.total)), time.hours["total"]]
