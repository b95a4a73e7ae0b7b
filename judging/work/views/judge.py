"""The annotator's pages: where to start, one pair at a time, a last look, own grades, previews."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.template import loader
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django_htmx.http import HttpResponseClientRedirect, replace_url

from accounts.access import ANNOTATOR, MemberRequest, grant_by, post_only, project_action, project_page
from accounts.models import Project, User
from accounts.rules import OUT
from annotation.previews.responses import no_poster, poster_answer
from core import clock
from core.files import IMMUTABLE, file_answer
from core.forms import KeyForm, SubmitForm
from core.lists import page_of
from core.refusals import refusal_log
from judging.exceptions import FormStale, GradeUnknown, GuidelineUnconfirmed, NotAssigned, PairWithdrawn, WarmUpDue
from judging.guidelines.views import guideline_context
from judging.models import Assignment, ExamAttempt, Flag
from judging.qualification.services.exam_attempts import attempt_start, warm_up_is_missing
from judging.qualification.views.onboarding import onboarding_of
from judging.review.selectors import job_running
from judging.work.forms import FlagForm, GradeForm
from judging.work.selectors import assignments as selectors
from judging.work.selectors.assignments import OpenAssignment
from judging.work.services import assignments, judgments

PER_PAGE = 10
PAGE, LAST_LOOK = "judging/work/judge.html", "judging/work/last_look.html"
FLAG_REASONS = Flag.Reason.choices
FLAG_BUTTON = '<button class="secondary" name="reason" value="{}">{}</button>'
FLAG_BUTTONS = format_html_join("", FLAG_BUTTON, FLAG_REASONS)
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
NO_WARM_UP = "Too few pairs of known truth are left that you have not seen: today goes without a warm-up."
NOTHING = "Nothing is waiting for you right now. New batches appear here as they open."


@project_action(ANNOTATOR, back="judging:desk")
def assignment_take(request: MemberRequest, project: Project) -> HttpResponse:
    assignment = selectors.open_assignment(project_id=project.pk, annotator=request.user)
    unwarmed = assignment is None and warm_up_is_missing(project=project, annotator=request.user, now=clock.now())
    result = _next_assignment(request, project)
    if isinstance(result, HttpResponse):
        return result
    if result is None:
        messages.info(request, NOTHING)
        return redirect("judging:desk", project.uuid)
    if unwarmed:
        messages.info(request, NO_WARM_UP)
    return redirect("judging:pair-next", project.uuid)


def _next_assignment(request: MemberRequest, project: Project) -> Assignment | HttpResponse | None:
    """Take an assignment; go where a guideline is confirmed, or a session warms up, where that comes first."""
    try:
        return assignments.assignment_take(project=project, annotator=request.user)
    except GuidelineUnconfirmed as error:
        messages.info(request, str(error))
        return go_to(request, reverse("judging:guideline", args=[project.uuid]))
    except WarmUpDue:
        attempt = attempt_start(project=project, annotator=request.user, purpose=ExamAttempt.Purpose.WARM_UP)
        return go_to(request, reverse("judging:attempt", args=[attempt.uuid]))


@project_page(ANNOTATOR)
def pair_next(request: MemberRequest, project: Project) -> HttpResponse:
    """The next pair that needs an answer, or the last look."""
    assignment = selectors.current_assignment(annotator_id=request.user.pk, project_id=project.pk)
    if assignment is None:
        return redirect("judging:desk", project.uuid)
    index = assignment.next_index()
    if index is None:
        return redirect("judging:last-look", project.uuid)
    return _page(request, assignment, index)


@login_required
def pair_show(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """One pair again, to change its grade while the assignment is open."""
    assignment = _own(request, pair_uuid)
    if not assignment.is_open:
        return go_to(request, reverse("judging:own-grades", args=[assignment.project_uuid]))
    show = _part if is_htmx(request) else _page
    return show(request, assignment, assignment.index_of(pair_uuid))


def _own(request: HttpRequest, pair_uuid: UUID) -> OpenAssignment:
    assignment = selectors.assignment_by_pair(annotator_id=cast(int, request.user.pk), pair=pair_uuid)
    if assignment is None:
        raise NotAssigned("This pair is not assigned to you.")
    grant_by(request, assignment.project_uuid, ANNOTATOR)
    return assignment


@login_required
@post_only("judging:pair")
def judgment_create(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Take one grade and answer with what comes next."""
    return _answered(request, pair_uuid, GradeForm(request.POST), judgments.judgment_submit)


