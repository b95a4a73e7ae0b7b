"""The page of edited captions, its file, and ranking again."""

import csv
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Candidate, Caption
from annotation.pools.services.candidates import candidates_rank
from core.models import Job
from judging.work.services.batches import batches_open
from tests.conftest import Messages
from tests.factories import CaptionFactory, DescriptionFactory, MomentFactory, ProjectFactory, QueryFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def project() -> Project:
    """One query, ranked over one caption."""
    new_project: Project = ProjectFactory()
    moment = MomentFactory(video__corpus=new_project.dataset.corpus, video__name="alpha")
    CaptionFactory(description=DescriptionFactory(moment=moment), moment=moment, text="Ross waves")
    QueryFactory(project=new_project, number=7)
    candidates_rank(project_id=new_project.pk)
    return new_project


@pytest.fixture
def browser(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


def page(browser: Client, name: str, project: Project) -> str:
    return browser.get(reverse(f"judging:{name}", args=[project.uuid])).content.decode()


def test_after_freezing(browser: Client, project: Project) -> None:
    batches_open(project_id=project.pk)
    assert reverse("judging:caption-edits-said", args=[project.uuid]) in page(browser, "queries", project)
    assert page(browser, "caption-edits-said", project).strip() == ""
    assert "No edited caption" in page(browser, "caption-edits", project)
    Caption.objects.update(text="=A man waves")
    assert "1 caption was edited after its candidates were frozen" in page(browser, "caption-edits-said", project)
    text = page(browser, "caption-edits", project)
    assert "Ross waves" in text
    assert "=A man waves" in text
    assert "Rank them again" not in text
    changed = Caption.objects.get().text_changed_at
    assert changed is not None
    (row,) = csv.DictReader(StringIO(page(browser, "caption-edits-csv", project)))
    assert row == {
        "made_of_it": "candidate",
        "frozen": "yes",
        "video": "alpha",
        "start": "1.5",
        "end": "4.25",
        "before": "Ross waves",
        "after": "'=A man waves",
        "serves": "yes",
        "changed_at": changed.isoformat(),
        "queries": "7",
    }


def test_before_freezing_one_press_ranks_again(browser: Client, project: Project, messages: Messages) -> None:
    Caption.objects.update(text="A man waves")
    assert "edited since candidates were ranked" in page(browser, "caption-edits-said", project)
    assert "1 caption was edited since they were ranked" in page(browser, "caption-edits", project)
    with messages():
        answer = browser.post(reverse("judging:candidates-rank", args=[project.uuid]), follow=True)
    assert "Candidates are being ranked." in answer.content.decode()
    assert list(Candidate.objects.get().wordings.values()) == ["A man waves"]
    assert Job.objects.get(kind="ranking").state == "done"
    assert "No caption they were ranked by was edited since" in page(browser, "caption-edits", project)


def test_not_while_something_else_is_prepared(browser: Client, project: Project) -> None:
    Job.objects.create(project=project, kind="batches", title="Ranking", total=2)
    answer = browser.post(reverse("judging:candidates-rank", args=[project.uuid]))
    assert (answer.status_code, "being prepared" in answer.content.decode()) == (409, True)
    assert Candidate.objects.exists()
