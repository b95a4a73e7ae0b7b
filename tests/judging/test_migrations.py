"""Rows of the first version are judged on after the upgrade."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from judging.models import Assignment, Batch, Judgment, JudgmentChange, Pair
from judging.services.assignments import assignment_finish, assignment_take
from judging.services.batches import batch_advance
from judging.services.judgments import judgment_submit
from tests.factories import (
    CandidateFactory,
    GuidelineConfirmationFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
)

pytestmark = pytest.mark.django_db(transaction=True)
FIRST = [("judging", "0002_frozen_candidates_and_final_grades")]


@pytest.fixture
def first_version() -> Iterator[Any]:
    """The judging app's models as they were; the newest tables are back afterwards whatever happens."""
    executor = MigrationExecutor(connection)
    newest = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "judging"]
    executor.migrate(FIRST)
    try:
        yield executor.loader.project_state(FIRST).apps
    finally:
        upgrade(newest)


def upgrade(targets: list[tuple[str, str]] | None = None) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(targets or [node for node in executor.loader.graph.leaf_nodes() if node[0] == "judging"])


class OldRows:
    """A batch of three pairs: one person has finished, one is in the middle, one ran out of time before."""

    def __init__(self, apps: Any) -> None:
        self.model = lambda name: apps.get_model("judging", name)
        self.project = ProjectFactory(policy=None, guideline=None)
        query = QueryFactory(project=self.project)
        candidates = [CandidateFactory(query=query, rank=rank) for rank in (1, 2, 3)]
        self.versions = {
            "policy_id": self.model("Policy").objects.create(project_id=self.project.pk, version=1).pk,
            "guideline_id": self.model("Guideline")
            .objects.create(project_id=self.project.pk, version=1, body="b", levels=["0", "1", "2", "3", "4"])
            .pk,
        }
        self.batch = self.model("Batch").objects.create(project_id=self.project.pk, query_id=query.pk, number=1)
        self.pairs = [
            self.model("Pair").objects.create(batch=self.batch, candidate_id=candidate.pk) for candidate in candidates
        ]
        self.people = [MembershipFactory(project=self.project, confirmed=False).user for _ in range(3)]
        self.gave(self.people[0], 1, "finished", {2: 4, 0: 1, 1: 3})
        self.gave(self.people[1], 2, "lapsed", {0: 2})
        self.open = self.gave(self.people[2], 2, "open", {1: 3})

    def gave(self, person: Any, seat: int, state: str, grades: dict[int, int]) -> Any:
        now = timezone.now()
        held = self.model("Assignment").objects.create(
            project_id=self.project.pk,
            batch=self.batch,
            round=1,
            seat=seat,
            annotator_id=person.pk,
            shuffle_seed=5,
            expires_at=now + timedelta(minutes=20),
        )
        place = {"assignment": held, "annotator_id": person.pk, "round": 1, "seat": seat, "source": "person"}
        for pair, grade in grades.items():
            given = self.model("Judgment").objects.create(pair=self.pairs[pair], grade=grade, **place, **self.versions)
        if state == "finished":  # the last grade had been changed twice
            for before, after in ((0, 2), (2, given.grade)):
                self.model("JudgmentChange").objects.create(judgment=given, from_grade=before, to_grade=after)
        if state != "open":
            self.model("Assignment").objects.filter(pk=held.pk).update(state=state, ended_at=now)
        return held


def test_orders_positions_and_seats_are_filled_and_judging_goes_on(first_version: Any) -> None:
    old = OldRows(first_version)
    pair_ids = [pair.pk for pair in old.pairs]
    upgrade()
    finished, lapsed, still_open = Assignment.objects.order_by("pk")
    assert finished.pair_ids == [pair_ids[2], pair_ids[0], pair_ids[1]]
    assert lapsed.pair_ids == [pair_ids[0]]
    assert still_open.pair_ids == [pair_ids[1], pair_ids[2]]
    places = Judgment.objects.filter(assignment=finished).order_by("pk")
    assert list(places.values_list("position", "previous_grade", "revision")) == [(1, None, 0), (2, 4, 0), (3, 1, 2)]
    assert len(set(JudgmentChange.objects.values_list("uuid", flat=True))) == 2
    assert (Batch.objects.get().free_seats, Batch.objects.get().begun) == (0, True)

    last = Pair.objects.get(pk=pair_ids[2])
    judgment_submit(annotator=old.people[2], pair_uuid=last.uuid, grade=4)
    assert assignment_finish(project=old.project, annotator=old.people[2])
    batch_advance(batch_id=old.batch.pk)
    outcomes = Pair.objects.order_by("candidate__rank").values_list("state", "relevance")
    assert list(outcomes) == [("settled", 2), ("settled", 3), ("settled", 4)]
    GuidelineConfirmationFactory(guideline=old.project.guidelines.get(), annotator=old.people[0])
    assert assignment_take(project=old.project, annotator=old.people[0]) is None
