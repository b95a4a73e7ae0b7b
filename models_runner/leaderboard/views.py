"""Pages of runs: the leaderboard, uploads, comparisons, judging economy, and what participants are given."""

import mimetypes
from collections.abc import Iterator
from functools import partial
from typing import IO, cast
from uuid import UUID
from zipfile import ZipFile

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header

from accounts.access import LEAD, RUNNERS, STAFF, MemberRequest, grant, post_only, project_action, project_page
from accounts.models import Project, User
from accounts.uploads import receives_file, save_form
from core.exceptions import NotPossible
from core.files import file_answer
from core.lists import csv_download
from judging.models import Release
from judging.releases.selectors import archive_opened
from models_runner.ground_truths.selectors import truths_visible_to
from models_runner.leaderboard import files as leaderboard_files
from models_runner.leaderboard.charts import OVER_QUERIES, differences_chart, intervals_chart, scatter_chart
from models_runner.leaderboard.forms import SPLITS, LeaderboardForm, RunForm, ready_releases
from models_runner.leaderboard.rules import ECONOMY_COLUMNS, rows_of, table_rows
from models_runner.leaderboard.selectors.comparison import (
    MOST_RUNS,
    Comparison,
    case,
    comparison,
    comparison_in_steps,
    queries_named,
)
from models_runner.leaderboard.selectors.leaderboard import (
    FAMILY_OF_GROUP,
    FIRST,
    GROUPS,
    LeaderboardFilters,
    Table,
    filters_for,
    filters_of_query,
    has_kinds,
    kind_table,
    known_or_first,
    leaderboard,
    leaderboard_tested,
    scored_run,
    splits_of,
    truth_sizes,
)
from models_runner.leaderboard.selectors.shown_scores import (
    ScoreView,
    participants_see,
    run_granted,
    run_withdrawable,
    sees_all,
)
from models_runner.leaderboard.services import runs as run_services
from models_runner.leaderboard.services.economy import lacking, runs_of, study_create
from models_runner.leaderboard.services.participants import leaderboard_change, leaderboard_of
from models_runner.leaderboard.services.releases import similarity_runs_request
from models_runner.leaderboard.services.runs import run_upload, upload_check, upload_possible_at, uploads_in_all
from models_runner.leaderboard.services.score_tests import score_tests_schedule
from models_runner.leaderboard.services.scorings import n_without_relevant
from models_runner.models import EconomyStudy, Run, Scoring
from models_runner.tables.published_values import VCMR_SOURCE, systems_at, vcmr_of_systems
from models_runner.tables.selectors import status_of
from moment_retrieval.formats import FileFormat
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.statistics.economy import LEAST_RUNS

ABOUT_NDCG = "NDCG@K,IoU≥μ: K of 10, 20 and 40, μ of 0.3, 0.5 and 0.7, both conventions and gains."
MEASURES = {  # by group, for people
    "recall": "Recall of moments in the corpus: the share of queries with a relevant moment among the first K.",
    "svmr": "Recall of moments in the right video: as VCMR, predictions of other videos left out.",
    "vr": "Recall of videos: the share of queries with the video of a relevant moment among the first K predictions.",
    "highlights": "As QVHighlights scores moments: average precision of the ten predictions of the highest score, and "
    "whether the first reaches the overlap.",
    "estimates": "Where judgments are incomplete: condensed NDCG and bpref leave out predictions that nobody judged; "
    "infAP and xinfAP take what was pooled and not judged for unknown. Where batches are filled by rank, not drawn "
    "from strata of ranks, both are biased.",
}
SAMPLED = (
    "Pairs of this release were drawn at random from strata of ranks: xinfAP weighs each stratum by the share that was "
    "judged; infAP takes all for one stratum, and is biased where shares differ. Where a second batch was opened for "
    "some queries by the grades of their first one, xinfAP is too high for these and too low for the others."
)
BY_RANK = "Batches of this release were filled by rank, not at random: infAP and xinfAP are biased."
VCMR_GROUP = "recall"
MOST_DRAWN = 30
MOST_CONCERNS = 100
TEXTS = {"csv": ("text/csv", leaderboard_files.as_csv), "tex": ("application/x-tex", leaderboard_files.as_latex)}


