"""What fewer judgments would have said: the page, its order, its CSV."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import STAFF, MemberRequest, post_only, project_page
from accounts.models import Project
from core.exceptions import NotPossible
from core.spreadsheets import csv_download
from judging.models import Release
from models_runner.leaderboard.selectors.asked import Asked, asked_for, splits_of
from models_runner.leaderboard.selectors.economy import Row, rows_of, table_rows
from models_runner.leaderboard.services.economy import lacking, runs_of, study_create
from models_runner.models import EconomyStudy
from moment_retrieval.statistics.economy import LEAST_RUNS


@project_page(STAFF)
def economy(request: MemberRequest, project: Project) -> HttpResponse:
    """How the ranking of a release's runs holds with fewer judgments."""
    asked = asked_for(project, request.GET)
    context: dict[str, Any] = {"asked": asked}
    if asked is not None:
        newest = _newest(asked)
        done = newest if newest and newest.state == EconomyStudy.State.DONE else _newest(asked, EconomyStudy.State.DONE)
        context |= {
            "releases": project.releases.filter(state=Release.State.READY),
            "splits": splits_of(asked.release),
            "runs": runs_of(asked.release, asked.split),
            "least": LEAST_RUNS,
            "lacking": lacking(asked.release),
            "newest": newest,
            "study": done,
            "measures": done.result["measures"] if done else [],
            **_shown(request, done),
        }
    return render(request, "models_runner/leaderboard/economy.html", context)


def _newest(asked: Asked, state: str | None = None) -> EconomyStudy | None:
    studies = EconomyStudy.objects.filter(release=asked.release, split=asked.split)
    return (studies.filter(state=state) if state else studies).first()


def _shown(request: MemberRequest, study: EconomyStudy | None) -> dict[str, Any]:
    """The cuts by one measure."""
    if study is None:
        return {}
    measures: list[str] = study.result["measures"]
    measure = request.GET.get("measure", "")
    measure = measure if measure in measures else measures[0]
    rows: list[Row] = rows_of(study, measures.index(measure))
    return {"measure": measure, "rows": rows, "full": [row for row in rows if row.name == "full"]}


@project_page(STAFF)
@post_only("models_runner:economy")
def economy_study(request: MemberRequest, project: Project) -> HttpResponse:
    asked = asked_for(project, request.POST)
    if asked is None:
        raise Http404
    try:
        study_create(release=asked.release, split=asked.split, actor=request.user)
    except NotPossible as error:
        messages.error(request, str(error))
    where = f"?release={asked.release.version}&split={asked.split}"
    return redirect(reverse("models_runner:economy", args=[project.uuid]) + where)


@project_page(STAFF)
def economy_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every cut, measure and run."""
    asked = asked_for(project, request.GET)
    study = _newest(asked, EconomyStudy.State.DONE) if asked else None
    if asked is None or study is None:
        raise Http404
    columns, *rows = table_rows(study.result)
    return csv_download(f"economy-{asked.release.version}-{asked.split}.csv", map(str, columns), rows)
