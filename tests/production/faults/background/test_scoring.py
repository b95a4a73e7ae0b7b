"""kill -9 while a run is read and scored: it is scored once, on every measure, and its person is told so."""

from datetime import timedelta

import pytest
from django.db.models import F

from accounts.models import Project, User
from core.models import AuditEvent
from judging.models import Release
from models_runner.leaderboard.services.runs import run_upload
from models_runner.models import PerQuery, Run, Score, Scoring
from moment_retrieval.metrics.leaderboard import COLUMNS
from tests.factories import MembershipFactory
from tests.models_runner.acts import run_json, uploaded
from tests.models_runner.benchmarks import trainable
from tests.production.faults.background.acts import KILLED, fresh, kill_at, lead_of, page_of, sweep
from tests.production.faults.latch import latch
from tests.production.topology import Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

SWEEP = "core.tasks.sweep"
NEED_A_POOL = [column for column in COLUMNS if column.metric.startswith(("infAP", "xinfAP"))]  # the release has none
ROWS = [["alpha" if n % 2 else "beta", n / 200, n / 200 + 1.0, 1000.0 - n] for n in range(900)]


def uploaded_run(project: Project, release: Release) -> Run:
    """A run of one query with as many answers as are read, by an admin."""
    member = MembershipFactory(project=project, role="admin", user=person(project))
    options = {"membership": member, "release": release, "split": "val", "system": "ours"}
    return run_upload(**options, file=uploaded(run_json({10: ROWS})))


def person(project: Project) -> User:
    return User.objects.create(username=f"brings-{project.uuid}")


@pytest.mark.parametrize("killed", KILLED)
def test_a_run_is_scored_once_after_a_kill(killed: str, site: Site) -> None:
    scenario = Scenario.make(annotators=0)
    project, lead = scenario.project, lead_of(site, scenario)
    release = trainable(project)
    with latch(site, "models_runner_score", event="INSERT", passing=len(COLUMNS) // 2) as closed:
        run = uploaded_run(project, release)
        kill_at(closed, site, killed)
        if killed == "worker":
            assert (fresh(run).state, Scoring.objects.get(run=run).state) == ("running", "waiting")
            assert f"<b>{fresh(run).get_step_display()}</b>" in page_of(site, lead, "models_runner:run", run.uuid)
        closed.open()
        site.bring_back(killed)
    Run.objects.filter(pk=run.pk, state="running").update(updated_at=F("updated_at") - timedelta(minutes=3))
    sweep(SWEEP)
    eventually(lambda: fresh(run).state == "scored")
    scoring = Scoring.objects.get(run=run, state="scored")
    assert Score.objects.filter(scoring=scoring).count() == len(COLUMNS) - len(NEED_A_POOL)
    assert PerQuery.objects.filter(scoring=scoring).count() == 1
    assert AuditEvent.objects.filter(project=project, action="run.upload").count() == 1
