"""Two runs query by query, and one query as several runs answered it."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from accounts.access import RUNNERS, MemberRequest, project_page
from accounts.models import Project
from models_runner.leaderboard.charts import differences_chart, scatter_chart
from models_runner.leaderboard.selectors.asked import asked_by
from models_runner.leaderboard.selectors.cases import MOST_RUNS, case
from models_runner.leaderboard.selectors.comparison import Comparison, comparison, comparison_in_steps
from models_runner.leaderboard.selectors.leaderboard import leaderboard, scored_run
from models_runner.leaderboard.selectors.shown_scores import ScoreView, sees_all
from models_runner.leaderboard.services.score_tests import score_tests_order
from models_runner.models import Scoring


@project_page(RUNNERS)
def compare(request: MemberRequest, project: Project) -> HttpResponse:
    """Which queries make the difference between two runs."""
    asked = asked_by(request.membership, request.GET)
    if asked is None:
        return redirect("models_runner:runs", project.uuid)
    table = leaderboard(asked, request.membership, tested=False)
    one, other = (scored_run(asked, request.membership, request.GET.get(name, "")) for name in ("one", "other"))
    context: dict[str, object] = {
        "asked": asked,
        "runs": [row.run for row in table.ranked],
        "one": one,
        "other": other,
        "refusal": table.refusal,
    }
    if one and other and one != other and asked.is_blind:
        context["in_steps"] = comparison_in_steps(asked, one, other, ScoreView(request.membership, asked.split))
    elif one and other and one != other:
        found = comparison(asked, one, other)
        if found.test is None:
            score_tests_order(base=found.scores[0].pk, others=[found.scores[1].pk])
        context |= {"found": found, **_drawn(found, one, other)}
    return render(request, "models_runner/leaderboard/compare.html", context)


def _drawn(found: Comparison, one: Scoring, other: Scoring) -> dict[str, str]:
    names = one.run.name, other.run.name
    points = [(float(a), float(b)) for a, b in found.values]
    differences = [a - b for a, b in points]
    return {
        "hill": differences_chart(f"Differences between {names[0]} and {names[1]}", differences).inline(),
        "scatter": scatter_chart(f"{names[0]} against {names[1]}", *names, points).inline(),
    }


@project_page(RUNNERS)
def case_page(request: MemberRequest, project: Project) -> HttpResponse:
    """A query: what was judged, what up to three runs returned, and what that earned."""
    asked = asked_by(request.membership, request.GET)
    if asked is None:
        return redirect("models_runner:runs", project.uuid)
    if asked.is_blind:  # what a query scores tells its labels, piece by piece
        raise PermissionDenied
    table = leaderboard(asked, request.membership, tested=False)
    chosen = [scored_run(asked, request.membership, uuid) for uuid in request.GET.getlist("run")[:MOST_RUNS]]
    scorings = list(dict.fromkeys(scoring for scoring in chosen if scoring)) or [
        row.scoring for row in table.ranked[:MOST_RUNS]
    ]
    query_id = request.GET.get("query", "")
    previews = sees_all(request.membership)
    found = case(asked, project, query_id, scorings, previews=previews) if query_id else None
    if found is None and query_id:
        raise Http404
    context = {
        "asked": asked,
        "case": found,
        "runs": [row.run for row in table.ranked],
        "chosen": [scoring.run_id for scoring in scorings],
        "staff": sees_all(request.membership),
    }
    return render(request, "models_runner/leaderboard/case.html", context)