@project_page(RUNNERS)
def runs(request: MemberRequest, project: Project) -> HttpResponse:
    """The runs of one release and split, with intervals, tests, and what has no relevance."""
    filters = filters_for(request.membership, request.GET)
    context: dict[str, object] = {"staff": sees_all(request.membership), "settings": leaderboard_of(project)}
    if filters is not None:
        context |= _board(request, project, filters)
    return render(request, "models_runner/leaderboard/leaderboard.html", context)


def _board(request: MemberRequest, project: Project, filters: LeaderboardFilters) -> dict[str, object]:
    table = leaderboard_tested(filters, request.membership)
    own = project.runs.filter(owner=request.user).select_related("release")[:10]
    settings, splits = leaderboard_of(project), splits_of(filters.release)
    releases = list(ready_releases(project))
    concerns = project.runs.filter(split=filters.split).exclude(concerns=[]).exclude(state=Run.State.WITHDRAWN)
    return {
        "filters": filters,
        "table": table,
        "own": own,
        "at_work": table.waiting or any(run.is_at_work for run in own),
        "headings": [(column, filters.query(sort=column.metric)) for column in filters.columns],
        "groups": [
            (name, label, filters.query(show=name, sort=""))
            for name, label in GROUPS.items()
            if not (filters.is_blind and name in FAMILY_OF_GROUP)
        ],
        "has_kinds": not filters.is_blind and has_kinds(filters),
        "by_kind": kind_table(filters, table) if request.GET.get("by") == "type" and not filters.counts_empty else None,
        "about_measures": about_measures(filters),
        "releases": releases,
        "is_similarity_run_missing": sees_all(request.membership) and not _has_similarity_run(releases[0]),
        "splits": splits,
        "open_splits": [split for split in splits if not settings.hides(split)],
        "n_without_relevant": _n_without_relevant(filters),
        "count_zero": f"?{filters.with_zero.query()}",
        "conventions": [each.value for each in Convention],
        "gains": [each.value for each in Gain],
        "participants_see": participants_see(settings, filters.split, *truth_sizes(filters)),
        "concerns": concerns.order_by("-pk")[:MOST_CONCERNS] if sees_all(request.membership) else [],
        "chart": _chart(table, filters),
        "published_open": request.GET.get("published") == "open",
        "beside": _beside_published(table, filters) if _has_published(request, table, filters) else None,
    }


def _n_without_relevant(filters: LeaderboardFilters) -> int:
    """Return how many judged queries have no relevant moment, where NDCG is shown to those who may know."""
    if filters.is_blind or not filters.is_ndcg:
        return 0
    return n_without_relevant(release=filters.release, split=filters.split)


def _has_published(request: MemberRequest, table: Table, filters: LeaderboardFilters) -> bool:
    return sees_all(request.membership) and bool(table.ranked) and not filters.counts_empty


def about_measures(filters: LeaderboardFilters) -> str:
    """Explain the measures shown, and what those that estimate are worth on this release."""
    if filters.group != "estimates":
        return MEASURES.get(filters.group, "")
    general, _, _ = MEASURES["estimates"].partition(" Where batches")
    return f"{general} {SAMPLED if filters.release.manifest.get('strata') else BY_RANK}"


def _beside_published(table: Table, filters: LeaderboardFilters) -> dict[str, object]:
    """Return what the papers print of the measures shown, and those of the best system; ``has_run`` is False where no
    run but that by similarity is there, and there are no rows where the papers print none."""
    convention, gain = Convention.RELEASED.value, Gain.EXPONENTIAL.value
    group = filters.group if filters.is_ndcg else FIRST
    query = filters.query(show=group, convention=convention, gain=gain, sort="")
    best = next((row for row in table.ranked if row.run.source != Run.Source.SIMILARITY), None)
    link: dict[str, object] = {"query": query, "has_run": best is not None}
    if best is None:
        return link
    if filters.group == VCMR_GROUP:
        systems = vcmr_of_systems([(column.k, column.mu) for column in filters.columns])
    elif filters.is_ndcg and (filters.convention, filters.gain) == (convention, gain):
        systems = systems_at(filters.columns[0].k or 0, filters.split)
    else:
        return link
    by_column = zip(filters.columns, zip(*(values for _, values in systems), strict=True), strict=True)
    columns = [column for column, values in by_column if any(value is not None for value in values)]
    rows = [
        (name, [value for column, value in zip(filters.columns, values, strict=True) if column in columns])
        for name, values in systems
    ]
    return {
        **link,
        "is_vcmr": filters.group == VCMR_GROUP,
        "vcmr_source": VCMR_SOURCE,
        "columns": columns,
        "best": best,
        "ours": [best.scores[column.metric].value for column in columns],
        "rows": rows,
        "status": status_of(filters.release, []),
    }


