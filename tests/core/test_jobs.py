"""Progress of long work."""

import pytest

from accounts.models import Project
from core.jobs import job_fail, job_finish, job_set, job_start, job_wait
from core.models import Job
from tests.factories import ProjectFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


def start(project: Project, kind: str = "demo") -> Job:
    return job_start(project=project, kind=kind, title="Working", total=3)


def test_one_running_job_of_a_kind(project: Project) -> None:
    assert start(project) == start(project) != start(project, "other")
    job_finish(job=start(project), title="Done")
    assert start(project).state == "running"
    assert Job.objects.filter(kind="demo").count() == 2


@pytest.mark.parametrize(("done", "percent"), [(0, 0), (1, 33), (3, 100), (9, 100)])
def test_progress_stays_within_the_total(project: Project, done: int, percent: int) -> None:
    job = start(project)
    job_set(job=job, done=done, title="Further")
    job.refresh_from_db()
    assert (job.percent, job.title) == (percent, "Further")


def test_a_waiting_job_is_the_same_that_goes_on(project: Project) -> None:
    job = start(project)
    job_wait(job=job, title="Waits", error="nobody answers")
    assert start(project) == job
    job.refresh_from_db()
    assert (job.state, job.error, Job.objects.count()) == ("running", "", 1)


def test_an_ended_job_does_not_move(project: Project) -> None:
    job = start(project)
    job_fail(job=job, error="no disk")
    job_set(job=job, done=1, title="Further")
    job_finish(job=job, title="Done")
    job.refresh_from_db()
    assert (job.state, job.error, job.done, job.title) == ("failed", "no disk", 0, "Working")


def test_finished(project: Project) -> None:
    job = start(project)
    job_finish(job=job, title="Done")
    job.refresh_from_db()
    assert (job.state, job.percent, job.title) == ("done", 100, "Done")
