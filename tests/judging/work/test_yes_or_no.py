"""A project of yes and no with three judges and no second batches, from its first grade to its release and back."""

import csv
import json
from pathlib import Path

import pytest

from accounts.models import Project
from judging.guidelines.services import guideline_begin
from judging.imports.release import release_import
from judging.models import Batch, BatchReview, Judgment, Release, WebhookDelivery
from judging.releases import files, layout
from judging.releases.selectors import finished_queries, scope_of
from judging.review.selectors import candidates_beyond, review_queue, second_batch_sizes
from judging.work.rules import RULE_FIELDS, Rules, rules_of
from judging.work.services.batches import batch_advance, batch_create, batches_extend
from tests.factories import (
    CandidateFactory,
    CorpusFactory,
    ProjectFactory,
    QueryFactory,
    WebhookFactory,
)
from tests.judging.play import judge, outcomes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
YES_OR_NO = Rules(top_grade=1, judges=3, max_spread=0, max_rounds=2)
# Of the first five pairs by rank; the other five are a plain no.
FIRST = [(1, 1, 1), (0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 0, 0)]
# Of 3 to 5. All six of each, without one highest and one lowest: 0 0 0 0, 1 1 1 1, and 0 0 0 1, which do not agree.
SECOND = [(0, 0, 0), (1, 1, 1), (0, 1, 0)]
SETTLED_NO = ("settled", 0)


def project_of(**values: object) -> Project:
    project: Project = ProjectFactory(guideline=None, **YES_OR_NO._asdict(), batch_size=10, **values)
    guideline_begin(project=project, actor=None)
    return project


def first_batch(project: Project, *, ranks: int) -> Batch:
    query = QueryFactory(project=project, number=7)
    for rank in range(1, ranks + 1):
        CandidateFactory(query=query, rank=rank)
    batch = batch_create(query=query, number=1)
    assert batch is not None
    return batch


def judge_round(batch: Batch, grades: list[tuple[int, ...]]) -> None:
    """Three new people judge the present round, each of them all of it, and it is decided."""
    for person, of_person in enumerate(zip(*grades, strict=True)):
        assert batch_free_slots(batch) == 3 - person
        judge(batch, of_person)
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()


def batch_free_slots(batch: Batch) -> int:
    return Batch.objects.values_list("free_slots", flat=True).get(pk=batch.pk)


def judged_batch() -> Batch:
    batch = first_batch(
        project_of(name="yes or no", corpus=CorpusFactory(name="clips"), has_second_batch=False), ranks=12
    )
    judge_round(batch, FIRST + [(0, 0, 0)] * 5)
    judge_round(batch, SECOND)
    return batch


def test_pairs_settle_or_drop_as_by_hand() -> None:
    project = project_of(has_second_batch=False)
    batch = first_batch(project, ranks=12)
    hook = WebhookFactory(project=project)
    assert list(batch.pairs.order_by("candidate__rank").values_list("candidate__rank", flat=True)) == [*range(1, 11)]
    judge_round(batch, FIRST + [(0, 0, 0)] * 5)
    disputed = [("escalated", None)] * 3
    assert (batch.round, outcomes(batch)) == (2, [("settled", 1), SETTLED_NO, *disputed, *[SETTLED_NO] * 5])
    judge_round(batch, SECOND)
    decided = [SETTLED_NO, ("settled", 1), ("dropped", None)]
    assert (batch.state, outcomes(batch)) == ("done", [("settled", 1), SETTLED_NO, *decided, *[SETTLED_NO] * 5])
    assert Judgment.objects.filter(pair__batch=batch).count() == 3 * 10 + 3 * 3
    assert [row.event for row in WebhookDelivery.objects.filter(webhook=hook)] == ["batch.done"]  # nobody is waited for


def test_without_second_batches_a_rule_closes_the_first_at_once() -> None:
    batch = judged_batch()
    review = BatchReview.objects.get(batch=batch)
    assert (review.decision, review.decided_by) == ("close", None)
    assert not batch.awaits_review
    assert not review_queue(batch.project).exists()
    assert second_batch_sizes([batch]) == {batch.pk: 0}
    batches_extend()
    assert list(Batch.objects.filter(query=batch.query)) == [batch]
    assert list(finished_queries(batch.project_id)) == [batch.query]


def test_batches_of_ten_have_a_second_of_ten() -> None:
    """Of 25 candidates ten are beyond the first batch, and five beyond both."""
    batch = first_batch(project_of(), ranks=25)
    ranks = candidates_beyond().filter(query=batch.query).order_by("rank").values_list("rank", flat=True)
    assert list(ranks) == [*range(11, 21)]
    assert second_batch_sizes([batch]) == {batch.pk: 10}
    judge_round(batch, [(0, 0, 0)] * 10)
    assert batch.awaits_review
    second = batch_create(query=batch.query, number=2)
    assert second is not None and second.pairs.count() == 10
    assert rules_of(second) == YES_OR_NO


def write_release(project: Project, folder: Path) -> None:
    release = Release.objects.create(project=project, version=1)
    files.write_files(release, scope_of(release), folder)


def test_a_release_holds_no_and_yes_and_comes_back_with_its_rules(tmp_path: Path) -> None:
    project = judged_batch().project
    write_release(project, tmp_path / "one")
    lines = [line.split() for line in (tmp_path / "one" / layout.QRELS).read_text().splitlines()]
    assert [relevance for *_, relevance in lines] == ["1", "0", "0", "1", *["0"] * 5]
    with (tmp_path / "one" / layout.JUDGMENTS).open(newline="") as file:
        assert {row["seat"] for row in csv.DictReader(file)} == {"1", "2", "3"}
    settings = json.loads((tmp_path / "one" / layout.SETTINGS).read_text())
    numbers = {name: value for name, value in settings["consensus"].items() if isinstance(value, int)}
    assert numbers == {"highest_grade": 1, "judgments_per_round": 3, "rounds": 2, "largest_spread": 0}
    assert settings["consensus"]["second_round"].startswith("of six grades")
    assert (settings["pooling"]["batch"], settings["pooling"]["batches"]) == (10, 1)
    croissant = json.loads((tmp_path / "one" / layout.CROISSANT).read_text())
    assert "relevance from 0 to 1: 10 pairs" in croissant["description"]

    again, counts = release_import(path=tmp_path / "one", project_name="again", corpus_name="clips again")
    assert {name: getattr(again, name) for name in RULE_FIELDS} == {
        name: getattr(project, name) for name in RULE_FIELDS
    }
    assert (counts["pairs"], counts["judgments"]) == (10, 39)
    assert rules_of(again.batches.get()) == YES_OR_NO
    write_release(again, tmp_path / "two")
    for name in (layout.QRELS, layout.PAIRS, layout.RAW):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
