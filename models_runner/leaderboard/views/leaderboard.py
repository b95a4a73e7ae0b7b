"""The leaderboard: runs of a release and split, best first, and its exports."""

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render

from accounts.access import RUNNERS, STAFF, MemberRequest, post_only, project_page
from accounts.models import Project
from judging.models import Release
from models_runner.leaderboard import files
from models_runner.leaderboard.charts import OVER_QUERIES, intervals_chart
from models_runner.leaderboard.selectors.asked import GROUPS, RECALL, Asked, asked_by, splits_of
from models_runner.leaderboard.selectors.leaderboard import Table, leaderboard_tested, runs_with_concerns, truth_sizes
from models_runner.leaderboard.selectors.shown_scores import participants_see, sees_all
from models_runner.leaderboard.services.participants import leaderboard_of
from models_runner.leaderboard.services.releases import similarity_runs_request
from models_runner.models import Run
from moment_retrieval.metrics.ndcg_iou import Convention, Gain

MOST_DRAWN = 30
FORMS = ("csv", "json", "tex")


@project_page(RUNNERS)
def runs(request: MemberRequest, project: Project) -> HttpResponse:
    """The runs of one release and split, with intervals, tests, and what has no relevance."""
    asked = asked_by(request.membership, request.GET)
    context: dict[str, object] = {"staff": sees_all(request.membership), "settings": leaderboard_of(project)}
    if asked is not None:
        context |= _board(request, project, asked)
    return render(request, "models_runner/leaderboard/leaderboard.html", context)


def _board(request: MemberRequest, project: Project, asked: Asked) -> dict[str, object]:
    table = leaderboard_tested(asked, request.membership)
    own = project.runs.filter(owner=request.user).select_related("release")[:10]
    settings, splits = leaderboard_of(project), splits_of(asked.release)
    return {
        "asked": asked,
        "table": table,
        "own": own,
        "at_work": table.waiting or any(run.is_at_work for run in own),
        "headings": [(column, asked.query(sort=column.metric)) for column in asked.columns],
        "groups": [
            (name, label, asked.query(show=name, sort=""))
            for name, label in GROUPS.items()
            if not (asked.is_blind and name == RECALL)
        ],
        "releases": project.releases.filter(state=Release.State.READY),
        "splits": splits,
        "open_splits": [split for split in splits if not settings.hides(split)],
        "conventions": [each.value for each in Convention],
        "gains": [each.value for each in Gain],
        "participants_see": participants_see(settings, asked.split, *truth_sizes(asked)),
        "concerns": runs_with_concerns(project, asked.split) if sees_all(request.membership) else [],
        "chart": _chart(table, asked),
    }


def _chart(table: Table, asked: Asked) -> str:
    metric = asked.sorted_by.metric
    rows = [(row.run.name, row.scores[metric]) for row in table.ranked[:MOST_DRAWN] if metric in row.scores]
    drawn = [(name, score.value, score.low, score.high) for name, score in rows]
    decimals = max((score.decimals for _, score in rows), default=0)
    about = "two steps each way" if asked.is_blind else OVER_QUERIES
    return intervals_chart(asked.sorted_by.metric, drawn, decimals, about).inline() if len(drawn) > 1 else ""


@project_page(RUNNERS)
def export(request: MemberRequest, project: Project, form: str) -> HttpResponse:
    """The leaderboard asked for as CSV, JSON or LaTeX."""
    asked = asked_by(request.membership, request.GET)
    if asked is None or form not in FORMS:
        raise Http404
    table = leaderboard_tested(asked, request.membership)
    name = f"leaderboard-{asked.release.version}-{asked.split}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if form == "json":
        return JsonResponse(files.as_json(asked, table), headers=headers)
    text, kind = (
        (files.as_csv(asked, table), "text/csv")
        if form == "csv"
        else (files.as_latex(asked, table), "application/x-tex")
    )
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)


@project_page(STAFF)
@post_only("models_runner:runs")
def similarity_run_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Make the similarity run of the newest release."""
    release = project.releases.filter(state=Release.State.READY).first()
    if release is None:
        messages.error(request, "Make a release first: a run is scored on one.")
    elif project.runs.filter(release=release, source=Run.Source.SIMILARITY, state=Run.State.SCORED).exists():
        messages.success(request, f"The similarity run on release {release.version} is there already.")
    else:
        similarity_runs_request(release=release, actor=request.user)
        messages.success(request, f"The similarity run on release {release.version} is being made.")
    return redirect("models_runner:runs", project.uuid)
