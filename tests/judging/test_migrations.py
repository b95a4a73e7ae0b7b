"""Rows of the first version are judged on after the upgrade."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from judging.models import Assignment, Batch, Judgment, JudgmentChange, Pair
from judging.work.services.assignments import assignment_finish, assignment_take
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import judgment_submit
from tests.factories import (
    CandidateFactory,
    GuidelineConfirmationFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
)

FIRST = ("judging", "0002_frozen_candidates_and_final_grades")
SCHEMA = """
SELECT 'column', table_name || '.' || column_name, data_type || is_nullable FROM information_schema.columns
WHERE table_schema = 'public'
UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database without a table, for this test alone: that of the others stays as it is."""
    own = connection.settings_dict["NAME"]
    with django_db_blocker.unblock():
        connection.close()
        with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(f"DROP DATABASE IF EXISTS {own}_empty")
            cursor.execute(f"CREATE DATABASE {own}_empty")
        connection.settings_dict["NAME"] = f"{own}_empty"
        try:
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = own
            with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
                cursor.execute(f"DROP DATABASE {own}_empty")


@pytest.fixture
def first_version(empty_database: None) -> Any:
    """The judging app's models as they were, with its tables."""
    executor = MigrationExecutor(connection)
    others = [node for node in executor.loader.graph.leaf_nodes() if node[0] not in ("judging", "models_runner")]
    executor.migrate([*others, FIRST])
    return executor.loader.project_state([FIRST]).apps


def upgrade() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def schema() -> set[tuple[str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        return set(cursor.fetchall())


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


@pytest.mark.slow
@pytest.mark.timeout(300)
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


def test_every_step_of_judging_says_how_it_is_taken_back() -> None:
    steps = [step for node, step in MigrationLoader(None).disk_migrations.items() if node[0] == "judging"]
    assert [step.name for step in steps if not all(operation.reversible for operation in step.operations)] == []


@pytest.mark.slow
def test_judging_taken_back_to_its_first_version_and_laid_again_is_the_same(empty_database: None) -> None:
    upgrade()
    before = schema()
    MigrationExecutor(connection).migrate([FIRST])
    assert len(schema()) < len(before)
    upgrade()
    assert schema() == before
