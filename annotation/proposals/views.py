"""The page of proposals: order them, see how many moments they would make, use them, go on, undo."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page
from accounts.models import Project
from annotation.models import Proposal
from annotation.proposals import services
from annotation.proposals.detecting import THRESHOLD
from annotation.proposals.forms import ProposalForm
from annotation.proposals.rules import CAP, SEGMENT_LEAST_S, SEGMENT_MOST_S
from annotation.proposals.selectors import FAILURES_SHOWN, counts_shown, failures_of, moments_in_use
from core.exceptions import NotPossible
from core.lists import page_of

PAGE = "annotation:proposals"
PER_PAGE, EARLIER_SHOWN = 50, 20
SEGMENT_OFFERED_S = 5


@project_page(STAFF)
def proposals(request: MemberRequest, project: Project) -> HttpResponse:
    """The newest order with its videos, earlier ones, and the forms for another."""
    return _page(request, project, ProposalForm())


@project_action(STAFF, back=PAGE)
def start(request: MemberRequest, project: Project) -> HttpResponse:
    """Order proposals; shots are detected in the background."""
    form = ProposalForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form, status=422)
    options, corpus = form.cleaned_data["options"], project.dataset.corpus
    try:
        services.proposal_start(corpus=corpus, options=options, actor=request.user, project=project)
    except NotPossible as error:
        form.add_error(None, str(error))
        return _page(request, project, form, status=409)
    return redirect(PAGE, project.uuid)


def _action(change: Callable[..., Proposal]) -> Callable[..., HttpResponse]:
    """Make the view that changes the order named in the form; a refusal is shown on the page that follows."""

    @project_action(STAFF, back=PAGE)
    def page(request: MemberRequest, project: Project) -> HttpResponse:
        row = _named(project, request.POST.get("proposal", ""))
        try:
            change(proposal=row, actor=request.user, project=project)
        except NotPossible as error:
            messages.error(request, str(error))
        return redirect(PAGE, project.uuid)

    return page  # type: ignore[return-value]


use, cancel = _action(services.proposal_use), _action(services.proposal_cancel)
resume, undo = _action(services.proposal_resume), _action(services.proposal_undo)


def _named(project: Project, uuid: str) -> Proposal:
    try:
        return get_object_or_404(Proposal, uuid=UUID(uuid), corpus=project.dataset.corpus_id)
    except ValueError as error:
        raise Http404 from error


def _page(request: MemberRequest, project: Project, form: ProposalForm, status: int = 200) -> HttpResponse:
    corpus = project.dataset.corpus
    newest, *earlier = [*corpus.proposals.order_by("-pk")[: EARLIER_SHOWN + 1], None]
    videos = page_of(request, corpus.videos.order_by("name"), PER_PAGE)
    context = {
        "form": form,
        "corpus": corpus,
        "row": newest,
        "earlier": earlier[:-1],
        "page": videos,
        "without_file": corpus.videos.filter(file="").count(),
        "threshold": THRESHOLD,
        "cap": CAP,
        "segment_s": SEGMENT_OFFERED_S,
        "segment_least": SEGMENT_LEAST_S,
        "segment_most": SEGMENT_MOST_S,
    }
    if newest:
        failures = failures_of(newest)
        is_counted = newest.n_moments is not None
        context |= {
            "failures": failures[:FAILURES_SHOWN],
            "n_failures": failures.count(),
            "counts": counts_shown(newest, list(videos)) if is_counted else [],
            "in_use": moments_in_use(newest).count() if newest.may_be_undone else 0,
        }
    return render(request, "annotation/proposals/proposals.html", context, status=status)
