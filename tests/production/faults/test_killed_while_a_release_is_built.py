"""kill -9 in the middle of building a release: it gets ready once, whole, and nothing half is offered before."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from judging.models import Batch, Release
from judging.review.services import batch_review
from tests.production.faults.crowd import swept_until
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario, always, judge_all
from tests.production.topology.site import eventually

READ_LATE = "annotation_caption"  # a release asks for it when it is well under way
WAITING = "SELECT count(*) FROM pg_locks WHERE relation = %s::regclass AND NOT granted"
VICTIMS = [("worker-1", "worker-2"), ("postgres",), ("redis",), ("web-1", "web-2")]


@contextmanager
def readers_blocked(site: Site) -> Iterator[None]:
    """Whoever reads READ_LATE waits inside the block, and is there when it begins."""
    lead_connection = site.postgres.connect(autocommit=False)
    try:
        lead_connection.execute(f"LOCK TABLE {READ_LATE} IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        lead_connection.close()


def waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING, [READ_LATE])
        return bool(cursor.fetchone()[0])


class ReleaseRequest:
    """A project that is judged, and its release, asked for by its lead."""

    def __init__(self, site: Site) -> None:
        self.scenario = Scenario.make(annotators=2)
        batch = self.scenario.batch(pairs=3)
        for user in self.scenario.annotators:
            judge_all(self.scenario.person(site, user), self.scenario, always(3))
        eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
        batch.refresh_from_db()
        batch_review(batch=batch, extend=False, lead=self.scenario.lead)
        self.lead = self.scenario.person(site, self.scenario.lead)

    def ask(self) -> None:
        path = reverse("judging:release-create", args=[self.scenario.project.uuid])
        assert self.lead.post(path).status_code == 200

    @property
    def release(self) -> Release:
        return Release.objects.get(project=self.scenario.project)

    def await_ready(self) -> None:
        """The minute after which a sweep takes it for lost has passed."""
        late = timezone.now() - timedelta(minutes=5)
        Release.objects.filter(pk=self.release.pk, state=Release.State.PREPARING).update(moved_at=late)
        swept_until(lambda: self.release.state == Release.State.READY)

    def assert_not_offered(self) -> None:
        page = self.lead.get(reverse("judging:release", args=[self.release.uuid]))
        assert page.status_code == 200 and "Preparing the files." in page.text and "Download" not in page.text
        assert self.lead.get(self.path).status_code == 404

    @property
    def path(self) -> str:
        return reverse("judging:release-download", args=[self.release.uuid])

    def assert_whole(self, lead: Person) -> None:
        answers = [lead.get(self.path)]
        while answers[-1].status_code == 503 and len(answers) < 9:  # a process that has not noticed that all is well
            answers.append(lead.get(self.path))
        content = answers[-1].content
        assert answers[-1].status_code == 200, [answer.status_code for answer in answers]
        assert hashlib.sha256(content).hexdigest() == self.release.archive_sha256
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.testzip() is None
            [sums] = [name for name in archive.namelist() if name.endswith("SHA256SUMS")]
            for line in archive.read(sums).decode().splitlines():
                digest, name = line.split("  ")
                assert hashlib.sha256(archive.read(name)).hexdigest() == digest
        assert self.release.manifest["counts"]["judgments"] == 6


def archives() -> set[str]:
    try:
        return set(default_storage.listdir("releases")[1])
    except FileNotFoundError:
        return set()


@pytest.mark.parametrize("names", VICTIMS, ids="+".join)
def test_it_gets_ready_once_and_whole(site: Site, names: tuple[str, ...]) -> None:
    release_request, before = ReleaseRequest(site), archives()
    with readers_blocked(site):
        release_request.ask()
        eventually(waits)
        release_request.assert_not_offered()
        site.kill(*names)
    site.bring_back(*names)
    release_request.await_ready()
    release_request.assert_whole(release_request.lead)
    assert len(archives() - before) == 1


def test_it_gets_ready_when_the_storage_is_back(bucket: Site) -> None:
    release_request, before = ReleaseRequest(bucket), archives()
    with readers_blocked(bucket):
        release_request.ask()
        eventually(waits)
        bucket.storage.kill()
    eventually(lambda: any("does not answer just now" in worker.log_output() for worker in bucket.workers))
    release_request.assert_not_offered()
    bucket.storage.start()
    release_request.await_ready()
    content = default_storage.open(str(release_request.release.archive.name)).read()
    assert hashlib.sha256(content).hexdigest() == release_request.release.archive_sha256
    assert len(archives() - before) == 1