def _chart(table: Table, filters: LeaderboardFilters) -> str:
    metric = filters.sorted_by.metric
    rows = [(row.run.name, row.scores[metric]) for row in table.ranked[:MOST_DRAWN] if metric in row.scores]
    intervals = [(name, score.value, score.low, score.high) for name, score in rows]
    decimals = max((score.decimals for _, score in rows), default=0)
    about = "two steps each way" if filters.is_blind else OVER_QUERIES
    return intervals_chart(filters.sorted_by.metric, intervals, decimals, about).inline() if len(intervals) > 1 else ""


@project_page(RUNNERS)
def export(request: MemberRequest, project: Project, form: str) -> HttpResponse:
    """The requested leaderboard as CSV, JSON or LaTeX."""
    filters = filters_for(request.membership, request.GET)
    if filters is None or form not in ("json", *TEXTS):
        raise Http404
    table = leaderboard_tested(filters, request.membership)
    name = f"leaderboard-{filters.release.version}-{filters.split}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if form == "json":
        return JsonResponse(leaderboard_files.as_json(filters, table), headers=headers)
    kind, write = TEXTS[form]
    return HttpResponse(write(filters, table), content_type=f"{kind}; charset=utf-8", headers=headers)


def _has_similarity_run(release: Release) -> bool:
    return release.runs.filter(source=Run.Source.SIMILARITY, state=Run.State.SCORED).exists()


