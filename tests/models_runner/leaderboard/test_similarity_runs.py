"""The similarity run of a release: its ranking, its file, its scores."""

import json
from pathlib import Path

import pytest
from django.urls import reverse

from annotation.models import Candidate
from judging.models import Release
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.services.releases import similarity_runs_make, similarity_runs_request
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import Run, Score
from moment_retrieval import formats
from moment_retrieval.errors import InvalidRecord
from moment_retrieval.metrics.leaderboard import COLUMNS
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.metrics.report import evaluate
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.scenario import HandMade
from tests.judging.views.acts import logged_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def release(scenario: HandMade, tmp_path: Path) -> Release:
    """A ready release; its files are in tmp_path."""
    return release_build(release_id=release_create(project=scenario.project, actor=None).pk, folder=tmp_path)


def test_scores_equal_the_librarys(release: Release, tmp_path: Path) -> None:
    runs = similarity_runs_make(release_id=release.pk)
    assert [(run.split, run.state, run.n_queries) for run in Run.objects.order_by("-split")] == [
        ("val", "scored", 2),
        ("test", "scored", 1),
    ]
    for run in runs:
        with run.file.open("rb") as file:
            ranked = formats.parse_run(file.read())
        judged = formats.read_ground_truth(tmp_path / f"{run.split}.json")
        for convention in Convention:
            report = evaluate(ranked, judged, convention=convention, gain=Gain.EXPONENTIAL)
            scores = Score.objects.filter(scoring__run=run, convention=convention.value, gain=Gain.EXPONENTIAL.value)
            assert {(s.k, s.mu): s.value for s in scores} == {(m.k, m.mu): v for m, v in report.mean.items()}
        assert Score.objects.filter(scoring__run=run).count() == len(COLUMNS)
    best = Score.objects.get(scoring__run=runs[0], metric="NDCG@10,IoU>=0.7", convention="paper", gain="exponential")
    assert best.value == 1.0  # 4 before 2


def test_a_split_without_finished_queries_gives_no_run(scenario: HandMade) -> None:
    scenario.test.batches.first().review.delete()  # type: ignore[union-attr]
    scenario.test.batches.filter(number=2).update(state="open", done_at=None)
    for project, splits in ((scenario.project, ["val"]), (ProjectFactory(), [])):
        release = release_build(release_id=release_create(project=project, actor=None).pk)
        assert [run.split for run in similarity_runs_make(release_id=release.pk)] == splits


def test_failure_is_saved_and_a_repeat_may_succeed(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise InvalidRecord("broken on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(formats, "write_run", broken)
        similarity_runs_make(release_id=release.pk)
    assert set(Run.objects.values_list("state", "error")) == {("failed", "broken on purpose")}
    similarity_runs_make(release_id=release.pk)
    assert set(Run.objects.values_list("state", "error")) == {("scored", "")}


def test_a_request_ranks_frozen_candidates(release: Release, scenario: HandMade, messages: Messages) -> None:
    page = reverse("models_runner:runs", args=[release.project.uuid])
    truths_make(release)
    assert "Make the similarity run" in logged_in(scenario.lead).get(page).text
    with messages():
        similarity_runs_request(release=release, actor=scenario.lead)
    assert "Make the similarity run" not in logged_in(scenario.lead).get(page).text
    assert Run.objects.filter(state="scored").count() == 2
    event = scenario.project.audit_events.get(action="run.request")
    assert (event.actor, event.subject, event.data) == (scenario.lead, release.uuid, {"system": "similarity"})
    run, _ = similarity_runs_make(release_id=release.pk)
    with run.file.open("rb") as file:
        entries = json.load(file)
    rows = [["alpha", 1.0, 2.5, 0.99], ["alpha", 10.0, 20.25, 0.98], ["beta", 0.0, 3.0, 0.97]]
    assert entries == [
        {"query_id": 10, "query": "a person sings", "predictions": rows},
        {"query_id": 11, "query": "a person sings", "predictions": rows},
    ]
    assert len(rows) == Candidate.objects.filter(query=scenario.val).count()
