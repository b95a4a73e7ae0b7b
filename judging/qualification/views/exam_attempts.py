"""Pages of an attempt: one pair at a time, a last look before an exam is handed in, feedback, the result."""

from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect, replace_url

from accounts.access import ANNOTATOR, MemberRequest, grant_by, post_only, project_action
from accounts.models import Project, User
from core import clock
from core.refusals import refusal_log
from judging.exceptions import AttemptOver, FormStale, GradeUnknown, NotAssigned, PairWithdrawn
from judging.guidelines.selectors import policy_in_force
from judging.guidelines.views import guideline_context
from judging.models import ExamAttempt
from judging.qualification.selectors.exam_attempts import AttemptPair, OpenAttempt, attempt_by_pair, attempt_of
from judging.qualification.services import exam_attempts
from judging.qualification.services.exam_attempts import attempt_grade, attempt_hand_in
from judging.qualification.views.exams import share_words
from judging.work.forms import GivenForm
from judging.work.views.judge import form_refusal, grade_buttons, is_htmx, pair_part

PAIR, LOOK = "judging/qualification/pair.html", "judging/qualification/last_look.html"


@project_action(ANNOTATOR, back="judging:desk")
def attempt_start(request: MemberRequest, project: Project) -> HttpResponse:
    purpose = request.POST.get("purpose")
    if purpose not in ExamAttempt.Purpose.values:
        messages.error(request, "Say what for.")
        return redirect("judging:desk", project.uuid)
    started = exam_attempts.attempt_start(project=project, annotator=request.user, purpose=purpose)
    return redirect("judging:attempt", started.uuid)


@login_required
def attempt(request: HttpRequest, attempt_uuid: UUID) -> HttpResponse:
    """Show what comes next in the attempt: a pair, the last look, waiting, or the result."""
    open_attempt = _own(request, attempt_uuid)
    index = open_attempt.next_index()
    if index is not None:
        return _page(request, open_attempt, index)
    return (
        redirect("judging:attempt-look", open_attempt.uuid)
        if open_attempt.may_change
        else _result(request, open_attempt)
    )


@login_required
def last_look(request: HttpRequest, attempt_uuid: UUID) -> HttpResponse:
    """All pairs with the grades given, before an exam is handed in."""
    open_attempt = _own(request, attempt_uuid)
    return (
        _page(request, open_attempt, None)
        if open_attempt.may_change
        else redirect("judging:attempt", open_attempt.uuid)
    )


@login_required
@post_only("judging:attempt")
def hand_in(request: HttpRequest, attempt_uuid: UUID) -> HttpResponse:
    open_attempt = _own(request, attempt_uuid)
    open_attempt = attempt_hand_in(annotator=cast(User, request.user), attempt=attempt_uuid, now=clock.now())
    return _on(request, open_attempt)


