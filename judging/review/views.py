"""Pages where leads decide which queries get a second batch: one by one, or as suggested. Admins may look."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from annotation.models import Moment
from core.forms import SubmitForm
from core.refusals import refusal_log
from judging.exceptions import JudgingError
from judging.guidelines.selectors import policy_in_force
from judging.models import Batch, BatchReview, Pair
from judging.people.selectors import shortage_of
from judging.projects.charts import bars_of
from judging.review import selectors, services
from judging.review.rules import TAIL
from judging.review.selectors import accept_preview, last_reviews, queue_behind, rows_of

BATCHES = Batch.objects.select_related("project", "query")
CASES = 4  # on a page, and as many more as soon as it is there; every decision brings the next one
LAST_SHOWN = 3  # of the lead's own decisions
STATES = [Pair.State.SETTLED, Pair.State.DROPPED, Pair.State.WITHDRAWN, Pair.State.ESCALATED, Pair.State.OPEN]
NOTE = "Choose to extend or to close the query; a reason has at most 1000 characters."
CASE, ANSWER = "judging/review/_case.html", "judging/review/_answer.html"


class BehindForm(forms.Form):
    """``after`` is the last case on a page, behind which the next one is looked for."""

    after = forms.UUIDField(required=False)


class ReviewForm(BehindForm):
    decision = forms.ChoiceField(choices=[("extend", "extend"), ("close", "close")])
    reason = forms.CharField(required=False, max_length=1000)


class AcceptForm(SubmitForm):
    """Which suggestions to accept together."""

    which = forms.ChoiceField(
        choices=[("all", "all suggestions"), ("extend", "those to extend"), ("close", "those to close")],
        required=False,
        error_messages={"invalid_choice": "Choose which suggestions."},
    )
    distance = forms.FloatField(
        min_value=0,
        max_value=9,
        required=False,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), "The distance is a number from 0 to 9."),
    )


def _line(row: dict[str, Any], preview: str) -> dict[str, Any]:
    pair, candidate, moment = row["pair"], row["pair"].candidate, row["pair"].candidate.moment
    is_ready = moment.preview_state == Moment.Preview.READY
    gif = preview.replace(str(UUID(int=0)), str(moment.preview_uuid))
    return {
        **row,
        "rank": candidate.rank,
        "moment": str(moment),
        "gif": gif if is_ready else "",
        "poster": gif.replace(".gif", ".jpg") if is_ready else "",
        "similarity": "–" if candidate.similarity is None else f"{candidate.similarity:.3f}",
        "relevance": pair.relevance,
        "state": pair.state,
    }


def cases_of(project: Project, queue: Sequence[Batch]) -> list[dict[str, Any]]:
    """First batches as a lead sees them, in as many statements for many as for one."""
    policy = policy_in_force(project.pk)
    rows = rows_of(queue)
    outlooks = selectors.outlooks(queue, from_mean=policy.extend_from_mean)
    nowhere = reverse("judging:preview", args=[UUID(int=0)])
    cases = []
    for batch in queue:
        pairs = [row["pair"] for row in rows[batch.pk]]
        states = Counter(pair.state for pair in pairs)
        case = {"batch": batch, "rows": rows[batch.pk], "outlook": outlooks[batch.pk]}
        case |= bars_of(pairs, batch.top_grade)
        case["lines"] = [_line(row, nowhere) for row in rows[batch.pk]]  # a template would word them ten times slower
        case["states"] = [(state, states[state]) for state in STATES if states[state]]
        cases.append(case)
    return cases


@project_page(STAFF)
def review_queue(request: MemberRequest, project: Project) -> HttpResponse:
    """Finished first batches, oldest first, each with its relevance by rank and a suggestion."""
    if request.htmx:  # the cases behind the last one on the page, before anybody has come so far
        form = BehindForm(request.GET)
        last = form.cleaned_data["after"] if form.is_valid() else None
        return _render(request, "judging/review/_more.html", _behind(project, last, CASES))
    queue = selectors.review_queue(project)
    waiting = list(queue.select_related("query", "project")[:CASES])
    context = {
        "cases": cases_of(project, waiting),
        "last": waiting[-1] if waiting else None,
        "waiting": queue.count(),
        "policy": policy_in_force(project.pk),
        "decided": last_reviews(project, request.user, LAST_SHOWN)[::-1],
        "shortage": shortage_of(project),
    }
    return _render(request, "judging/review/queue.html", context)


def _behind(project: Project, last: UUID | None, count: int) -> dict[str, Any]:
    """So many cases that wait behind the batch ``last``, and the last of them."""
    batch = Batch.objects.filter(project=project, uuid=last, done_at__isnull=False).first() if last else None
    waiting = queue_behind(project, batch).select_related("query", "project")[:count] if batch else ()
    cases = cases_of(project, list(waiting))
    return {"more": cases, "last": cases[-1]["batch"] if cases else None}


def _render(request: MemberRequest, template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return render(request, template, {**shared(request), **context}, status=status)


def shared(request: HttpRequest) -> dict[str, Any]:
    """Return the context shared by these pages."""
    return {"tail": TAIL}


@row_page(BATCHES, LEAD, back="judging:batch")
def batch_review(request: MemberRequest, batch: Batch) -> HttpResponse:
    """Extend or close; a page that stays gets the line that says so, and the next case for its end."""
    form = ReviewForm(request.POST)
    if not form.is_valid() and request.htmx:
        [case] = cases_of(batch.project, [batch])
        return refusal_log(request, _render(request, CASE, {"case": case, "note": NOTE}, status=422), NOTE)
    if not form.is_valid():
        messages.error(request, NOTE)
        return redirect("judging:batch", batch.uuid)
    extend, reason = form.cleaned_data["decision"] == "extend", form.cleaned_data["reason"]
    try:
        review = services.batch_review(batch=batch, extend=extend, lead=request.user, reason=reason)
    except JudgingError as error:
        if not request.htmx:
            raise
        return _refused(request, batch, form, error)
    if request.htmx:
        return _answer(request, batch, review=review, **_behind(batch.project, form.cleaned_data.get("after"), 1))
    messages.success(request, "A second batch is being opened." if extend else "The query is closed.")
    return redirect("judging:review-queue", batch.project.uuid)


def _refused(request: MemberRequest, batch: Batch, form: ReviewForm, error: JudgingError) -> HttpResponse:
    """Why it was not decided; what waits still is shown again, what others decided makes room for the next."""
    batch.refresh_from_db(fields=["awaits_review"])
    if batch.awaits_review:
        [case] = cases_of(batch.project, [batch])
        answer = _render(request, CASE, {"case": case, "note": str(error)}, status=error.status)
    else:
        following = _behind(batch.project, form.cleaned_data.get("after"), 1)
        answer = _answer(request, batch, status=error.status, refusal=str(error), **following)
    return refusal_log(request, answer, error.code)


def _answer(request: MemberRequest, batch: Batch, *, status: int = 200, **context: Any) -> HttpResponse:
    """Render the case's outcome, and how many wait."""
    waiting = selectors.review_queue(batch.project).count()
    return _render(request, ANSWER, {"batch": batch, "waiting": waiting, **context}, status=status)


