"""Making a release: how far it is, what a failure and another try leave, and what the team says."""

import errno
from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import Project
from core import jobs
from core.exceptions import StorageFull, StorageUnavailable
from core.models import AuditEvent
from judging.exceptions import FormStale, NotPossibleNow
from judging.models import Release, ReleaseWords
from judging.releases import files, services
from judging.releases.services import RELEASES, release_build, release_create, release_retry, release_words_set
from tests.conftest import Messages
from tests.factories import NOW, ProjectFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def test_a_form_makes_one_release_however_often_it_is_sent(project: Project) -> None:
    form = {"project": project, "actor": lead(project), "key": uuid4(), "is_anonymised": True}
    release = release_create(**form)  # type: ignore[arg-type]
    events = AuditEvent.objects.count()
    assert release_create(**form) == release  # type: ignore[arg-type]
    for other in ({"is_anonymised": False}, {"includes_pilot": True}, {"project": ProjectFactory()}):
        with pytest.raises(FormStale, match="made another release already"):
            release_create(**{**form, **other})  # type: ignore[arg-type]
    assert (Release.objects.count(), AuditEvent.objects.count()) == (1, events)
    release_create(project=project, actor=None)
    release_create(project=project, actor=None)
    assert project.releases.count() == 3


def test_progress_goes_through_every_step(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "EVERY_S", 0)
    release = release_create(project=project, actor=None)
    progress_lines: list[str] = []
    write = files.write_content

    def watched(*args: object) -> object:
        *others, report = args

        def record_progress(step: str, n_done: int, total: int) -> None:
            report(step, n_done, total)  # type: ignore[operator]
            progress_lines.append(Release.objects.get(pk=release.pk).progress)

        return write(*others, record_progress)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "write_content", watched)
    release_build(release_id=release.pk)
    assert progress_lines == [
        "Writing judged queries: 0 of 3",
        "Writing judged queries: 3 of 3",
        "Writing videos and moments: 4 of 4",
        "Waiting for a worker",  # a step without a length yet
        "Ranking training queries: 2 of 2",
        "Writing judgments: 0 of 1",
    ]
    release.refresh_from_db()
    assert release.step == Release.Step.PACKING


def test_a_failed_one_says_why_and_another_try_makes_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, messages: Messages
) -> None:
    def full(*args: object) -> None:
        raise OSError("The disk is full")

    release = release_create(project=project, actor=None)
    with monkeypatch.context() as patch:
        patch.setattr(files, "pack", full)
        with pytest.raises(OSError, match="full"):
            release_build(release_id=release.pk)
    release.refresh_from_db()
    assert (release.state, release.error, release.archive.name) == ("failed", "The disk is full", "")
    person = lead(project)
    with messages():
        release_retry(release=release, actor=person)
        with pytest.raises(NotPossibleNow, match="preparing already"):
            release_retry(release=release, actor=person)
    release.refresh_from_db()
    assert (release.state, release.error) == ("ready", "")
    assert project.audit_events.filter(action="release.retry", actor=person).count() == 1


def test_what_does_not_move_is_sent_again(messages: Messages) -> None:
    idle_release, at_work = (release_create(project=ProjectFactory(), actor=None) for _ in range(2))
    Release.objects.filter(pk=idle_release.pk).update(moved_at=NOW - timedelta(minutes=3))
    Release.objects.filter(pk=at_work.pk).update(moved_at=NOW)
    with messages():
        RELEASES.sweep(NOW)
    states = dict(Release.objects.values_list("pk", "state"))
    assert (states[idle_release.pk], states[at_work.pk]) == ("ready", "preparing")


def test_the_log_says_which_words_changed_and_not_what_they_say() -> None:
    project = ProjectFactory()
    words = {"contact": "ada@example.org", "licence": "CC0", "url": ""}
    assert release_words_set(project=project, actor=lead(project), **words) == ["licence", "contact"]
    assert release_words_set(project=project, actor=None, **words) == []
    assert ReleaseWords.objects.get(project=project).contact == "ada@example.org"
    (event,) = project.audit_events.filter(action="release.words")
    assert event.data == {"changed": ["licence", "contact"]}


@pytest.mark.parametrize(
    "error", [StorageUnavailable(), StorageFull(), OSError(errno.ENOSPC, "No space left on device")]
)
def test_a_failing_storage_is_reported_and_retried(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    release = release_create(project=project, actor=None)

    def refuse(*args: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(services, "_archive_save", refuse)
        with pytest.raises(StorageUnavailable):
            release_build(release_id=release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.PREPARING
    assert release.error == (str(error) if isinstance(error, StorageUnavailable) else StorageFull.message)
    release_build(release_id=release.pk)
    release.refresh_from_db()
    assert (release.state, release.error) == (Release.State.READY, "")