@login_required
@post_only("judging:pair")
def flag_set(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Take a flag instead of a grade and answer with what comes next."""
    return _answered(request, pair_uuid, FlagForm(request.POST), judgments.flag_set)


@login_required
@post_only("judging:pair")
def flag_withdraw(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    return _answered(request, pair_uuid, KeyForm(request.POST), judgments.flag_withdraw)


def _answered(
    request: HttpRequest, pair_uuid: UUID, form: SubmitForm, submit: Callable[..., judgments.Answer]
) -> HttpResponse:
    """Submit, and show what comes next; what the pair is too far on for is said above it."""
    if not form.is_valid():
        note, status = form_refusal(request, form)
        return _refused(request, pair_uuid, note, status=status)
    try:
        answer = submit(annotator=cast(User, request.user), pair_uuid=pair_uuid, **form.cleaned_data)
    except (FormStale, GradeUnknown, PairWithdrawn) as error:
        return _refused(request, pair_uuid, str(error), status=error.status)
    assignment, index = answer.assignment, answer.index
    if is_htmx(request):
        return _part(request, assignment, index)
    if index is not None and assignment.pair_views[index].uuid == pair_uuid:
        return redirect("judging:pair", pair_uuid)
    return redirect("judging:pair-next", assignment.project_uuid)


def form_refusal(request: HttpRequest, form: SubmitForm) -> tuple[str, int]:
    """Return why the form is refused, and the status that says so."""
    if request.content_type not in FORMS:
        return "Send a form; what came was none, and nothing was stored.", 415
    return form.first_error(), 422


def _refused(request: HttpRequest, pair_uuid: UUID, note: str, *, status: int) -> HttpResponse:
    """The pair as it stands, with why nothing was stored."""
    assignment = _own(request, pair_uuid)
    assignments.running_or_refused(assignment, clock.now())
    show = _part if is_htmx(request) else _page
    return refusal_log(
        request, show(request, assignment, assignment.index_of(pair_uuid), note=note, status=status), note
    )


@project_page(ANNOTATOR)
def last_look(request: MemberRequest, project: Project) -> HttpResponse:
    assignment = selectors.current_assignment(annotator_id=request.user.pk, project_id=project.pk)
    if assignment is None:
        return redirect("judging:desk", project.uuid)
    return _page(request, assignment, None)


@project_action(ANNOTATOR, back="judging:desk")
def assignment_finish(request: MemberRequest, project: Project) -> HttpResponse:
    """Make the grades final; with ``more`` the next batch follows at once, for htmx in the same answer."""
    finished = assignments.assignment_finish(project=project, annotator=request.user)
    if finished and "more" in request.POST:
        result = _next_assignment(request, project)
        if isinstance(result, HttpResponse):
            return result
        assignment = selectors.current_assignment(annotator_id=request.user.pk, project_id=project.pk)
        if assignment is not None:
            next_pair = redirect("judging:pair-next", project.uuid)
            return _part(request, assignment, assignment.next_index()) if is_htmx(request) else next_pair
        messages.info(request, NOTHING)
    elif finished:
        messages.success(request, "Thank you: your grades for this batch are final now.")
    return go_to(request, reverse("judging:desk", args=[project.uuid]))


@project_action(ANNOTATOR, back="judging:desk")
def assignment_return(request: MemberRequest, project: Project) -> HttpResponse:
    """Stop here: the grades given are final, the rest of the batch goes to somebody else."""
    if assignments.assignment_return(project=project, annotator=request.user):
        messages.success(request, "Given back. Your grades are kept, the rest goes to somebody else.")
    return redirect("judging:desk", project.uuid)


@project_action(ANNOTATOR, back="judging:desk")
def heartbeat(request: MemberRequest, project: Project) -> HttpResponse:
    """The page is open and its annotator is at it."""
    assignments.assignment_renew(project=project, annotator=request.user, now=clock.now())
    return HttpResponse(status=204)


@project_action(ANNOTATOR, back="judging:desk")
def leave(request: MemberRequest, project: Project) -> HttpResponse:
    """The page was closed."""
    assignments.assignment_leave(project=project, annotator=request.user, now=clock.now())
    return HttpResponse(status=204)


def _page(
    request: HttpRequest, assignment: OpenAssignment, index: int | None, *, note: str = "", status: int = 200
) -> HttpResponse:
    project = cast(MemberRequest, request).membership.project
    work = selectors.work_done(project=project, annotator=cast(User, request.user), since=midnight())
    context = {**context_of(assignment, index, note), **guideline_context(project), "work": work}
    return render(request, PAGE if index is not None else LAST_LOOK, context, status=status)


def _part(
    request: HttpRequest, assignment: OpenAssignment, index: int | None, *, note: str = "", status: int = 200
) -> HttpResponse:
    """The fragment; the browser's address follows what it shows, so that a reload stays there."""
    template = PAGE if index is not None else LAST_LOOK
    response = pair_part(request, template, context_of(assignment, index, note), status=status)
    if index is not None and index != assignment.next_index():
        url = reverse("judging:pair", args=[assignment.pair_views[index].uuid])
    else:
        url = reverse("judging:last-look" if index is None else "judging:pair-next", args=[assignment.project_uuid])
    return response if _address(request) == url else replace_url(response, url)


def _address(request: HttpRequest) -> str | None:
    """Where the browser is, as it says itself; None for nonsense."""
    try:
        return cast(str | None, cast(Any, request).htmx.current_url_abs_path)
    except ValueError:
        return None


def midnight() -> Any:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def is_htmx(request: HttpRequest) -> bool:
    return bool(cast(Any, request).htmx)


def go_to(request: HttpRequest, url: str) -> HttpResponse:
    """Send the browser to another page; htmx would follow a plain redirect and put the page into this one."""
    return HttpResponseClientRedirect(url) if is_htmx(request) else redirect(url)


def pair_part(request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The fragment for htmx. It needs no context processor: navigation and messages are on the page already."""
    own = request.POST.get("csrfmiddlewaretoken") or request.headers.get("X-CSRFToken")
    token = own or get_token(request)  # the page's own was found good, and sets no cookie
    html = loader.get_template(f"{template}#pair").render({**context, "csrf_token": token, "scripted": True})
    return HttpResponse(html, status=status)


@lru_cache(maxsize=256)
def grade_buttons(levels: tuple[str, ...], pressed: int | None) -> SafeString:
    """The buttons, the same on every screen of a guideline: a level reads "Good: the action agrees"."""
    parts = [line.partition(":") for line in levels]
    buttons = [(grade, name.strip(), meaning.strip()) for grade, (name, _, meaning) in enumerate(parts)]
    return loader.render_to_string("judging/work/_grades.html", {"levels": buttons, "pressed": pressed})


def context_of(assignment: OpenAssignment, index: int | None, note: str = "") -> dict[str, Any]:
    """Build the page's context; the last look when ``index`` is None.

    Args:
        note: a line to the annotator, as when a form was stale.
    """
    context: dict[str, Any] = {
        "assignment": assignment,
        "left": len(assignment.pair_views) - assignment.answered,
        "flag_reasons": FLAG_REASONS,
        "flag_buttons": FLAG_BUTTONS,
        "project_uuid": assignment.project_uuid,
    }
    if index is None:
        return context
    views = assignment.pair_views
    context["pair_view"], context["pair"] = views[index], str(views[index].uuid)
    context["screen"] = {
        "note": note,
        "key": assignment.key_of(views[index]),
        "position": index + 1,
        "total": len(views),
        "previous": views[index - 1] if index else None,
        "following": views[index + 1] if index + 1 < len(views) else None,  # judged or not
        "ahead": assignment.ahead_of(index),
        "grade_buttons": grade_buttons(tuple(assignment.levels), views[index].grade),
    }
    return context


@project_page(ANNOTATOR)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where an annotator starts: what comes next on their way; once qualified, what is open and what was done."""
    assignment = selectors.open_assignment(project_id=project.pk, annotator=request.user)
    context = {
        "assignment": assignment,
        "work": selectors.work_done(project=project, annotator=request.user, since=midnight()),
        "more": assignment is None and selectors.work_waits(project_id=project.pk, annotator_id=request.user.pk),
        "job": job_running(project),
        "onboarding": onboarding_of(project=project, annotator=request.user),
    }
    part = "#start" if request.htmx else ""
    return render(request, f"judging/work/desk.html{part}", context)


@project_page(ANNOTATOR)
def own_grades(request: MemberRequest, project: Project) -> HttpResponse:
    """Show the annotator's grades by batch; never how a pair was settled."""
    ended = request.user.assignments.filter(project=project).exclude(state=Assignment.State.OPEN)
    page = page_of(request, ended.select_related("batch__query").order_by("-id"), PER_PAGE)
    grades = [(assignment, *selectors.given_in(assignment)) for assignment in page]
    context = {"page": page, "given": grades, "is_out": request.membership.status in OUT}
    return render(request, "judging/work/own_grades.html", context)


@login_required
def preview(request: HttpRequest, preview_uuid: UUID, field: str = "preview") -> HttpResponseBase:
    """Send the clip of a moment, or a part of it."""
    file = selectors.preview_file(user=cast(User, request.user), preview=preview_uuid, field=field)
    return file_answer(request, file, content_type=selectors.PREVIEW_TYPES[field], cache=IMMUTABLE)


@login_required
def preview_poster(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """Send a picture that stands for a moment, to whoever may see its clip; an empty frame where there is none yet."""
    moment = selectors.preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None:
        raise Http404
    return poster_answer(request, moment, cache=IMMUTABLE) or no_poster()
