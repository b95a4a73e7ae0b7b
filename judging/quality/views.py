"""Pages about agreement and the work of each annotator, by number; figures as last computed."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from core.lists import csv_download, page_of
from core.messages import send_on_commit
from judging.guidelines.selectors import policy_in_force
from judging.models import QualityAlert
from judging.people.selectors import actor_names
from judging.quality import services
from judging.quality.selectors import alerts_of, newest_judgment, quality_alerts, quality_report
from judging.review.selectors import annotator_numbers

PER_PAGE = 30
ALERTS = QualityAlert.objects.select_related("project")
COLUMNS = ("annotator", "judgments", "consensus", "kappa_unweighted", "kappa_linear", "kappa_quadratic")
MORE_COLUMNS = ("partners_quadratic", "bias", "seconds_median", "longest_run", "fast_streak", "gold", "gold_misaligned")


@project_page(STAFF)
def agreement(request: MemberRequest, project: Project) -> HttpResponse:
    """Agreement in the project, and a line for each annotator."""
    report = quality_report(project)
    raised = alerts_of(project)
    context = {
        "report": report,
        "figures": report and report.data["project"],
        "rows": [(number, figures, raised.get(number, [])) for number, figures in _annotators(report)],
        "waiting": newest_judgment(project.pk) > (report.last_judgment if report else 0),
    }
    part = "#agreement" if request.htmx else ""
    return render(request, f"judging/quality/agreement.html{part}", context)


@project_action(STAFF, back="judging:agreement")
def agreement_compute(request: MemberRequest, project: Project) -> HttpResponse:
    send_on_commit(services.TASK, project.pk)
    messages.info(request, "The figures are being computed anew; this page shows them as soon as they are there.")
    return redirect("judging:agreement", project.uuid)


@project_page(STAFF)
def agreement_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """The table as a file."""
    rows = (_line(number, figures) for number, figures in _annotators(quality_report(project)))
    return csv_download("agreement.csv", [*COLUMNS, *MORE_COLUMNS], rows)


def _line(number: Any, figures: Mapping[str, Any]) -> list[object]:
    kappas = figures["against_relevance"]
    return [
        *(number, figures["judgments"], figures["consensus"]),
        *(kappas[weights]["value"] for weights in ("unweighted", "linear", "quadratic")),
        *(figures["with_partners"]["quadratic"], figures["bias"], figures["seconds"]["median"]),
        *(figures["longest_run"], figures["fast_streak"], figures["gold"]["judgments"], figures["gold"]["misaligned"]),
    ]


@project_page(STAFF)
def agreement_of(request: MemberRequest, project: Project, number: int) -> HttpResponse:
    """One annotator: partners, weeks, distribution."""
    report = quality_report(project)
    figures = report and report.data["annotators"].get(str(number))
    if not figures:
        raise Http404
    context = {
        "report": report,
        "number": number,
        "found": figures,
        "most": max(figures["distribution"]) or 1,
        "alerts": alerts_of(project).get(number, []),
        "policy": policy_in_force(project.pk),
    }
    return render(request, "judging/quality/agreement_of.html", context)


@project_page(STAFF)
def alerts(request: MemberRequest, project: Project) -> HttpResponse:
    """Show figures past a threshold; nothing happens by itself."""
    is_seen = "seen" in request.GET
    page = page_of(request, quality_alerts(project, is_seen=is_seen), PER_PAGE)
    numbers = annotator_numbers(project)
    names, gone = actor_names(project, to_lead=request.membership.is_lead), "somebody who has left"
    context = {
        "page": page,
        "rows": [(numbers.get(row.annotator_id), row, names.get(row.seen_by_id or 0, gone)) for row in page],
        "seen": is_seen,
        "policy": policy_in_force(project.pk),
    }
    return render(request, "judging/quality/alerts.html", context)


@row_page(ALERTS, LEAD, back="judging:alert")
def alert_see(request: MemberRequest, alert: QualityAlert) -> HttpResponse:
    services.alert_see(alert=alert, lead=request.user, note=request.POST.get("note", "").strip())
    messages.success(request, "Noted. It is raised again only if the figures stay so over many more judgments.")
    return redirect("judging:alerts", alert.project.uuid)


@row_page(ALERTS, STAFF)
def alert(request: MemberRequest, alert: QualityAlert) -> HttpResponse:
    """Redirect to the list that holds the alert."""
    return redirect("judging:alerts", alert.project.uuid)


def _annotators(report: Any) -> list[tuple[int, dict[str, Any]]]:
    """Annotators by number with their figures."""
    people = report.data["annotators"] if report else {}
    return sorted((int(number), figures) for number, figures in people.items())
