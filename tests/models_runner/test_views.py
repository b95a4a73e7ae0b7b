"""The page of runs."""

import re

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from annotation.models import Project
from judging.models import Release
from models_runner.models import Run
from tests.conftest import Messages
from tests.factories import ProjectFactory, lead
from tests.judging.world import HandMade

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def run(project: Project) -> Run:
    release = Release.objects.create(project=project, version=3)
    made = Run.objects.create(project=project, release=release, system="similarity", split="val")
    made.file.save("run.json", ContentFile(b"[]"), save=False)
    made.state = "scored"
    made.save()
    made.scores.create(convention="paper", gain="exponential", k=10, mu=0.3, value=0.25)
    made.scores.create(convention="released", gain="exponential", k=10, mu=0.3, value=0.75)
    return made


@pytest.fixture
def browser(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


def url(name: str, row: object) -> str:
    return reverse(f"models_runner:{name}", args=[row.uuid])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("asked", "value"), [("", "0.2500"), ("?convention=released", "0.7500"), ("?convention=nonsense", "0.2500")]
)
def test_scores_under_one_convention(browser: Client, project: Project, run: Run, asked: str, value: str) -> None:
    page = browser.get(url("runs", project) + asked).content.decode()
    assert re.findall(r">(0\.\d{4})<", page) == [value]
    assert url("run-download", run) in page


def test_failed_run_says_why(browser: Client, project: Project, run: Run) -> None:
    Run.objects.update(state="failed", error="no such video")
    assert 'title="no such video"' in browser.get(url("runs", project)).content.decode()


def test_download(browser: Client, run: Run) -> None:
    answer = browser.get(url("run-download", run))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="similarity.val.json"'
    assert b"".join(answer.streaming_content) == b"[]"  # type: ignore[attr-defined]


def test_a_run_needs_a_release(browser: Client, project: Project) -> None:
    answer = browser.post(url("run-create", project), follow=True)
    assert "Make a release first" in answer.content.decode()
    assert not Run.objects.exists()


def test_run_of_the_newest_release(client: Client, messages: Messages, encoder: object) -> None:
    made = HandMade()
    client.force_login(made.lead)
    with messages():
        client.post(reverse("judging:release-create", args=[made.project.uuid]))
    Run.objects.all().delete()
    with messages():
        answer = client.post(url("run-create", made.project))
    assert answer.headers["Location"] == url("runs", made.project)
    assert Run.objects.filter(release__version=1, state="scored").count() == 2
