"""The page of the corpus."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.corpora.selectors import next_step
from annotation.models import Caption, TrainSet
from annotation.queries.services import queries_draw
from tests.factories import (
    CandidateFactory,
    CaptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)

pytestmark = pytest.mark.django_db


def page(client: Client, project: Project, query: str = "") -> str:
    client.force_login(lead(project))
    return client.get(reverse("annotation:corpus", args=[project.uuid]) + query).content.decode()


def test_counts_by_video(client: Client, project: Project) -> None:
    video = VideoFactory(corpus=project.dataset.corpus, index=8, duration_s=61.5, fps=23.976)
    MomentFactory(video=video, start_s=1)
    MomentFactory(video=video, start_s=2, uncut=True)
    MomentFactory(video=video, start_s=3, preview_state="failed", preview_error="It is damaged.")
    MomentFactory()
    text = page(client, project)
    row = re.search(rf"{video.name}</a>(.*?)</li>", text, re.DOTALL)
    assert row is not None
    facts = re.findall(r"<span>([^<]*)</span>", row[1])
    assert facts == ["61.5 s", "3 moments", "1 ready", "1 failed", "no file"]
    assert 'aria-label="3 moments in 62 s"' in text
    assert f"{video.name} 3.00-4.25 s: It is damaged." in text


def test_empty_and_many(client: Client, project: Project) -> None:
    assert "No video yet" in page(client, project)
    for _ in range(25):
        VideoFactory(corpus=project.dataset.corpus)
    assert "2 of 2" in page(client, project, "?page=2")


def next_step_text(project: Project) -> str:
    step = next_step(project)
    return f"{step.words} {step.page}" if step else ""


def test_from_an_empty_corpus_to_candidates() -> None:
    project = ProjectFactory()
    assert next_step_text(project) == ""
    CaptionFactory(moment__video__corpus=project.dataset.corpus)
    assert next_step_text(project) == "1 description is not rewritten yet. annotation:captions"
    Caption.objects.update(provider="rules", state="in_review", failed=["name"])
    assert "1 caption waits for a person. annotation:captions" in next_step_text(project)
    Caption.objects.update(state="accepted", failed=[])
    assert next_step_text(project) == "No queries are drawn yet. annotation:splits"
    queries_draw(project=project, sizes={"val": 1}, seed=1)
    assert next_step_text(project).endswith("judging:queries")
    CandidateFactory(query=project.queries.get())
    assert next_step_text(project) == ""
    QueryFactory(project=project, split="train", number=7)
    assert next_step_text(project) == "No training set is written yet. annotation:train-sets"
    TrainSet.objects.create(project=project, depth=1)
    assert next_step_text(project) == ""


def test_historic_judgments_need_nothing() -> None:
    project = ProjectFactory(corpus__is_placeholder=True)
    CaptionFactory(moment__video__corpus=project.dataset.corpus)
    assert next_step_text(project) == ""
