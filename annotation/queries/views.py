"""The page of splits: how queries are drawn, what a draw gives, and the queries there are."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import STAFF, MemberRequest, project_action, project_page
from accounts.models import Project
from annotation.models import Query
from annotation.queries import selectors
from annotation.queries.forms import ConfirmForm, DrawForm
from annotation.queries.rules import JUDGED, NONE_OF, NoSplit
from annotation.queries.services import queries_draw
from core.exceptions import NotPossible
from core.lists import page_of

PER_PAGE = 50
PAGE = "annotation:splits"
FEWEST_FOR_SHARES = 20  # texts, of which 5 % are one


@project_page(STAFF)
def splits(request: MemberRequest, project: Project) -> HttpResponse:
    """The queries with their splits; with sizes in the address, what a draw with them would come to."""
    if "val" not in request.GET:
        return _page(request, project, None)
    form = DrawForm(request.GET)
    return _page(request, project, form, status=200 if form.is_valid() else 422)


@project_action(STAFF, back=PAGE)
def draw(request: MemberRequest, project: Project) -> HttpResponse:
    """Draw what was shown."""
    form = ConfirmForm(request.POST)
    if not form.is_valid():  # nothing was shown yet, or it cannot be read
        query_string = urlencode({name: request.POST.get(name, "") for name in ("val", "test", "seed")})
        return redirect(f"{reverse(PAGE, args=[project.uuid])}?{query_string}")
    try:
        seed, again = form.cleaned_data["seed"], form.cleaned_data["again"]
        counts = queries_draw(
            project=project, sizes=form.sizes(), seed=seed, actor=request.user, again=again, expected_counts=form.seen()
        )
    except NotPossible as error:
        return _page(request, project, DrawForm(request.POST), fault=str(error), status=409)
    n_queries = sum(counts[split] for split in Query.Split.values)
    messages.success(request, f"{n_queries:,} queries are drawn.")
    return redirect(PAGE, project.uuid)


def _page(
    request: MemberRequest, project: Project, form: DrawForm | None, *, fault: str = "", status: int = 200
) -> HttpResponse:
    source, counts = selectors.source_of(project.dataset.corpus_id), selectors.split_counts(project)
    if form is None:
        sizes = {**_first_sizes(source), "seed": 1}
        may_draw = not any(counts.values()) and source.texts >= len(JUDGED)
        form = DrawForm(sizes) if may_draw else DrawForm(initial=sizes)  # the first draw is shown at once
    draft = None
    if form.is_valid():
        draft = _draft(project, form)
        status = status if draft else max(status, 422)
    event = selectors.last_draw(project)
    context = {
        "source": source,
        "form": form,
        "draft": draft,
        "none_of": [NONE_OF[split] for split in JUDGED if draft and not draft[split]],
        "fault": fault,
        "counts": counts,
        "drawn": sum(counts.values()),
        "event": event,
        "by": event and selectors.drawn_by(project, event),
        "uses": selectors.uses_of_queries(project),
        **_queries(request, project),
    }
    return render(request, "annotation/queries/splits.html", context, status=status)


def _first_sizes(source: selectors.Source) -> dict[str, str]:
    """Return the paper's sizes where the corpus has as many texts, else shares of them; one each of very few."""
    if source.suits_the_paper:
        return {"val": "500", "test": "2781"}
    return {"val": "5%", "test": "20%"} if source.texts >= FEWEST_FOR_SHARES else {"val": "1", "test": "1"}


def _draft(project: Project, form: DrawForm) -> dict[str, int] | None:
    try:
        return selectors.draft_of(project.dataset.corpus_id, form.sizes(), form.cleaned_data["seed"]).counts
    except NoSplit as error:
        form.add_error(None, str(error))
        return None


def _queries(request: MemberRequest, project: Project) -> dict[str, object]:
    """The queries that the page lists, and what they were narrowed to."""
    queries = project.queries.filter(is_placeholder=False).select_related("caption__description").order_by("number")
    if words := request.GET.get("q", "").replace("\0", "").strip():
        queries = queries.filter(text__icontains=words)
    if (split := request.GET.get("split", "")) in Query.Split.values:
        queries = queries.filter(split=split)
    page = page_of(request, queries, PER_PAGE)
    return {"page": page, "words": words, "split": split}
