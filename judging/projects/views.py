"""Pages of a project for its leads and admins: new project, state, policy, queries, query sets, edited captions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page, staff_page
from accounts.models import Project, User
from annotation.corpora.selectors import corpora_within_reach, corpus_is_seen
from annotation.models import Candidate, Moment, NamedQuerySet
from annotation.pools.rules import second_batch_size, strata_of
from annotation.queries.selectors import measures_of, queries_to_judge
from annotation.similarity.base import SimilarityMissing
from core.exceptions import NotPossible
from core.forms import errors_as_messages, is_valid_or_message, refused
from core.lists import csv_download, csv_stream, page_of
from judging.demo.services import demo_login
from judging.exceptions import PolicyStale, ScreeningTooShort
from judging.guidelines import services as guideline_services
from judging.guidelines.forms import LABELS, PolicyForm
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import guideline_in_force, policy_in_force
from judging.models import Batch, BatchReview, GuidelineDraft, Pair, Policy
from judging.pay.rules import Forecast
from judging.pay.selectors import expected_of
from judging.people.selectors import actor_names
from judging.projects import overview as projects_overview
from judging.projects import selectors, services
from judging.projects.charts import day_chart
from judging.projects.checklist import checklist_of
from judging.projects.find import find_named
from judging.projects.forms import (
    CollectionForm,
    ProjectForm,
    QuerySetChangeForm,
    QuerySetForm,
    RulesForm,
    SimilarityForm,
)
from judging.projects.services import collection_create, project_create, project_name_free
from judging.review.selectors import job_failed, job_running, queries_unfrozen, review_may_be_undone
from judging.review.views import cases_of, shared
from judging.studies.selectors import contributions
from judging.work.rules import PRESETS

PER_PAGE = 50
LONGEST_WORDS = 200


@project_page(STAFF)
def overview(request: MemberRequest, project: Project) -> HttpResponse:
    """How far the project is; the page polls, and gets 204 while nothing has changed."""
    policy = policy_in_force(project.pk)
    progress = projects_overview.overview(project, policy, now=timezone.now())
    if request.htmx and request.GET.get("seen") == progress["digest"]:
        return HttpResponse(status=204)
    context = {"found": progress, "chart": day_chart(progress["days"], progress["finish"].per_day), "policy": policy}
    if request.htmx:
        return render(request, "judging/projects/overview.html#state", context)
    is_prepared = project.is_demo and job_running(project) is not None  # then its steps are taken by themselves
    whole = {**context, "checklist": None if is_prepared else checklist_of(project), "demo": demo_login()}
    return render(request, "judging/projects/overview.html", whole)


@project_page(STAFF)
def find(request: MemberRequest, project: Project) -> HttpResponse:
    """Find what the typed words name: a page, or its list alone."""
    words = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_WORDS]
    sections = find_named(request.membership, words) if words else []
    template = "judging/projects/_found.html" if request.htmx else "judging/projects/find.html"
    return render(request, template, {"sections": sections, "words": words})


@project_page(STAFF)
def queries(request: MemberRequest, project: Project) -> HttpResponse:
    """Judged queries with the state of their batches."""
    batches = Batch.objects.filter(project=project).select_related("query", "review", "pooling")
    if words := request.GET.get("q", "").replace("\0", "").strip():
        batches = batches.filter(query__text__icontains=words)
    if (state := request.GET.get("state", "")) in Batch.State.values:
        batches = batches.filter(state=state)
    pairs = Pair.objects.filter(batch=OuterRef("pk")).order_by().values("batch")
    counts = {name: pairs.filter(state=name) for name in ("settled", "escalated", "dropped")} | {"total": pairs}
    first = Candidate.objects.filter(query=OuterRef("query"), rank=1, moment__preview_state=Moment.Preview.READY)
    batches = batches.annotate(  # of the rows of one page alone
        poster=Subquery(first.values("moment__preview_uuid")[:1]),
        **{name: Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n")), 0) for name, rows in counts.items()},
    ).order_by("query__number", "number")
    page = page_of(request, batches, PER_PAGE)
    context = {
        "page": page,
        "words": words,
        "state": state,
        "without_batch": queries_to_judge(project.pk).filter(batches__isnull=True).count(),
        "job": job_running(project),
        "stopped": job_failed(project, services.JOB),
        "measures": measures_of(project),
        "candidates": Candidate.objects.filter(query__project=project, query__is_placeholder=False).count(),
        "unfrozen": queries_unfrozen(project).count(),
        "is_seen": corpus_is_seen(project.dataset.corpus_id),
        "form": SimilarityForm(similarity=project.dataset.similarity),
    }
    return render(request, "judging/projects/queries.html", context)


@project_action(STAFF, back="judging:queries")
def batches_open(request: MemberRequest, project: Project) -> HttpResponse:
    """Rank candidates and open the first batch of every judged query that has none."""
    return _rank(request, project, services.batches_request, "Candidates are being ranked; then batches open.")


@project_action(STAFF, back="judging:queries")
def candidates_rank(request: MemberRequest, project: Project) -> HttpResponse:
    """Rank candidates, anew for queries without a batch, and open nothing."""
    return _rank(request, project, services.candidates_request, "Candidates are being ranked.")


def _rank(request: MemberRequest, project: Project, service: Callable[..., object], message: str) -> HttpResponse:
    similarity = None
    if "similarity" in request.POST:
        form = SimilarityForm(request.POST, similarity=project.dataset.similarity)
        if not is_valid_or_message(request, form):
            return redirect("judging:queries", project.uuid)
        similarity = form.cleaned_data["similarity"]
    with errors_as_messages(request, SimilarityMissing):
        service(project=project, actor=request.user, similarity=similarity)
        messages.success(request, message)
    return redirect("judging:queries", project.uuid)


@row_page(Batch.objects.select_related("project", "query"), STAFF)
def batch(request: MemberRequest, row: Batch) -> HttpResponse:
    """Show one batch: its candidates by rank, grades behind each."""
    [case] = cases_of(row.project, [row])
    review = BatchReview.objects.filter(batch=row).select_related("batch").first()
    returned = contributions(row["pair"].candidate_id for row in case["rows"])
    context = {
        **shared(request),
        "batch": row,
        "case": case,
        "rows": [{**row, "returned": returned.get(row["pair"].candidate_id, [])} for row in case["rows"]],
        **{name: case[name] for name in ("bars", "grid", "width")},
        "review": review,
        "undoable": review is not None and review_may_be_undone(review),
        "waiting": row.awaits_review,
        "suggestion": case["outlook"].suggestion,
        "others": row.query.batches.exclude(pk=row.pk).order_by("number"),
    }
    return render(request, "judging/projects/batch.html", context)


PAGE = "judging/projects/project_new.html"


@staff_page
def project_new(request: HttpRequest, corpus_uuid: UUID) -> HttpResponse:
    """The form for a name and whose settings it begins with; whoever sends it becomes its lead and admin."""
    user = cast(User, request.user)
    corpus = get_object_or_404(corpora_within_reach(user), uuid=corpus_uuid, is_placeholder=False)
    context: dict[str, Any] = {
        "corpus": corpus,
        "form": ProjectForm(corpus=corpus, user=user, initial={"name": project_name_free(base_name=corpus.name)}),
    }
    if request.method != "POST":
        return render(request, PAGE, context)
    form = context["form"] = ProjectForm(request.POST, corpus=corpus, user=user)
    if not form.is_valid():
        return render(request, PAGE, context, status=422)
    try:
        project, _ = project_create(corpus=corpus, leads=[user], actor=user, **form.cleaned_data)
    except NotPossible as error:
        form.add_error("name", str(error))
        return render(request, PAGE, context, status=409)
    messages.success(request, f"{project.name} is made, and you are its lead and admin.")
    return redirect("annotation:corpus", project.uuid)


COLLECTION_PAGE = "judging/projects/collection_new.html"


@staff_page
def collection_new(request: HttpRequest) -> HttpResponse:
    """The form for a new corpus, to begin with its videos; whoever sends it leads the project over it."""
    form = CollectionForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return render(request, COLLECTION_PAGE, {"form": form})
    if not form.is_valid():
        return render(request, COLLECTION_PAGE, {"form": form}, status=422)
    try:
        project = collection_create(actor=cast(User, request.user), **form.cleaned_data)
    except NotPossible as error:
        form.add_error("name", str(error))
        return render(request, COLLECTION_PAGE, {"form": form}, status=409)
    messages.success(request, f"{project.name} is made, and you are lead and admin of it. Add its videos here.")
    return redirect("annotation:corpus", project.uuid)


RULES_PAGE = "judging/projects/rules.html"


@project_page(STAFF)
def rules(request: MemberRequest, project: Project) -> HttpResponse:
    """Show by what rules pairs are settled, and what they and others cost in judgments."""
    return render(request, RULES_PAGE, _rules_context(project, RulesForm(instance=project)))


def _rules_context(project: Project, form: RulesForm) -> dict[str, Any]:
    columns = [("Here", project)]
    if form.is_bound and form.is_valid():
        columns.append(("Your choice", form.instance))
    columns += [(label, Project(**values)) for label, values in PRESETS.values()]
    guideline = project.guidelines.order_by("version").last()
    return {
        "form": form,
        "fixed_by": services.rules_fixed_by(project),
        "levels": list(enumerate(guideline.levels))[::-1] if guideline else [],
        "has_draft": GuidelineDraft.objects.filter(project=project).exists(),
        "columns": [
            (label, row, second_batch_size(row.batch_size, strata_of(row.strata)), _costs(project, row))
            for label, row in columns
        ],
    }


def _costs(project: Project, row: Project) -> list[float]:
    """Count the judgments of a pair and of 100 queries by the rules of ``row``, second batches as in the paper."""
    here = projects_overview.assumptions_of(project) if row is project else expected_of(row)
    second = here.second * second_batch_size(row.batch_size, strata_of(row.strata)) / row.batch_size
    forecast = Forecast(replace(here, queries=100, second=second))
    return [round(here.judges * (1 + here.escalated), 2), round(forecast.judging.judgments)]


@project_action(LEAD, back="judging:rules")
def rules_change(request: MemberRequest, project: Project) -> HttpResponse:
    """Give the project other rules, or show only what they would cost. Batches taken back are opened anew by a lead."""
    form = RulesForm(request.POST, instance=Project.objects.get(pk=project.pk))
    if not form.is_valid():
        note = "Nothing was changed; look at the values."
        return refused(request, RULES_PAGE, _rules_context(project, form), note)
    if "only_costs" in request.POST:
        return render(request, RULES_PAGE, _rules_context(project, form))
    n_batches = services.rules_change(project=project, actor=request.user, values=form.changes)
    if project.top_grade != form.cleaned_data["top_grade"]:
        versions = f"guideline {guideline_in_force(project.pk).version}, policy {policy_in_force(project.pk).version}"
        messages.info(request, f"Versions of another scale are in force: {versions}. Look at both.")
    messages.success(request, "The rules are changed.")
    if n_batches:
        messages.info(request, f"Batches taken back, as nobody had begun them: {n_batches}. Open them under Queries.")
    return redirect("judging:rules", project.uuid)


POLICY_PAGE = "judging/projects/policy.html"


@project_page(STAFF)
def policy(request: MemberRequest, project: Project) -> HttpResponse:
    if not project.policies.exists():
        raise NotPossible("This project has no policy yet.")
    in_force = policy_in_force(project.pk)
    form = PolicyForm(instance=in_force, initial={"version": in_force.version})
    return render(request, POLICY_PAGE, _context(request, project, form))


def _context(request: MemberRequest, project: Project, form: PolicyForm) -> dict[str, Any]:
    names = actor_names(project, to_lead=request.membership.is_lead)
    history = []
    versions = list(project.policies.order_by("-version"))
    for after, before in zip_longest(versions, versions[1:]):
        actor = after.created_by_id
        who = names.get(actor, "somebody who has left") if actor else "the system"
        values = [(LABELS[name][0], getattr(before or after, name), getattr(after, name)) for name in POLICY_VALUES]
        history.append((after, who, [(label, old, new) for label, old, new in values if old != new]))
    return {
        "form": form,
        "policy": policy_in_force(project.pk),
        "history": history,
    }


@project_action(LEAD, back="judging:policy")
def policy_publish(request: MemberRequest, project: Project) -> HttpResponse:
    """A new version with what the form changed; judgments keep the one they were given under."""
    before = policy_in_force(project.pk)
    form = PolicyForm(request.POST, instance=Policy(project=project))
    if not form.is_valid():
        note = "Nothing was saved yet; look at the values."
        return refused(request, POLICY_PAGE, _context(request, project, form), note)
    seen_version = form.cleaned_data.pop("version")
    try:
        new_policy = guideline_services.policy_publish(
            project=project, actor=request.user, seen_version=seen_version, **form.cleaned_data
        )
    except (PolicyStale, ScreeningTooShort) as error:
        return refused(request, POLICY_PAGE, _context(request, project, form), str(error), status=error.status)
    if new_policy.version == before.version:
        messages.info(request, "Nothing was changed.")
    else:
        messages.success(request, f"Version {new_policy.version} is in force.")
    return redirect("judging:policy", project.uuid)


@project_page(STAFF)
def query_sets(request: MemberRequest, project: Project) -> HttpResponse:
    context = {
        "sets": selectors.query_sets_with_counts(project),
        "priorities": NamedQuerySet.Priority.choices,
        "outside": queries_to_judge(project.pk).filter(query_set__isnull=True).count(),
        "form": QuerySetForm(),
    }
    return render(request, "judging/projects/query_sets.html", context)


@project_action(LEAD, back="judging:query-sets")
def query_set_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = QuerySetForm(request.POST)
    if not is_valid_or_message(request, form):
        return redirect("judging:query-sets", project.uuid)
    name, split, words = (form.cleaned_data[field] for field in ("name", "split", "words"))
    queries = selectors.queries_matching(project, split=split, words=words)
    with errors_as_messages(request, NotPossible):
        new_set = services.query_set_create(project=project, name=name, queries=queries, actor=request.user)
        messages.success(request, f"{new_set.name} holds {new_set.queries.count()} queries.")
    return redirect("judging:query-sets", project.uuid)


QUERY_SETS = NamedQuerySet.objects.select_related("project")


@row_page(QUERY_SETS, LEAD, back="judging:query-set")
def query_set_change(request: MemberRequest, row: NamedQuerySet) -> HttpResponse:
    form = QuerySetChangeForm(request.POST)
    if is_valid_or_message(request, form):
        paused = {"pause": True, "resume": False}.get(form.cleaned_data["pause"])
        pilot = {"yes": True, "no": False}.get(form.cleaned_data["pilot"])
        change = {"priority": form.cleaned_data["priority"], "is_paused": paused, "is_pilot": pilot}
        services.query_set_change(query_set=row, actor=request.user, **change)
        row.refresh_from_db()
        state = ("paused" if row.is_paused else "open") + (", a pilot" if row.is_pilot else "")
        messages.success(request, f"{row.name}: priority {row.get_priority_display().lower()}, {state}.")
    return redirect("judging:query-sets", row.project.uuid)


@row_page(QUERY_SETS, STAFF)
def query_set(request: MemberRequest, row: NamedQuerySet) -> HttpResponse:
    """Redirect somebody who follows a set's address to its row among the others."""
    return redirect("judging:query-sets", row.project.uuid)


