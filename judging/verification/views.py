"""Pages of verification: leads start studies and read what came out, checkers answer one pair at a time."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from accounts.access import (
    CHECKER,
    LEAD,
    READERS,
    STAFF,
    MemberRequest,
    grant,
    project_action,
    project_page,
    row_page,
)
from accounts.models import Project, User
from annotation.previews.responses import video_answer
from core import clock
from core.exceptions import NotPossible
from core.forms import errors_as_messages, is_valid_or_message
from core.lists import csv_stream, page_of
from core.refusals import refusal_log
from judging.checking.forms import CheckForm
from judging.collection.selectors import lines_of
from judging.collection.views import player_data
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow
from judging.models import (
    QueryCheck,
    VerificationAnswer,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStudy,
)
from judging.people.selectors import actor_names
from judging.verification import selectors, services
from judging.verification.forms import AnswersForm, StudyChangeForm, StudyForm

STUDIES = VerificationStudy.objects.select_related("project", "round")
PAIRS = VerificationPair.objects.select_related("study__project", "description__moment__video")
INSPECTIONS = VerificationInspection.objects.select_related("pair__study__project", "pair__description__moment__video")
CHANGES = {VerificationStudy.State.OPEN: ("close", "Close"), VerificationStudy.State.CLOSED: ("open", "Open again")}


@project_page(STAFF)
def studies(request: MemberRequest, project: Project) -> HttpResponse:
    """The studies of a project with their progress, and the form for another."""
    return _studies(request, project, StudyForm(project=project))


def _studies(request: HttpRequest, project: Project, form: StudyForm, *, status: int = 200) -> HttpResponse:
    available = selectors.descriptions_to_draw(project).count()
    n_pairs = form.fields["n_pairs"]
    n_pairs.initial = max(1, min(n_pairs.initial, available))
    context = {
        "form": form,
        "studies": [(row, selectors.study_counts(row)) for row in selectors.studies_of(project)],
        "available": available,
    }
    return render(request, "judging/verification/studies.html", context, status=status)


@project_action(LEAD, back="judging:verification")
def study_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Draw the sample of a study and open it."""
    form = StudyForm(request.POST, project=project)
    if not form.is_valid():
        return _studies(request, project, form, status=422)
    try:
        row = services.study_create(project=project, actor=request.user, **form.options())
    except NotPossible as error:
        form.add_error(None, str(error))
        return _studies(request, project, form, status=error.status)
    messages.success(request, f"The study {row.name!r} is open: checkers find its pairs under “Verify”.")
    return redirect("judging:verification-study", row.uuid)


@row_page(STUDIES, STAFF)
def study(request: MemberRequest, row: VerificationStudy) -> HttpResponse:
    """One study: how far it is, what was answered, and the worst pairs."""
    names = actor_names(row.project, to_lead=request.membership.is_lead)
    page = page_of(request, selectors.worst_pairs(row))
    report, published = selectors.report_of(row, names), selectors.PUBLISHED
    statements = {statement.position: statement.text for statement in row.statements.all()}
    tables = {"": report.statements, "Type": report.types, "Writer": report.writers}
    change, label = CHANGES[VerificationStudy.State(row.state)]
    context = {
        "project": row.project,
        "study": row,
        "counts": selectors.study_counts(row),
        "statements": statements.values(),
        "values": VerificationAnswer.Value.labels,
        "overall": next(iter(report.overall), None),
        "tables": [(title, [(line, statements[line.statement]) for line in lines]) for title, lines in tables.items()],
        "inspected": [
            (VerificationAnswer.Value(line.value).label, line, 100 * published["accepted_again"][str(line.value)])
            for line in report.inspected
        ],
        "published": published,
        "published_percent": 100 * published["at_least_neutral"],
        "page": page,
        "worst": selectors.worst_of(page, names),
        "change": change,
        "change_label": label,
    }
    return render(request, "judging/verification/study.html", context)


@row_page(STUDIES, LEAD, back="judging:verification-study")
def study_change(request: MemberRequest, row: VerificationStudy) -> HttpResponse:
    """Close a study, or open it again."""
    form = StudyChangeForm(request.POST)
    if is_valid_or_message(request, form):
        services.study_change(study=row, change=form.cleaned_data["change"], actor=request.user)
    return redirect("judging:verification-study", row.uuid)


@row_page(STUDIES, STAFF)
def answers_csv(request: MemberRequest, row: VerificationStudy) -> StreamingHttpResponse:
    """A row for each answer; people by role and number."""
    return csv_stream("verification.csv", selectors.CSV_COLUMNS, selectors.answer_lines(row))


@row_page(PAIRS, LEAD, project="study.project")
def inspection_create(request: MemberRequest, row: VerificationPair) -> HttpResponse:
    """Send a pair to a checker for another look."""
    if request.method == "POST":
        services.inspection_request(pair=row, actor=request.user)
        messages.success(request, "Sent: a checker looks at this pair again.")
    return redirect("judging:verification-study", row.study.uuid)


@row_page(PAIRS, READERS, project="study.project")
def pair_video(request: MemberRequest, row: VerificationPair) -> HttpResponseBase:
    """The video of a pair, or the part that a player needs."""
    return video_answer(request, row.description.moment.video)