@project_action(STAFF, back="models_runner:runs")
def similarity_run_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Make the similarity run of the newest release."""
    release = project.releases.filter(state=Release.State.READY).first()
    if release is None:
        messages.error(request, "Make a release first: a run is scored on one.")
    elif _has_similarity_run(release):
        messages.success(request, f"The similarity run on release {release.version} is there already.")
    else:
        similarity_runs_request(release=release, actor=request.user)
        messages.success(request, f"The similarity run on release {release.version} is being made.")
    return redirect("models_runner:runs", project.uuid)


def _refused_unread(request: MemberRequest, project: Project) -> HttpResponse | None:
    """Answer a person who may not upload now."""
    try:
        upload_check(request.membership, timezone.now())
    except NotPossible as error:
        return _form_page(request, project, RunForm(project=project), 409, refusal=str(error))
    return None


@project_page(RUNNERS)
@receives_file(limit="RUN_MAX_MB", instead="pack it with gzip", refuse=_refused_unread)
def run_new(request: MemberRequest, project: Project) -> HttpResponse:
    """The form for a run; the file goes into a temporary one, piece by piece."""
    page = partial(_form_page, request, project)
    if request.method != "POST":
        return page(RunForm(project=project))
    create = partial(run_upload, membership=request.membership)
    return save_form(RunForm(request.POST, request.FILES, project=project), create, page, "models_runner:run")


def _form_page(
    request: MemberRequest, project: Project, form: forms.Form, status: int = 200, refusal: str = ""
) -> HttpResponse:
    now, membership, settings_of_project = timezone.now(), request.membership, leaderboard_of(project)
    context = {
        "form": form,
        "refusal": refusal,
        "most_mb": settings.RUN_MAX_MB,
        "forms": [option.value for option in FileFormat],
        "measures": [("NDCG", ABOUT_NDCG), *((GROUPS[group], words) for group, words in MEASURES.items())],
        "ready": ready_releases(project).exists(),
        "truths": truths_visible_to(membership).filter(state="ready").order_by("name"),
        "settings": settings_of_project,
        "limited": membership.is_participant,
        "possible_at": upload_possible_at(membership, now),
        "in_all": [
            (split, uploads_in_all(membership, split)) for split, _ in SPLITS if settings_of_project.hides(split)
        ],
        "now": now,
    }
    return render(request, "models_runner/leaderboard/run_new.html", context, status=status)


@login_required
def run_page(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """One run: how far it is, what is odd about it, and its scores on every release."""
    run, membership = run_granted(request, run_uuid)
    view = ScoreView(membership, run.split)
    scorings = run.scorings.select_related("release", "run").prefetch_related("scores").order_by("-release__version")
    score_rows = [(scoring, view.shown(scoring, scoring.scores.all()), view.refusal(scoring)) for scoring in scorings]
    context = {"run": run, "scorings": score_rows, "is_blind": view.is_blind, "staff": sees_all(membership)}
    if not view.is_blind and run.labels == Run.Labels.JUDGED:
        context["without_relevant"] = [
            (scoring.release.version, n)
            for scoring, scores, _ in score_rows
            if scores and (n := n_without_relevant(release=scoring.release, split=run.split))
        ]
    context["may_withdraw"] = run.owner_id and (membership.is_lead or run.owner_id == membership.user_id)
    return render(request, "models_runner/leaderboard/run.html", context)


@login_required
def run_download(request: HttpRequest, run_uuid: UUID) -> HttpResponseBase:
    """The file as it was uploaded, to its owner, leads and admins."""
    run, _ = run_granted(request, run_uuid)
    if run.state != Run.State.SCORED:
        raise Http404
    name = run.file_name if run.owner_id else f"{run.system}.{run.split}.json"
    kind, packed = mimetypes.guess_type(name)
    kind = "application/gzip" if packed == "gzip" else kind or "application/octet-stream"
    return file_answer(request, run.file, content_type=kind, filename=name)


@login_required
@post_only("models_runner:run")
def run_withdraw(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """Its owner or a lead takes a run off the leaderboard."""
    run = run_withdrawable(request, run_uuid)
    try:
        run_services.run_withdraw(run=run, actor=cast(User, request.user), reason=request.POST.get("reason", ""))
        messages.success(request, "Withdrawn. Its name is free again.")
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect("models_runner:run", run.uuid)


@project_page(RUNNERS)
def compare(request: MemberRequest, project: Project) -> HttpResponse:
    """Which queries make the difference between two runs."""
    filters = filters_for(request.membership, request.GET)
    if filters is None:
        return redirect("models_runner:runs", project.uuid)
    filters = filters.with_zero
    table = leaderboard(filters, request.membership, tested=False)
    one, other = (scored_run(filters, request.membership, request.GET.get(name, "")) for name in ("one", "other"))
    runs = [row.run for row in table.ranked]
    context: dict[str, object] = {
        "filters": filters,
        "runs": runs,
        "one": one,
        "other": other,
        "refusal": table.refusal,
    }
    if one and other and one != other and filters.is_blind:
        context["in_steps"] = comparison_in_steps(filters, one, other, ScoreView(request.membership, filters.split))
    elif one and other and one != other:
        result = comparison(filters, one, other)
        if result.test is None:
            score_tests_schedule(base=result.scores[0].pk, others=[result.scores[1].pk])
        context |= {"found": result, **_drawn(result, one, other)}
    return render(request, "models_runner/leaderboard/compare.html", context)


def _drawn(result: Comparison, one: Scoring, other: Scoring) -> dict[str, str]:
    first, second = one.run.name, other.run.name
    points = result.values.tolist()
    hill = differences_chart(f"Differences between {first} and {second}", [a - b for a, b in points])
    scatter = scatter_chart(f"{first} against {second}", first, second, points)
    return {"hill": hill.inline(), "scatter": scatter.inline()}


@project_page(RUNNERS)
def case_page(request: MemberRequest, project: Project) -> HttpResponse:
    """A query: what was judged, what up to three runs returned, and what that earned."""
    filters = filters_for(request.membership, request.GET)
    if filters is None:
        return redirect("models_runner:runs", project.uuid)
    filters = filters.with_zero
    if filters.is_blind:  # what a query scores tells its labels, piece by piece
        raise PermissionDenied
    table = leaderboard(filters, request.membership, tested=False)
    candidates = [scored_run(filters, request.membership, uuid) for uuid in request.GET.getlist("run")[:MOST_RUNS]]
    scorings = list(dict.fromkeys(scoring for scoring in candidates if scoring))
    scorings = scorings or [row.scoring for row in table.ranked[:MOST_RUNS]]
    query_id, staff = request.GET.get("query", ""), sees_all(request.membership)
    words = request.GET.get("words", "").strip()
    named_queries = queries_named(filters, words) if words or not query_id else []
    if words:
        query_id = named_queries[0][0] if len(named_queries) == 1 else ""
    result = case(filters, project, query_id, scorings, previews=staff) if query_id else None
    if result is None and query_id:
        raise Http404
    runs, chosen_runs = [row.run for row in table.ranked], [scoring.run_id for scoring in scorings]
    context = {
        **{"filters": filters, "case": result, "runs": runs, "chosen": chosen_runs, "staff": staff},
        **{"queries": named_queries, "words": words},
    }
    return render(request, "models_runner/leaderboard/case.html", context)


@project_page(STAFF)
def economy(request: MemberRequest, project: Project) -> HttpResponse:
    """How the ranking of a release's runs holds with fewer judgments."""
    filters = filters_of_query(project, request.GET)
    if filters is None:
        return render(request, "models_runner/leaderboard/economy.html", {"filters": None})
    studies = EconomyStudy.objects.filter(release=filters.release, split=filters.split)
    finished = studies.filter(state=EconomyStudy.State.DONE).first()
    context: dict[str, object] = {
        "filters": filters,
        "newest": studies.first(),
        "study": finished,
        "least": LEAST_RUNS,
        "releases": project.releases.filter(state=Release.State.READY),
        "splits": splits_of(filters.release),
        "runs": runs_of(filters.release, filters.split),
        "lacking": lacking(filters.release),
    }
    if finished is not None:
        measures = tuple(finished.result["measures"])
        measure = known_or_first(request.GET.get("measure"), measures)
        context |= {"measures": measures, "measure": measure, "rows": rows_of(finished.result, measures.index(measure))}
    return render(request, "models_runner/leaderboard/economy.html", context)


