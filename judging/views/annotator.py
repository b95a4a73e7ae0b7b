"""Pages of the annotator: one pair at a time, a last look, own grades, the guideline."""

from functools import partial
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import replace_url

from annotation.access import ANNOTATOR, EVERYONE, MemberRequest, grant, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import Project, User
from judging import selectors
from judging.forms import GradeForm
from judging.markdown import markdown_html
from judging.models import Assignment
from judging.services import assignments
from judging.services.policies import guideline_in_force

PAGE = "judging/judge.html"
PER_PAGE = 10


@project_page(ANNOTATOR)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where an annotator starts: what is open, what was done."""
    context = {
        "assignment": selectors.open_assignment(project=project, annotator=request.user),
        "work": selectors.work_done(project=project, annotator=request.user),
        "more": bool(selectors.free_seats(project=project, annotator=request.user)),
        "job": selectors.job_running(project),
    }
    return render(request, fragment(request, "judging/desk.html", "start"), context)


@project_page(ANNOTATOR)
@post_only("judging:desk")
def assignment_take(request: MemberRequest, project: Project) -> HttpResponse:
    taken = assignments.assignment_take(project=project, annotator=request.user, now=timezone.now())
    if taken is None:
        messages.info(request, "Nothing is waiting for you right now. New batches appear here as they open.")
        return redirect("judging:desk", project.uuid)
    return redirect("judging:pair-next", project.uuid)


@project_page(ANNOTATOR)
def pair_next(request: MemberRequest, project: Project) -> HttpResponse:
    assignment = selectors.open_assignment(project=project, annotator=request.user)
    if assignment is None:
        return redirect("judging:desk", project.uuid)
    step = selectors.next_step(assignment)
    if step is None:
        return redirect("judging:last-look", project.uuid)
    return render(request, PAGE, judge_context(project, step))


@login_required
def pair_show(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """One pair again, to change its grade while the assignment is open."""
    assignment, pair = selectors.pair_held_by(user=cast(User, request.user), uuid=pair_uuid)
    grant(request, assignment.project, ANNOTATOR)
    if assignment.state != Assignment.State.OPEN:
        return redirect("judging:own-grades", assignment.project.uuid)
    return render(request, PAGE, judge_context(assignment.project, selectors.step_at(assignment, pair)))


@login_required
@post_only("judging:pair")
def judgment_create(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Take one grade and answer with what comes next."""
    assignment, pair = selectors.pair_held_by(user=cast(User, request.user), uuid=pair_uuid)
    project = grant(request, assignment.project, ANNOTATOR).project
    form = GradeForm(request.POST)
    if not form.is_valid():
        context = judge_context(project, selectors.step_at(assignment, pair), form=form)
        return render(request, fragment(request, PAGE, "pair"), context, status=422)
    assignments.judgment_submit(assignment=assignment, pair=pair, now=timezone.now(), **form.cleaned_data)
    if not cast(Any, request).htmx:
        return redirect("judging:pair-next", project.uuid)
    step = selectors.next_step(assignment)
    if step is None:
        response = render(request, "judging/last_look.html#last-look", look_context(project, assignment))
        return addressed(request, response, reverse("judging:last-look", args=[project.uuid]))
    response = render(request, f"{PAGE}#pair", judge_context(project, step))
    return addressed(request, response, reverse("judging:pair-next", args=[project.uuid]))


@project_page(ANNOTATOR)
def last_look(request: MemberRequest, project: Project) -> HttpResponse:
    assignment = selectors.open_assignment(project=project, annotator=request.user)
    if assignment is None:
        return redirect("judging:desk", project.uuid)
    return render(request, "judging/last_look.html", look_context(project, assignment))


@project_page(ANNOTATOR)
@post_only("judging:desk")
def assignment_finish(request: MemberRequest, project: Project) -> HttpResponse:
    assignment = selectors.open_assignment(project=project, annotator=request.user)
    if assignment is not None:
        assignments.assignment_finish(assignment=assignment, now=timezone.now())
        messages.success(request, "Thank you: your grades for this batch are final now.")
    return redirect("judging:desk", project.uuid)


@project_page(ANNOTATOR)
def own_grades(request: MemberRequest, project: Project) -> HttpResponse:
    """What the annotator gave, batch by batch; never how a pair was settled."""
    ended = request.user.assignments.filter(project=project).exclude(state=Assignment.State.OPEN)
    page = Paginator(ended.select_related("batch__query").order_by("-id"), PER_PAGE).get_page(request.GET.get("page"))
    given = [(assignment, selectors.given_in(assignment)) for assignment in page]
    return render(request, "judging/own_grades.html", {"page": page, "given": given})


@project_page(EVERYONE)
def guideline(request: MemberRequest, project: Project) -> HttpResponse:
    if not project.guidelines.exists():
        raise NotPossible("This project has no guideline: its judgments were imported.")
    return render(request, "judging/guideline.html", guideline_context(project))


def guideline_context(project: Project) -> dict[str, Any]:
    version = guideline_in_force(project.pk)
    return {
        "guideline": version,
        "guideline_html": partial(markdown_html, version.body),  # rendered only where a template asks
        "levels": list(enumerate(version.levels)),
        "examples": version.examples.select_related("moment"),
    }


def judge_context(project: Project, step: selectors.Step, *, form: GradeForm | None = None) -> dict[str, Any]:
    return {"step": step, "form": form, "project": project, **guideline_context(project)}


def look_context(project: Project, assignment: Assignment) -> dict[str, Any]:
    pairs = selectors.ordered_pairs(assignment)
    return {
        "assignment": assignment,
        "project": project,
        "query": assignment.batch.query.text,
        "pairs": pairs,
        "left": sum(pair.grade is None for pair in cast(list[Any], pairs)),
    }


def addressed(request: HttpRequest, response: HttpResponse, url: str) -> HttpResponse:
    """Let the browser's address follow what it shows, so that a reload stays there."""
    return response if cast(Any, request).htmx.current_url_abs_path == url else replace_url(response, url)


def fragment(request: HttpRequest, template: str, part: str) -> str:
    return f"{template}#{part}" if cast(Any, request).htmx else template