@project_page(CHECKER)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where a checker starts: open studies, pairs to look at again, and what they answered."""
    now = clock.now()
    rows = selectors.studies_of(project).filter(state=VerificationStudy.State.OPEN)
    context = {
        "studies": [(row, selectors.pairs_to_verify(row, request.user, now=now).count()) for row in rows],
        "inspections": selectors.inspections_waiting(project, request.user).count(),
        "page": page_of(request, selectors.answers_by(project, request.user)),
    }
    return render(request, "judging/verification/desk.html", context)


@row_page(STUDIES, CHECKER)
def verify(request: MemberRequest, row: VerificationStudy) -> HttpResponse:
    """The pair at hand, or the next one."""
    assignment = None
    with errors_as_messages(request, NotPossible):
        assignment = services.pair_take(study=row, verifier=request.user)
        if assignment is None:
            messages.info(request, f"No pair of {row.name!r} waits for you. Look again later.")
    if assignment is None:
        return redirect("judging:verification-desk", row.project.uuid)
    return render(request, "judging/verification/verify.html", _verify_context(assignment))


def _verify_context(
    assignment: VerificationAssignment, values: Mapping[int, int] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what the page shows of a pair, with what was answered last."""
    pair = PAIRS.get(pk=assignment.pair_id)
    now = clock.now()
    rows = selectors.answers_by(pair.study.project, assignment.verifier)
    last = rows.filter(pair__study=pair.study).first()
    return _pair_context(pair, is_fixed=True) | {
        "assignment": assignment,
        "study": pair.study,
        "statements": [(row.position, row.text, values.get(row.position)) for row in pair.study.statements.all()],
        "values": VerificationAnswer.Value.choices,
        "last": last if last and last.undone_at is None else None,
        "n_waiting": selectors.pairs_to_verify(pair.study, assignment.verifier, now=now).count(),
    }


def _pair_context(pair: VerificationPair, *, is_fixed: bool = False) -> dict[str, Any]:
    """Return what the player and the lines above it need of a pair."""
    video = pair.description.moment.video
    lines = lines_of(video)
    return {
        "project": pair.study.project,
        "pair": pair,
        "video": video,
        "type": selectors.KINDS[pair.description.Kind(pair.description.kind)],
        "lines": lines,
        "data": player_data(video, lines) | {"start": pair.start_s, "end": pair.end_s, "fixed": is_fixed},
        "fixed": is_fixed,
    }


def _own(request: HttpRequest, assignment_uuid: UUID) -> VerificationAssignment:
    """Return an assignment of the viewer's own, as a checker of its project; 404 for everybody else."""
    rows = VerificationAssignment.objects.select_related("pair__study__project", "pair__description")
    row = rows.filter(uuid=assignment_uuid, verifier=request.user.pk).first()
    if row is None:
        raise NotAssigned("This pair is not assigned to you.")
    grant(request, row.pair.study.project, CHECKER)
    row.verifier = cast(User, request.user)
    return row


@login_required
def answer(request: HttpRequest, assignment_uuid: UUID) -> HttpResponse:
    """Take the answers for one pair, and go on to the next."""
    row = _own(request, assignment_uuid)
    study = row.pair.study
    if request.method != "POST":
        return redirect("judging:pair-to-verify", study.uuid)
    form = AnswersForm(request.POST, study=study)
    problem = "" if form.is_valid() else form.first_error()
    if not problem:
        try:
            services.answers_submit(assignment=row.uuid, verifier=row.verifier, values=form.values)
            return redirect("judging:pair-to-verify", study.uuid)
        except (LeaseLost, NotPossibleNow) as error:
            messages.error(request, str(error))
            return redirect("judging:pair-to-verify", study.uuid)
        except NotPossible as error:
            problem = str(error)
    context = _verify_context(row, form.values) | {"problem": problem}
    page = render(request, "judging/verification/verify.html", context, status=422)
    return refusal_log(request, page, problem)


@login_required
def undo(request: HttpRequest, assignment_uuid: UUID) -> HttpResponse:
    """Take one's answers for a pair back."""
    row = _own(request, assignment_uuid)
    if request.method == "POST":
        with errors_as_messages(request, NotPossible):
            services.answers_undo(assignment=row.uuid, verifier=row.verifier)
            messages.success(request, "Taken back: the pair waits again.")
    return redirect("judging:verification-desk", row.pair.study.project.uuid)


@project_page(CHECKER)
def inspect(request: MemberRequest, project: Project) -> HttpResponse:
    """The pair that is looked at again, or the next one."""
    row = services.inspection_take(project=project, checker=request.user)
    if row is None:
        messages.info(request, "No pair waits for another look.")
        return redirect("judging:verification-desk", project.uuid)
    return render(request, "judging/verification/inspect.html", _inspect_context(row))


def _inspect_context(row: VerificationInspection) -> dict[str, Any]:
    pair = PAIRS.get(pk=row.pair_id)
    return _pair_context(pair) | {"inspection": row, "reasons": QueryCheck.Reason.choices}


@row_page(INSPECTIONS, CHECKER, project="pair.study.project")
def decide(request: MemberRequest, row: VerificationInspection) -> HttpResponse:
    """Take what the checker decides at another look, and go on to the next pair."""
    project = row.pair.study.project
    if request.method != "POST":
        return redirect("judging:pair-to-inspect", project.uuid)
    form = CheckForm(request.POST)
    problem = "" if form.is_valid() else form.first_error()
    if not problem:
        try:
            verdict = form.verdict(start_s=row.pair.start_s, end_s=row.pair.end_s)
            services.inspection_decide(inspection=row.uuid, checker=request.user, verdict=verdict)
            return redirect("judging:pair-to-inspect", project.uuid)
        except NotPossible as error:
            problem = str(error)
    if not selectors.inspections_waiting(project, request.user).filter(pk=row.pk).exists():
        messages.error(request, problem)
        return redirect("judging:pair-to-inspect", project.uuid)
    context = _inspect_context(row) | {"problem": problem, "sent": request.POST}
    return refusal_log(request, render(request, "judging/verification/inspect.html", context, status=422), problem)
