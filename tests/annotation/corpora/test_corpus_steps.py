"""Tests of the next step of a corpus."""

import pytest

from accounts.models import Project
from annotation.corpora.selectors import next_step
from annotation.models import Caption, TrainSet
from annotation.queries.services import queries_draw
from tests.factories import CandidateFactory, CaptionFactory, ProjectFactory, QueryFactory

pytestmark = pytest.mark.django_db


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
