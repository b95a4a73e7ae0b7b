"""Durable work and its progress."""

from contextlib import nullcontext
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.models import Project
from core import jobs
from core.exceptions import NotPossible
from core.jobs import JobKind, job_fail, job_finish, job_set, job_start, job_wait, sweep_all
from core.models import Job
from tests.factories import ProjectFactory
from tests.locks import locked_elsewhere

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


def test_progress_stays_within_the_total_until_it_is_done(project: Project) -> None:
    job = start(project)
    for steps_done, percent in ((0, 0), (1, 33), (3, 100), (9, 100)):
        job_set(job=job, n_done=steps_done, title="Further")
        job.refresh_from_db()
        assert (job.percent, job.title) == (percent, "Further")
    job_set(job=job, n_done=1, title="Further")
    job_finish(job=job, title="Done")
    job.refresh_from_db()
    assert (job.state, job.percent, job.title) == ("done", 100, "Done")


def test_a_waiting_job_is_the_same_that_goes_on(project: Project) -> None:
    job = start(project)
    job_wait(job=job, title="Waits", error="nobody answers")
    assert start(project) == job
    job.refresh_from_db()
    assert (job.state, job.error, Job.objects.count()) == ("running", "", 1)


def test_an_ended_job_does_not_move(project: Project) -> None:
    job = start(project)
    job_fail(job=job, error="no disk")
    job_set(job=job, n_done=1, title="Further")
    job_finish(job=job, title="Done")
    job.refresh_from_db()
    assert (job.state, job.error, job.done, job.title) == ("failed", "no disk", 0, "Working")


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> JobKind[Job]:
    """A kind whose task nobody knows; only its own sweep is called."""
    monkeypatch.setattr(jobs, "SWEEPS", [])
    return JobKind(
        "tests.work",
        lambda: Job.objects.filter(state=Job.State.RUNNING),
        moved="updated_at",
        expected=(NotPossible,),
        unexpected="Something went wrong.",
    )


@pytest.mark.parametrize(
    ("error", "message", "is_raised"),
    [
        (NotPossible("No words."), "No words.", False),
        (OSError("No such file: /srv/hidden"), "Something went wrong.", True),
        (KeyError("secret"), "Something went wrong.", True),
        (NotPossible(f"a\0b{'c' * 5000}"), f"a\N{REPLACEMENT CHARACTER}b{'c' * 1997}", False),
        (NotPossible(""), "unknown", False),
        (OperationalError("away"), "running", True),
    ],
)
def test_an_error_is_the_rows_failure(
    kind: JobKind[Job], project: Project, error: Exception, message: str, is_raised: bool
) -> None:
    job = start(project)
    with pytest.raises(type(error)) if is_raised else nullcontext(), kind.claim(job.pk):
        raise error
    job.refresh_from_db()
    assert (job.error if job.state == "failed" else job.state) == message


def test_what_was_ended_meanwhile_does_not_fail(kind: JobKind[Job], project: Project) -> None:
    job = start(project)
    with kind.claim(job.pk):
        job_finish(job=job, title="Cancelled")
        raise NotPossible("too late")
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")


def test_an_error_without_words_for_its_owner_is_named(kind: JobKind[Job], project: Project) -> None:
    kind.unexpected = ""
    for error, message in ((OSError("No space left."), "No space left."), (KeyError("row"), "KeyError: 'row'")):
        job = start(project)
        with pytest.raises(type(error)), kind.claim(job.pk):
            raise error
        job.refresh_from_db()
        assert (job.state, job.error) == ("failed", message)


def test_a_cancelled_job_stops_the_work_and_what_is_left_of_it_is_removed(
    monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    cleaned: list[Job] = []
    monkeypatch.setattr(jobs, "SWEEPS", [])
    running = JobKind(
        "tests.work", lambda: Job.objects.filter(state=Job.State.RUNNING), moved="updated_at", clean=cleaned.append
    )
    job = start(project)
    before = job.updated_at
    with running.claim(job.pk) as row:
        assert row is not None
        running.move(row, done=2)
        job.refresh_from_db()
        assert (row.done, job.done, job.updated_at > before) == (2, 2, True)
        Job.objects.update(state=Job.State.DONE, title="Cancelled")
        running.move(row, done=3)
    job.refresh_from_db()
    assert (job.state, job.done, job.error, cleaned) == ("done", 2, "", [job])


def test_work_taken_up_again_starts_at_its_beginning(
    kind: JobKind[Job], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int]] = []
    monkeypatch.setattr(jobs, "send_on_commit", lambda task, key: calls.append((task, key)))
    job = start(project)
    job_set(job=job, n_done=2, title="Further")
    job_fail(job=job, error="no disk")
    kind.resume(job, state="running", title="Again")
    job.refresh_from_db()
    assert (job.state, job.error, job.done, job.total, job.title) == ("running", "", 0, 0, "Again")
    assert calls == [("tests.work", job.pk)]


@pytest.mark.django_db(transaction=True)
def test_one_process_has_it(kind: JobKind[Job], project: Project) -> None:
    job = start(project)
    with locked_elsewhere("tests.work", job.pk), kind.claim(job.pk) as row:
        assert row is None
    with kind.claim(job.pk) as row:
        assert row == job
    job_finish(job=job, title="Done")
    with kind.claim(job.pk) as row:
        assert row is None


def test_the_sweep_sends_what_has_not_moved(
    kind: JobKind[Job], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, now = start(project), timezone.now()
    job_finish(job=start(project, "other"), title="Done")
    calls: list[tuple[str, int]] = []
    monkeypatch.setattr(jobs, "send_on_commit", lambda task, key: calls.append((task, key)))
    sweep_all(now=now + timedelta(seconds=59))
    assert calls == []
    sweep_all(now=now + timedelta(minutes=3))
    assert calls == [("tests.work", job.pk)]


def test_one_sweep_that_fails_keeps_none_back(kind: JobKind[Job]) -> None:
    called = []
    jobs.swept(Mock(side_effect=OSError("no disk")))
    jobs.swept(called.append)
    with pytest.raises(ExceptionGroup, match="sweeps failed") as failed:
        sweep_all(now=timezone.now())
    assert len(called) == 1
    assert [str(error) for error in failed.value.exceptions] == ["no disk"]


def test_progress_is_written_once_a_second_and_when_another_step_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    progress, rows = jobs.Progress(Mock(), Mock(), None), []
    monkeypatch.setattr(progress, "write", lambda *row: rows.append(row))
    for now, row in enumerate([("read", 1, 9), ("read", 2, 9), ("read", 3, 9), ("score", 3, 9), ("score", 9, 9)]):
        monkeypatch.setattr(jobs, "monotonic", lambda now=now: 100 + now / 2)
        progress.report(*row)
    assert rows == [("read", 1, 9), ("read", 3, 9), ("score", 3, 9), ("score", 9, 9)]
