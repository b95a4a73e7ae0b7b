"""Tasks in any order, with repeats, end where the right order ends."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Project, User
from config.celery_app import app
from core.models import AuditEvent
from judging.models import Batch, BatchReview, Judgment, Pair, Policy, QualityReport
from judging.projects.overview import tallies
from judging.work.services.batches import batches_open
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import Run, Score, Scoring
from moment_retrieval.metrics.leaderboard import COLUMNS
from tests.factories import CandidateFactory, CaptionFactory, MomentFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import judge
from tests.models_runner.acts import GOOD, bring, participant, ready_release, run_json
from tests.tasks_twice.scenarios import GONE, Ground, build_release

JUDGING = "judging.tasks."
Sequence = list[int]


class Small:
    """One query with two pairs in its first batch and two beyond, which the rule extends; six annotators."""

    def __init__(self) -> None:
        self.project: Project = ProjectFactory()
        Policy.objects.filter(project=self.project).update(extend_automatically=True)
        self.query = QueryFactory(project=self.project, split="val")
        for rank in (1, 2, 21, 22):
            moment = MomentFactory(video__corpus=self.project.dataset.corpus)
            CaptionFactory(moment=moment)
            CandidateFactory(query=self.query, rank=rank, moment=moment)
        self.people: list[User] = [annotator(self.project) for _ in range(6)]

    # What people do; each needs that what they did before was decided

    def judge(self, number: int, people: slice, grades: list[list[int]]) -> None:
        batch = self.query.batches.get(number=number)
        for person, given_grades in zip(self.people[people], grades, strict=True):
            judge(batch, given_grades, person)

    @property
    def acts(self) -> list[Callable[[], None]]:
        return [
            lambda: self.judge(1, slice(0, 2), [[4, 3], [0, 3]]),  # far apart on the first pair
            lambda: self.judge(1, slice(2, 4), [[4], [3]]),
            lambda: self.judge(2, slice(4, 6), [[1, 2], [1, 2]]),
        ]

    # What the site does

    def messages(self) -> list[tuple[str, tuple[Any, ...]]]:
        """In the right order."""
        project, first, second = (self.project.pk,), (self._batch(1),), (self._batch(2),)
        return [
            *(("batches_prepare", project), ("candidates_rank", project)),
            *(("batch_advance", first), ("batch_advance", second)),
            *(("reviews_decide", project), ("batches_extend", project)),
            *(("batch_extend", first), ("batch_extend", second), ("quality_compute", project)),
            *(("assignments_sweep", ()), ("batches_sweep", ()), ("core.tasks.sweep", ())),
        ]

    def _batch(self, number: int) -> int:
        return self.query.batches.filter(number=number).values_list("pk", flat=True).first() or GONE

    def send(self, order: Sequence) -> None:
        for index in order:
            all_there_are = self.messages()
            name, args = all_there_are[index % len(all_there_are)]
            app.tasks[name if "." in name else JUDGING + name].apply(args, throw=True)

    def play(self, orders: list[Sequence]) -> dict[str, Any]:
        """Return the final state; roll all of it back."""
        with transaction.atomic():
            app.tasks[JUDGING + "batches_sweep"].apply(throw=True)
            batches_open(project_id=self.project.pk)
            for act, order in zip(self.acts, orders, strict=True):
                act()
                self.send(order)
                self.send([*range(len(self.messages()))])
            shape = self.shape()
            transaction.set_rollback(True)
        return shape

    def shape(self) -> dict[str, Any]:
        pairs = Pair.objects.filter(batch__project=self.project).order_by("candidate__rank")
        judgments = Judgment.objects.filter(pair__batch__project=self.project)
        batches = Batch.objects.filter(project=self.project).order_by("number")
        reviews = BatchReview.objects.filter(batch__project=self.project)
        return {
            "pairs": list(pairs.values_list("batch__number", "candidate__rank", "state", "relevance", "reason")),
            "batches": list(batches.values_list("number", "state", "round", "free_slots", "begun")),
            "judgments": sorted(judgments.values_list("pair__candidate__rank", "round", "slot", "grade")),
            "reviews": list(reviews.values_list("decision", "suggestion", "reason")),
            "audit": Counter(AuditEvent.objects.filter(project=self.project).values_list("action", flat=True)),
            "jobs": list(self.project.jobs.values_list("kind", "state")),
            "tallies": tallies(self.project),
            "quality": QualityReport.objects.get(project=self.project).data,
        }


@pytest.fixture(scope="module")
def small(module_database: None) -> Small:
    return Small()


@pytest.fixture(scope="module")
def right(small: Small) -> dict[str, Any]:
    return small.play([[], [], []])


def test_the_right_order_ends_with_two_judged_batches(db: None, right: dict[str, Any]) -> None:
    assert [pair[2:4] for pair in right["pairs"]] == [("settled", 4), ("settled", 3), ("settled", 1), ("settled", 2)]
    assert [batch[:3] for batch in right["batches"]] == [(1, "done", 2), (2, "done", 1)]
    assert (len(right["reviews"]), right["audit"]["batch.extend"]) == (1, 1)


ORDERS = st.lists(st.lists(st.integers(0, 11), max_size=7), min_size=3, max_size=3)


@settings(max_examples=8)
@given(orders=ORDERS)
def test_any_order_ends_as_the_right_one(small: Small, right: dict[str, Any], orders: list[Sequence]) -> None:
    assert small.play(orders) == right


def test_a_score_is_requested_before_its_run_was_read(ground: Ground) -> None:
    member, release = participant(ground.project), ready_release(ground.project)
    run = bring(member, release, run_json({10: GOOD, 11: GOOD}), work=False)
    later = build_release(ground)
    truths_make(later)
    early = Scoring.objects.create(run=run, release=later)
    for task, pk in (("scoring_work", early.pk), ("run_work", run.pk)) * 2:
        app.tasks[f"models_runner.tasks.{task}"].apply((pk,), throw=True)
    assert Run.objects.get(pk=run.pk).state == "scored"
    for scoring in run.scorings.all():
        assert (scoring.state, Score.objects.filter(scoring=scoring).count()) == ("scored", len(COLUMNS))


def test_a_second_batch_is_requested_before_the_first_is_decided(ground: Ground) -> None:
    """Nobody has said so yet: nothing opens, and later it does."""
    batch = ground.project.batches.get(query__number=31)
    before = Batch.objects.count()
    for task, key in (("batch_extend", batch.pk), ("batches_extend", ground.project.pk), ("batch_advance", batch.pk)):
        app.tasks[JUDGING + task].apply((key,), throw=True)
    assert Batch.objects.count() == before
