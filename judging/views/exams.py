"""Pages of leads about exams. Admins may look; people are numbers here."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from annotation.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from annotation.models import Membership, Project, User
from annotation.refusals import refusal_log
from judging import selectors
from judging.exam_forms import ExamForm, ExplanationForm, RetireForm
from judging.exceptions import NotPossibleNow, TooFewPairs, Unfinished
from judging.models import Exam, KnownPair
from judging.services import exams as services
from judging.services import known_pairs
from judging.services.exams.closing import FEWEST
from judging.services.policies import policy_in_force
from judging.views.exam_figures import PAPER_KAPPA, PAPER_SHARE, figures_of, report_csv, share_words

WEIGHTS = ("quadratic", "linear", "unweighted")
RUNNING = (Exam.State.PREPARING, Exam.State.OPEN)


@project_page(STAFF)
def exams(request: MemberRequest, project: Project) -> HttpResponse:
    """All exams, and how to open one."""
    return _exams(request, project, ExamForm())


def _exams(
    request: MemberRequest, project: Project, form: ExamForm, *, note: str = "", status: int = 200
) -> HttpResponse:
    stock = selectors.known_pairs_in_stock(project_id=project.pk, splits=selectors.EXAM_SPLITS)
    at_exam = project.memberships.filter(standing=Membership.Standing.EXAM).count()
    rows = list(selectors.exams_of(project))
    context = {
        "exams": rows,
        "running": next((row for row in rows if row.state in RUNNING), None),
        "form": form,
        "note": note,
        "stock": len(stock),
        "stock_queries": len({known.query_id for known in stock}),
        "at_exam": at_exam,
        "lacking": max(0, FEWEST - at_exam),
        "fewest": FEWEST,
        "policy": policy_in_force(project.pk),
        "may_decide": request.membership.role in LEAD,
    }
    response = render(request, "exams/exams.html", context, status=status)
    return refusal_log(request, response, note) if status >= 400 else response


@project_page(LEAD)
@post_only("judging:exams")
def exam_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = ExamForm(request.POST)
    if not form.is_valid():
        return _exams(request, project, form, note=form.first_error(), status=422)
    try:
        made = services.exam_create(project=project, actor=request.user, **form.cleaned_data)
    except (TooFewPairs, NotPossibleNow) as error:
        return _exams(request, project, form, note=str(error), status=error.status)
    messages.success(request, f"Exam {made.number} is {'open' if made.state == Exam.State.OPEN else 'being prepared'}.")
    return redirect("judging:exam", made.uuid)


@login_required
def exam(request: HttpRequest, exam_uuid: UUID) -> HttpResponse:
    """How far people are; once it is closed, the report and every pair."""
    held, membership = _exam_of_staff(request, exam_uuid)
    part = "#progress" if getattr(request, "htmx", False) else ""
    return _exam(request, held, membership, part=part)


def _exam(
    request: HttpRequest,
    held: Exam,
    membership: Membership,
    *,
    asking: Unfinished | None = None,
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    rows = selectors.exam_rows(held)
    closed = held.state == Exam.State.CLOSED
    context: dict[str, Any] = {
        "exam": held,
        "figures": figures_of(rows),
        "unfinished": selectors.exam_unfinished(held) if held.state == Exam.State.OPEN else [],
        "asking": asking,
        "fewest": FEWEST,
        "complete": sum(row.graded == row.asked for row in rows),
        "may_decide": membership.role in LEAD,
        "pairs": selectors.exam_pairs(held) if closed else [],
        "misaligned": share_words(held.report.get("misaligned")) if held.report else "",
        "kappas": [(name, held.report["kappas"][name]) for name in WEIGHTS if held.report.get("kappas")],
        "paper_share": PAPER_SHARE,
        "paper_kappa": PAPER_KAPPA,
    }
    return render(request, f"exams/exam.html{part}", context, status=status)


@login_required
@post_only("judging:exam")
def exam_close(request: HttpRequest, exam_uuid: UUID) -> HttpResponse:
    """Close it; while people are unfinished, ask first and name them."""
    held, membership = _exam_of_lead(request, exam_uuid)
    try:
        services.exam_close(exam=held, actor=membership.user, confirmed=_numbers(request.POST.getlist("confirmed")))
    except Unfinished as error:
        response = _exam(request, held, membership, asking=error, status=error.status)
        return refusal_log(request, response, str(error))
    messages.success(request, "The exam is closed.")
    return redirect("judging:exam", held.uuid)


def _numbers(said: list[str]) -> list[int]:
    """Those of the people whom the form named."""
    return [int(number) for number in said if number.isascii() and number.isdecimal() and len(number) < 10]


@login_required
def exam_csv(request: HttpRequest, exam_uuid: UUID) -> HttpResponse:
    """The report, a line for each person."""
    held, _ = _exam_of_staff(request, exam_uuid)
    response = HttpResponse(report_csv(selectors.exam_rows(held)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="momentjudge-exam-{held.number}.csv"'
    return response


@login_required
def known_pair(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """The exam that holds the pair, or the list of exams."""
    known = _known(pair_uuid)
    grant(request, known.project, STAFF)
    return redirect(_place(known))


@login_required
@post_only("judging:known-exam")
def known_pair_explain(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    known, lead = _known_of_lead(request, pair_uuid)
    form = ExplanationForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
        return redirect(_place(known))
    known_pairs.known_pair_explain(known=known, actor=lead, explanation=form.cleaned_data["explanation"])
    messages.success(request, "The explanation is kept.")
    return redirect(_place(known))


@login_required
@post_only("judging:known-exam")
def known_pair_retire(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    known, lead = _known_of_lead(request, pair_uuid)
    form = RetireForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
        return redirect(_place(known))
    known_pairs.known_pair_retire(known=known, actor=lead, reason=form.cleaned_data["reason"], now=timezone.now())
    messages.success(request, "Taken out. Nobody is asked this pair any more.")
    return redirect(_place(known))


def _exam_of_staff(request: HttpRequest, exam_uuid: UUID) -> tuple[Exam, Membership]:
    held = get_object_or_404(Exam.objects.select_related("project"), uuid=exam_uuid)
    return held, grant(request, held.project, STAFF)


def _exam_of_lead(request: HttpRequest, exam_uuid: UUID) -> tuple[Exam, Membership]:
    held = get_object_or_404(Exam.objects.select_related("project"), uuid=exam_uuid)
    return held, grant(request, held.project, LEAD)


def _known(pair_uuid: UUID) -> KnownPair:
    return get_object_or_404(KnownPair.objects.select_related("project", "exam"), uuid=pair_uuid)


def _known_of_lead(request: HttpRequest, pair_uuid: UUID) -> tuple[KnownPair, User]:
    known = _known(pair_uuid)
    return known, grant(request, known.project, LEAD).user


def _place(known: KnownPair) -> str:
    if known.exam is None:
        return reverse("judging:exams", args=[known.project.uuid])
    return f"{reverse('judging:exam', args=[known.exam.uuid])}#pair-{known.uuid}"
