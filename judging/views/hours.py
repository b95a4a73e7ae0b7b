"""An annotator's own hours, pay and progress; never anybody else's."""

from datetime import date

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from annotation.access import ANNOTATOR, MemberRequest, project_page
from annotation.models import Project
from judging import selectors
from judging.pay_files import days_csv
from judging.pay_forms import FIRST_DAY
from judging.selectors import Statement
from judging.views.periods import period_of


@project_page(ANNOTATOR)
def hours(request: MemberRequest, project: Project) -> HttpResponse:
    period = period_of(request, project, separable=False)
    me = request.user.pk
    last_day = max(period.last_day, period.today)
    ever = _own(request, project, FIRST_DAY, last_day, zone=period.zone).account_of(me)
    context = {
        "period": period,
        "account": ever.part(period.first_day, period.last_day),
        "today": ever.part(period.today, period.today),
        "ever": ever,
        "months": ever.by_month(),
        "rate": ever.rates.on(me, period.today),
        "batches": selectors.work_done(project=project, annotator=request.user, since=timezone.now())["batches"],
        "corrections": selectors.corrections_of(
            project=project, annotator_id=me, first_day=period.first_day, last_day=period.last_day
        ),
    }
    return render(request, "pay/hours.html", context, status=period.status)


@project_page(ANNOTATOR)
def hours_csv(request: MemberRequest, project: Project) -> HttpResponse:
    period = period_of(request, project, separable=False)
    if period.error:
        messages.error(request, period.error)
        return redirect("judging:hours", project.uuid)
    statement = _own(request, project, period.first_day, period.last_day, zone=period.zone)
    return days_csv(statement, statement.account_of(request.user.pk), request.membership.number or 0)


def _own(request: MemberRequest, project: Project, first_day: date, last_day: date, *, zone: str) -> Statement:
    """With pilot batches, whatever the address says: annotators are not told which those are."""
    return selectors.pay_statement(
        project_id=project.pk,
        zone=zone,
        first_day=first_day,
        last_day=last_day,
        annotator_id=request.user.pk,
    )