@row_page(BATCHES, LEAD, back="judging:batch")
def review_undo(request: MemberRequest, batch: Batch) -> HttpResponse:
    """Take a decision back; a page that stays shows the case again."""
    try:
        services.review_undo(batch=batch, lead=request.user)
    except JudgingError as error:
        if not request.htmx:
            raise
        review = BatchReview.objects.filter(batch=batch).first()
        answer = _answer(request, batch, status=error.status, review=review, refusal=str(error))
        return refusal_log(request, answer, error.code)
    if not request.htmx:
        messages.success(request, "Taken back: the query waits for a decision again.")
        return redirect("judging:batch", batch.uuid)
    [case] = cases_of(batch.project, [batch])
    return _answer(request, batch, case=case, is_back=True)


@project_page(LEAD)
def reviews_preview(request: MemberRequest, project: Project) -> HttpResponse:
    """Preview accepting suggestions together."""
    form = AcceptForm(request.GET)
    policy = policy_in_force(project.pk)
    choice: dict[str, Any] = form.cleaned_data if form.is_valid() else {"which": "all", "distance": 0.0}
    preview = accept_preview(
        project, policy, which=choice["which"], distance=choice["distance"] or 0.0, most=services.AT_ONCE
    )
    context = {"form": form, "preview": preview, "policy": policy, "most": services.AT_ONCE}
    return render(request, "judging/review/accept.html", context, status=200 if form.is_valid() else 422)


@project_action(LEAD, back="judging:reviews-preview")
def reviews_accept(request: MemberRequest, project: Project) -> HttpResponse:
    """Decide what was ticked in the preview, as it said."""
    choices = _chosen(request.POST.getlist("case"))
    if not choices:
        messages.error(request, "Nothing was ticked, so nothing was decided.")
        return redirect("judging:reviews-preview", project.uuid)
    outcome = services.reviews_accept(project=project, lead=request.user, choices=choices)
    messages.success(request, f"{outcome.extended} extended, {outcome.closed} closed.")
    if outcome.decided_before:
        messages.warning(request, f"Decided meanwhile: {', '.join(outcome.decided_before)}.")
    if outcome.otherwise:
        messages.warning(request, f"{outcome.otherwise} still wait: the rule suggests something else for them by now.")
    return redirect("judging:review-queue", project.uuid)


def _chosen(values: Sequence[str]) -> dict[UUID, bool]:
    """Batch and what is suggested for it; what cannot be read is left out."""
    choices = {}
    for value in values[: services.AT_ONCE]:
        name, _, word = value.partition(":")
        try:
            choices[UUID(name)] = {"extend": True, "close": False}[word]
        except (ValueError, KeyError):
            continue
    return choices
