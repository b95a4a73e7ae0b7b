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
from tests.factories import CaptionFactory, DescriptionFactory, MomentFactory, ProjectFactory, QueryFactory

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


def page(lead_client: Client, name: str, project: Project) -> str:
    return lead_client.get(reverse(f"judging:{name}", args=[project.uuid])).content.decode()


def test_after_freezing(lead_client: Client, project: Project) -> None:
    batches_open(project_id=project.pk)
    assert reverse("judging:caption-edits-said", args=[project.uuid]) in page(lead_client, "queries", project)
    assert page(lead_client, "caption-edits-said", project).strip() == ""
    assert "No edited caption" in page(lead_client, "caption-edits", project)
    Caption.objects.update(text="=A man waves")
    assert "1 caption was edited after its candidates were frozen" in page(lead_client, "caption-edits-said", project)
    text = page(lead_client, "caption-edits", project)
    assert "Ross waves" in text and "=A man waves" in text and "Rank them again" not in text
    changed = Caption.objects.get().text_changed_at
    assert changed is not None
    (row,) = csv.DictReader(StringIO(page(lead_client, "caption-edits-csv", project)))
    edit = {"made_of_it": "candidate", "frozen": "yes", "before": "Ross waves", "after": "'=A man waves"}
    edit |= {"video": "alpha", "start": "1.5", "end": "4.25", "serves": "yes", "queries": "7"}
    assert row == {**edit, "changed_at": changed.isoformat()}


def test_before_freezing_one_press_ranks_again(lead_client: Client, project: Project, messages: Messages) -> None:
    Caption.objects.update(text="A man waves")
    assert "edited since candidates were ranked" in page(lead_client, "caption-edits-said", project)
    assert "1 caption was edited since they were ranked" in page(lead_client, "caption-edits", project)
    with messages():
        answer = lead_client.post(reverse("judging:candidates-rank", args=[project.uuid]), follow=True)
    assert "Candidates are being ranked." in answer.content.decode()
    assert list(Candidate.objects.get().wordings.values()) == ["A man waves"]
    assert Job.objects.get(kind="ranking").state == "done"
    assert "No caption they were ranked by was edited since" in page(lead_client, "caption-edits", project)


def test_not_while_something_else_is_prepared(lead_client: Client, project: Project) -> None:
    Job.objects.create(project=project, kind="batches", title="Ranking", total=2)
    answer = lead_client.post(reverse("judging:candidates-rank", args=[project.uuid]))
    assert (answer.status_code, "being prepared" in answer.content.decode()) == (409, True)
    assert Candidate.objects.exists()