@project_action(STAFF, back="models_runner:economy")
def economy_study(request: MemberRequest, project: Project) -> HttpResponse:
    filters = filters_of_query(project, request.POST)
    if filters is None:
        raise Http404
    try:
        study_create(release=filters.release, split=filters.split, actor=request.user)
    except NotPossible as error:
        messages.error(request, str(error))
    where = f"?release={filters.release.version}&split={filters.split}"
    return redirect(reverse("models_runner:economy", args=[project.uuid]) + where)


@project_page(STAFF)
def economy_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every cut, measure and run."""
    filters = filters_of_query(project, request.GET)
    if filters is None:
        raise Http404
    finished = EconomyStudy.objects.filter(release=filters.release, split=filters.split, state=EconomyStudy.State.DONE)
    if (study := finished.first()) is None:
        raise Http404
    name = f"economy-{filters.release.version}-{filters.split}.csv"
    return csv_download(name, ECONOMY_COLUMNS, table_rows(study.result))


@project_page(RUNNERS)
def release_files(request: MemberRequest, project: Project) -> HttpResponse:
    """The files of every release that reveal no hidden label."""
    settings = leaderboard_of(project)
    files = [(release, leaderboard_files.listed(release, settings)) for release in ready_releases(project)]
    return render(request, "models_runner/leaderboard/files.html", {"releases": files, "settings": settings})


@login_required
def release_file(request: HttpRequest, release_uuid: UUID, name: str) -> StreamingHttpResponse:
    """One file of a release, straight from its archive."""
    release = get_object_or_404(Release.objects.select_related("project"), uuid=release_uuid)
    grant(request, release.project, RUNNERS)
    files = leaderboard_files.listed(release, leaderboard_of(release.project))
    if release.state != Release.State.READY or name not in {each.name for each in files}:
        raise Http404
    filename = f"release-{release.version}-{name}"
    if name in leaderboard_files.QUERIES:
        return FileResponse(leaderboard_files.queries_json(release, name), as_attachment=True, filename=filename)
    archive = ZipFile(archive_opened(release))
    headers = {"Content-Disposition": content_disposition_header(True, filename) or ""}
    content_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return StreamingHttpResponse(_pieces(archive, archive.open(name)), content_type=content_type, headers=headers)


def _pieces(archive: ZipFile, member: IO[bytes]) -> Iterator[bytes]:
    with archive, member:
        while piece := member.read(1 << 16):
            yield piece


@project_page(LEAD)
def leaderboard_settings(request: MemberRequest, project: Project) -> HttpResponse:
    """Edit hidden labels and upload limits of participants."""
    current = leaderboard_of(project)
    initial = {name: getattr(current, name) for name in LeaderboardForm.base_fields}
    form = LeaderboardForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        leaderboard_change(project=project, actor=request.user, **form.cleaned_data)
        messages.success(request, "Saved. It holds from now on.")
        return redirect("models_runner:settings", project.uuid)
    people = project.memberships.filter(roles=["participant"]).count()
    fields = [field for field in form if not field.name.startswith("hides")]
    context = {"form": form, "fields": fields, "participants": people}
    return render(request, "models_runner/leaderboard/settings.html", context, status=422 if form.errors else 200)
