"""Hours and pay of everybody, for leads alone."""

from datetime import date
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from annotation.access import LEAD, MemberRequest, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import Membership, Project
from judging import selectors
from judging.forms import SubmitForm
from judging.pay_files import days_csv, lines_csv
from judging.pay_forms import CorrectionForm, RateForm
from judging.rules.periods import month_of
from judging.selectors import Statement
from judging.services import pay as services
from judging.views.periods import Period, period_of


@project_page(LEAD)
def pay(request: MemberRequest, project: Project) -> HttpResponse:
    """Who worked how long in a period, and what that comes to."""
    period = period_of(request, project)
    statement = _statement(project, period)
    people = {member.user_id: member for member in _annotators(project)}
    accounts = {account.annotator_id: account for account in statement.accounts}
    context = {
        "period": period,
        "statement": statement,
        "rows": [(people[user], accounts[user]) for user in people if user in accounts],
        "idle": [member for user, member in people.items() if user not in accounts],
    }
    return render(request, "pay/pay.html", context, status=period.status)


@project_page(LEAD)
def pay_csv(request: MemberRequest, project: Project) -> HttpResponse:
    period = period_of(request, project)
    if period.error:
        messages.error(request, period.error)
        return redirect("judging:pay", project.uuid)
    _exported(request, project, period)
    return lines_csv(_statement(project, period), selectors.annotator_numbers(project))


@project_page(LEAD)
def person(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """One annotator's statement, with what they are paid and how to set it right."""
    return _person_page(request, project, _annotator(project, number), period_of(request, project))


@project_page(LEAD)
def person_csv(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    period, member = period_of(request, project), _annotator(project, number)
    if period.error:
        messages.error(request, period.error)
        return redirect("judging:pay-person", project.uuid, number)
    _exported(request, project, period)
    statement = _statement(project, period, member)
    return days_csv(statement, statement.account_of(member.user_id), number)


@project_page(LEAD)
@post_only("judging:pay")
def rate_set(request: MemberRequest, project: Project) -> HttpResponse:
    form = RateForm(request.POST)
    member = _annotator_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, member, period_of(request, project), rate_form=form)
    said = form.cleaned_data
    services.pay_rate_set(
        project=project,
        annotator=member.user,
        rate=said["rate"],
        currency=said["currency"],
        from_day=said["from_day"],
        actor=request.user,
    )
    messages.success(request, f"{said['rate']} {said['currency']} an hour from {said['from_day']:%-d %B %Y} on.")
    return _to_person(project, member, said["from_day"])


@project_page(LEAD)
@post_only("judging:pay")
def correct(request: MemberRequest, project: Project) -> HttpResponse:
    form = CorrectionForm(request.POST)
    member = _annotator_named(project, form)
    if not form.is_valid():
        return _person_page(request, project, member, period_of(request, project), correction_form=form)
    said = form.cleaned_data
    try:
        services.hours_correct(
            project=project,
            annotator=member.user,
            day=said["day"],
            seconds=60 * said["minutes"],
            reason=said["reason"],
            actor=request.user,
        )
    except NotPossible as error:
        form.add_error(None, str(error))
        return _person_page(
            request, project, member, period_of(request, project), correction_form=form, status=error.status
        )
    messages.success(request, f"{said['minutes']:+} minutes on {said['day']:%-d %B %Y}.")
    return _to_person(project, member, said["day"])


def _statement(project: Project, period: Period, member: Membership | None = None) -> Statement:
    return selectors.pay_statement(
        project_id=project.pk,
        zone=period.zone,
        first_day=period.first_day,
        last_day=period.last_day,
        annotator_id=member.user_id if member else None,
        pilot=not period.without_pilot,
    )


def _person_page(
    request: MemberRequest,
    project: Project,
    member: Membership,
    period: Period,
    *,
    status: int | None = None,
    **forms: SubmitForm,
) -> HttpResponse:
    statement = _statement(project, period, member)
    rate = statement.rates.on(member.user_id, period.today)
    known = {"annotator": member.number}
    context: dict[str, Any] = {
        "period": period,
        "statement": statement,
        "member": member,
        "account": statement.account_of(member.user_id),
        "rate": rate,
        "rates": project.pay_rates.filter(annotator=member.user).order_by("-from_day", "-id"),
        "corrections": selectors.corrections_of(
            project=project, annotator_id=member.user_id, first_day=period.first_day, last_day=period.last_day
        ),
        "rate_form": RateForm(initial={**known, "currency": rate.currency, "from_day": period.today}),
        "correction_form": CorrectionForm(initial={**known, "day": period.today}),
        **forms,
    }
    return render(request, "pay/person.html", context, status=status or (422 if forms else period.status))


def _annotators(project: Project) -> list[Membership]:
    return list(project.memberships.filter(number__isnull=False).select_related("user").order_by("number"))


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


def _exported(request: MemberRequest, project: Project, period: Period) -> None:
    services.pay_export(project=project, actor=request.user, first_day=period.first_day, last_day=period.last_day)