@login_required
def pair_show(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """One pair: to change its grade, or to look at its feedback."""
    open_attempt = _own_pair(request, pair_uuid)
    index = open_attempt.index_of(pair_uuid)
    is_over = open_attempt.state in (ExamAttempt.State.DONE, ExamAttempt.State.MISSED)
    if (is_over and not open_attempt.reveals_at_once) or not _may_be_shown(open_attempt, index):
        return _on(request, open_attempt)
    return _part(request, open_attempt, index) if is_htmx(request) else _page(request, open_attempt, index)


def _may_be_shown(open_attempt: OpenAttempt, index: int) -> bool:
    """Pairs come in order where each truth is shown at once, and only misaligned ones come back."""
    pair = open_attempt.pairs[index]
    if open_attempt.reveals_at_once:
        return bool(pair.grades) or index == open_attempt.next_index()
    return open_attempt.is_open or (open_attempt.in_feedback and pair in open_attempt.misaligned)


@login_required
@post_only("judging:known-pair")
def pair_grade(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Take one grade and answer with what comes next."""
    form = GivenForm(request.POST)
    if not form.is_valid():
        note, status = form_refusal(request, form)
        return _refused(request, pair_uuid, note, status=status)
    try:
        open_attempt, index = attempt_grade(
            annotator=cast(User, request.user), pair_uuid=pair_uuid, **form.cleaned_data
        )
    except (FormStale, GradeUnknown, PairWithdrawn) as error:
        return _refused(request, pair_uuid, str(error), status=error.status)
    except AttemptOver as error:
        messages.warning(request, str(error))
        return _on(request, _own_pair(request, pair_uuid), status=error.status)
    if index is None and not open_attempt.may_change:
        return _on(request, open_attempt)
    if is_htmx(request):
        return _part(request, open_attempt, index)
    stays = index is not None and open_attempt.pairs[index].uuid == pair_uuid
    return redirect("judging:known-pair", pair_uuid) if stays else redirect("judging:attempt", open_attempt.uuid)


def _refused(request: HttpRequest, pair_uuid: UUID, note: str, *, status: int) -> HttpResponse:
    """The pair as it stands, with why nothing was stored."""
    open_attempt = _own_pair(request, pair_uuid)
    show = _part if is_htmx(request) else _page
    return refusal_log(
        request, show(request, open_attempt, open_attempt.index_of(pair_uuid), note=note, status=status), note
    )


def _on(request: HttpRequest, open_attempt: OpenAttempt, *, status: int = 302) -> HttpResponse:
    """To where the attempt goes on."""
    url = reverse("judging:attempt", args=[open_attempt.uuid])
    if is_htmx(request):
        return HttpResponseClientRedirect(url)
    if status == 302:
        return redirect(url)
    index = open_attempt.next_index()
    return (
        _page(request, open_attempt, index, status=status)
        if index is not None
        else _result(request, open_attempt, status=status)
    )


def _result(request: HttpRequest, open_attempt: OpenAttempt, *, status: int = 200) -> HttpResponse:
    """Waiting for the others or for the figures, or what came of it."""
    row = ExamAttempt.objects.select_related("exam").get(pk=open_attempt.exam_attempt_id)
    counting = row.purpose == ExamAttempt.Purpose.EXAM and row.state == ExamAttempt.State.DONE and not row.is_decided
    context = {
        **context_of(open_attempt, None),
        "attempt": row,
        "counting": counting,
        "report": row.report,
        "misaligned": share_words(row.report.get("misaligned")),
        "aligned": sum(not pair.was_misaligned for pair in open_attempt.pairs),
        "truths": [(pair, shown_truth(open_attempt, pair)) for pair in open_attempt.pairs],
    }
    part = "#result" if is_htmx(request) else ""
    return render(request, f"judging/qualification/result.html{part}", context, status=status)


def _own(request: HttpRequest, attempt_uuid: UUID) -> OpenAttempt:
    return _granted(request, attempt_of(annotator_id=cast(int, request.user.pk), attempt=attempt_uuid))


def _own_pair(request: HttpRequest, pair_uuid: UUID) -> OpenAttempt:
    return _granted(request, attempt_by_pair(annotator_id=cast(int, request.user.pk), pair=pair_uuid))


def _granted(request: HttpRequest, open_attempt: OpenAttempt | None) -> OpenAttempt:
    if open_attempt is None:
        raise NotAssigned("This exam attempt is not yours.")
    grant_by(request, open_attempt.project_uuid, ANNOTATOR)
    return open_attempt


def _page(
    request: HttpRequest, open_attempt: OpenAttempt, index: int | None, *, note: str = "", status: int = 200
) -> HttpResponse:
    project = cast(MemberRequest, request).membership.project
    break_minutes = policy_in_force(project.pk).break_minutes
    context = {**context_of(open_attempt, index, note), **guideline_context(project), "break_minutes": break_minutes}
    return render(request, LOOK if index is None else PAIR, context, status=status)


def _part(
    request: HttpRequest, open_attempt: OpenAttempt, index: int | None, *, note: str = "", status: int = 200
) -> HttpResponse:
    """The fragment; the browser's address follows what it shows, so that a reload stays there."""
    template = LOOK if index is None else PAIR
    response = pair_part(request, template, context_of(open_attempt, index, note), status=status)
    if index is None:
        return replace_url(response, reverse("judging:attempt-look", args=[open_attempt.uuid]))
    if index == open_attempt.next_index():
        return replace_url(response, reverse("judging:attempt", args=[open_attempt.uuid]))
    return replace_url(response, reverse("judging:known-pair", args=[open_attempt.pairs[index].uuid]))


def shown_truth(open_attempt: OpenAttempt, pair: AttemptPair) -> dict[str, Any] | None:
    """Return what the annotator learns of a pair they have graded; None where the truth is not theirs to know."""
    if pair.truth is None or pair.grade is None or not open_attempt.shows_truth_of(pair):
        return None
    grades = sorted({int(pair.truth), int(pair.truth + Decimal("0.5"))})  # of 2.5: 2 and 3
    return {
        "grades": [answer.grade for answer in pair.grades],  # own grades, the first one first
        "truth": f"between {grades[0]} and {grades[1]}" if len(grades) == 2 else str(grades[0]),
        "levels": [(grade, open_attempt.levels[grade]) for grade in grades],
        "explanation": pair.explanation,
        "aligned": not pair.is_misaligned,
        "exact": pair.grade in grades,
    }


def _screen(open_attempt: OpenAttempt, index: int, note: str) -> dict[str, Any]:
    """Return the pair at ``index`` among those of its round: all, or those that came back; this one in any case."""
    current, feedback = open_attempt.pairs[index], open_attempt.in_feedback
    pairs = [
        pair
        for pair in open_attempt.pairs
        if pair == current or (not pair.is_retired and (pair.was_misaligned or not feedback))
    ]
    position = pairs.index(current) + 1
    return {
        "note": note,
        "key": open_attempt.key_of(current),
        "position": position,
        "total": len(pairs),
        "done": sum(not open_attempt.asks(pair) for pair in pairs),
        "previous": pairs[position - 2] if position > 1 else None,
        # where the truth is shown at once, this is shown only after this pair is graded
        "following": pairs[position] if position < len(pairs) else None,
        "ahead": open_attempt.ahead_of(index),
        "takes_grade": not current.is_retired and (open_attempt.asks(current) or open_attempt.may_change),
        "grade_buttons": grade_buttons(tuple(open_attempt.levels), current.grade),
    }


def context_of(open_attempt: OpenAttempt, index: int | None, note: str = "") -> dict[str, Any]:
    """Build the page's context; ``note`` is a line to the annotator, as when a form was stale."""
    title = open_attempt.purpose.capitalize()
    context: dict[str, Any] = {
        "open_attempt": open_attempt,
        "title": title,
        "project_uuid": open_attempt.project_uuid,
        "note": note,
    }
    if index is not None:
        pair = open_attempt.pairs[index]
        context |= {
            "screen": _screen(open_attempt, index, note),
            "pair": pair,
            "truth": shown_truth(open_attempt, pair),
        }
    return context
