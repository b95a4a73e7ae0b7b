"""The judging page: one pair at a time, a last look, and the ways out."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect, replace_url

from accounts.access import ANNOTATOR, MemberRequest, grant_by, post_only, project_page
from accounts.models import Project, User
from core import clock
from core.refusals import refusal_log
from judging.exceptions import FormStale, GuidelineUnconfirmed, NotAssigned, PairWithdrawn, WarmUpDue
from judging.forms import FlagForm, GradeForm, KeyForm, SubmitForm
from judging.guidelines.views import guideline_context
from judging.models import Sitting
from judging.qualification.services.sittings import sitting_start, warm_up_lacks
from judging.work.selectors.annotator import open_assignment, work_done
from judging.work.selectors.held import Held, held_by_pair, held_open
from judging.work.services import assignments, judgments
from judging.work.views import screens

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
NO_WARM_UP = "Too few pairs of known truth are left that you have not seen: today goes without a warm-up."
NOTHING = "Nothing is waiting for you right now. New batches appear here as they open."


@project_page(ANNOTATOR)
@post_only("judging:desk")
def assignment_take(request: MemberRequest, project: Project) -> HttpResponse:
    held = open_assignment(project=project, annotator=request.user)
    lacking = held is None and warm_up_lacks(project=project, annotator=request.user, now=clock.now())
    try:
        taken = assignments.assignment_take(project=project, annotator=request.user)
    except GuidelineUnconfirmed as error:
        return _to_the_guideline(request, project, error)
    except WarmUpDue:
        return _to_the_warm_up(request, project)
    if taken is None:
        messages.info(request, NOTHING)
        return redirect("judging:desk", project.uuid)
    if lacking:
        messages.info(request, NO_WARM_UP)
    return redirect("judging:pair-next", project.uuid)


def _to_the_guideline(request: MemberRequest, project: Project, why: GuidelineUnconfirmed) -> HttpResponse:
    """Where the version in force is read and confirmed; that leads back to the desk."""
    messages.info(request, str(why))
    page = reverse("judging:guideline", args=[project.uuid])
    return HttpResponseClientRedirect(page) if _htmx(request) else redirect(page)


def _to_the_warm_up(request: MemberRequest, project: Project) -> HttpResponse:
    """A session that begins with pairs of known truth."""
    started = sitting_start(project=project, annotator=request.user, purpose=Sitting.Purpose.WARM_UP)
    page = reverse("judging:sitting", args=[started.uuid])
    return HttpResponseClientRedirect(page) if _htmx(request) else redirect(page)


@project_page(ANNOTATOR)
def pair_next(request: MemberRequest, project: Project) -> HttpResponse:
    """The next pair that needs an answer, or the last look."""
    held = held_open(annotator_id=request.user.pk, project_id=project.pk)
    if held is None:
        return redirect("judging:desk", project.uuid)
    index = held.next_index()
    if index is None:
        return redirect("judging:last-look", project.uuid)
    return _page(request, held, index)


@login_required
def pair_show(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """One pair again, to change its grade while the assignment is open."""
    held = held_by_pair(annotator_id=cast(int, request.user.pk), pair=pair_uuid)
    if held is None:
        raise NotAssigned("This pair is not in your hands.")
    grant_by(request, held.project_uuid, ANNOTATOR)
    if not held.is_open:
        own_grades = reverse("judging:own-grades", args=[held.project_uuid])
        return HttpResponseClientRedirect(own_grades) if _htmx(request) else redirect(own_grades)
    if _htmx(request):
        return _part(request, held, held.index_of(pair_uuid))
    return _page(request, held, held.index_of(pair_uuid))


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
        return _form_refused(request, pair_uuid, form)
    try:
        answer = submit(annotator=cast(User, request.user), pair_uuid=pair_uuid, **form.cleaned_data)
    except (FormStale, PairWithdrawn) as error:
        return _refused(request, pair_uuid, str(error), status=error.status)
    held, index = answer.held, answer.index
    if _htmx(request):
        return _part(request, held, index)
    if index is not None and held.cards[index].uuid == pair_uuid:
        return redirect("judging:pair", pair_uuid)
    return redirect("judging:pair-next", held.project_uuid)


def _form_refused(request: HttpRequest, pair_uuid: UUID, form: SubmitForm) -> HttpResponse:
    if request.content_type not in FORMS:
        return _refused(request, pair_uuid, "Send a form; what came was none, and nothing was stored.", status=415)
    return _refused(request, pair_uuid, form.first_error(), status=422)


def _refused(request: HttpRequest, pair_uuid: UUID, note: str, *, status: int) -> HttpResponse:
    """The pair as it stands, with why nothing was stored."""
    held = held_by_pair(annotator_id=cast(int, request.user.pk), pair=pair_uuid)
    if held is None:
        raise NotAssigned("This pair is not in your hands.")
    grant_by(request, held.project_uuid, ANNOTATOR)
    assignments.running_or_refused(held, clock.now())
    show = _part if _htmx(request) else _page
    return refusal_log(request, show(request, held, held.index_of(pair_uuid), note=note, status=status), note)


@project_page(ANNOTATOR)
def last_look(request: MemberRequest, project: Project) -> HttpResponse:
    held = held_open(annotator_id=request.user.pk, project_id=project.pk)
    if held is None:
        return redirect("judging:desk", project.uuid)
    return _page(request, held, None)


@project_page(ANNOTATOR)
@post_only("judging:desk")
def assignment_finish(request: MemberRequest, project: Project) -> HttpResponse:
    """Make the grades final; with ``more`` the next batch follows at once, for htmx in the same answer."""
    finished = assignments.assignment_finish(project=project, annotator=request.user)
    if finished and "more" in request.POST:
        try:
            taken = assignments.assignment_take(project=project, annotator=request.user)
        except GuidelineUnconfirmed as error:
            return _to_the_guideline(request, project, error)
        except WarmUpDue:
            return _to_the_warm_up(request, project)
        held = held_open(annotator_id=request.user.pk, project_id=project.pk) if taken else None
        if held is not None and _htmx(request):
            return _part(request, held, held.next_index())
        if held is not None:
            return redirect("judging:pair-next", project.uuid)
        messages.info(request, NOTHING)
    elif finished:
        messages.success(request, "Thank you: your grades for this batch are final now.")
    desk = reverse("judging:desk", args=[project.uuid])
    return HttpResponseClientRedirect(desk) if _htmx(request) else redirect(desk)


@project_page(ANNOTATOR)
@post_only("judging:desk")
def assignment_return(request: MemberRequest, project: Project) -> HttpResponse:
    """Stop here: the grades given are final, the rest of the batch goes to somebody else."""
    if assignments.assignment_return(project=project, annotator=request.user):
        messages.success(request, "Given back. Your grades are kept, the rest goes to somebody else.")
    return redirect("judging:desk", project.uuid)


@project_page(ANNOTATOR)
@post_only("judging:desk")
def heartbeat(request: MemberRequest, project: Project) -> HttpResponse:
    """The page is open and its annotator is at it."""
    assignments.assignment_renew(project=project, annotator=request.user, now=clock.now())
    return HttpResponse(status=204)


@project_page(ANNOTATOR)
@post_only("judging:desk")
def leave(request: MemberRequest, project: Project) -> HttpResponse:
    """The page was closed."""
    assignments.assignment_leave(project=project, annotator=request.user, now=clock.now())
    return HttpResponse(status=204)


def _page(request: HttpRequest, held: Held, index: int | None, *, note: str = "", status: int = 200) -> HttpResponse:
    project = cast(MemberRequest, request).membership.project
    work = work_done(project=project, annotator=cast(User, request.user), since=midnight())
    more = {**guideline_context(project), "work": work}
    return screens.page(request, held, index, note=note, status=status, **more)


def _part(request: HttpRequest, held: Held, index: int | None, *, note: str = "", status: int = 200) -> HttpResponse:
    """The fragment; the browser's address follows what it shows, so that a reload stays there."""
    response = screens.part(request, held, index, note=note, status=status)
    place = "judging:pair-next" if index is not None else "judging:last-look"
    if index is not None and index != held.next_index():
        url = reverse("judging:pair", args=[held.cards[index].uuid])
    else:
        url = reverse(place, args=[held.project_uuid])
    if _address(request) == url:
        return response
    return replace_url(response, url)


def _address(request: HttpRequest) -> str | None:
    """Where the browser is, as it says itself; None for nonsense."""
    try:
        return cast(str | None, cast(Any, request).htmx.current_url_abs_path)
    except ValueError:
        return None


def midnight() -> Any:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def _htmx(request: HttpRequest) -> bool:
    return bool(cast(Any, request).htmx)