CHUNK = 2000  # rows read, and sent, at once
COLUMNS: dict[str, str] = {
    "query_id": "query__number",
    "split": "query__split",
    "query": "query__text",
    "rank": "rank",
    "similarity": "similarity",
    "source": "source",
    "video_name": "moment__video__name",
    "start": "moment__start_s",
    "end": "moment__end_s",
    "captions": "wordings",
    "measure": "measure__name",
}


@project_page(STAFF)
def candidates_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    return csv_stream("candidates.csv", list(COLUMNS), _rows(project))


def _rows(project: Project) -> Iterator[list[object]]:
    rows = Candidate.objects.filter(query__project=project, query__is_placeholder=False)
    candidates: QuerySet[Any] = rows.order_by("query__number", "rank").values_list(*COLUMNS.values())
    for *facts, wordings, measure in candidates.iterator(chunk_size=CHUNK):
        text = " | ".join(wordings[key] for key in sorted(wordings, key=int))
        yield [*facts, text, measure]


EDIT_COLUMNS = ["made_of_it", "frozen", "video", "start", "end", "before", "after", "serves", "changed_at", "queries"]


@project_page(STAFF)
def caption_edits(request: MemberRequest, project: Project) -> HttpResponse:
    """Show texts that read otherwise now; candidates that no batch holds can be ranked again."""
    edits = selectors.caption_edits(project)
    context = {
        "counts": selectors.edit_counts(project),
        "page": page_of(request, edits, PER_PAGE),
        "unfrozen": queries_unfrozen(project).count(),
        "job": job_running(project),
    }
    return render(request, "judging/projects/caption_edits.html", context)


@project_page(STAFF)
def edits_notice(request: MemberRequest, project: Project) -> HttpResponse:
    """A line for the page of queries, which need not wait until everything is compared."""
    return render(request, "judging/projects/_edits_said.html", {"edits": selectors.edit_counts(project)})


@project_page(STAFF)
def caption_edits_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return csv_download("caption-edits.csv", EDIT_COLUMNS, map(_row, selectors.caption_edits(project)))


def _row(edit: Any) -> list[object]:
    changed = edit.changed_at.isoformat() if edit.changed_at else ""
    frozen, serves = ("yes" if flag else "no" for flag in (edit.frozen, edit.serves))
    span = [edit.video, edit.start_s, edit.end_s]
    return [edit.kind, frozen, *span, edit.before, edit.after, serves, changed, " ".join(map(str, edit.queries))]
