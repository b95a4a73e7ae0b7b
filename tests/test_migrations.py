"""One initial migration an app, in one direction; a database of 0.1.0 is judged on after an upgrade."""

from collections.abc import Iterator
from datetime import timedelta
from graphlib import TopologicalSorter
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from accounts.models import Project, StatusChange, User
from judging.models import Assignment, ExamGrade, Judgment, Pair, Policy, ScreeningAttempt
from judging.work.services.assignments import assignment_finish
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import judgment_submit
from tests.migrated import APPS

RELEASED = [  # the last migrations of 0.1.0
    ("core", "0002_triggers"),
    ("accounts", "0002_triggers"),
    ("annotation", "0003_first_prompt"),
    ("judging", "0002_triggers"),
    ("models_runner", "0002_triggers"),
]


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)  # ends the process where one is missing


def test_each_app_has_one_initial_migration_and_no_two_need_each_other() -> None:
    migrations = MigrationLoader(None).disk_migrations
    initial = [key for key, migration in migrations.items() if migration.initial and key[0] in APPS]
    assert sorted(initial) == sorted((app, "0001_initial") for app in APPS)
    needs: dict[str, set[str]] = {app: set() for app in APPS}
    for (app, _), migration in migrations.items():
        if app in APPS:
            needs[app] |= {other for other, _ in migration.dependencies if other in APPS and other != app}
    order = list(TopologicalSorter(needs).static_order())  # raises CycleError
    assert needs["accounts"] == set()
    assert order.index("annotation") < order.index("judging") < order.index("models_runner")


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database without a table, for this test alone: that of the others stays as it is."""
    own = connection.settings_dict["NAME"]
    name = f"{own}_empty"
    with django_db_blocker.unblock():
        connection.close()
        with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(f'CREATE DATABASE "{name}"')
        connection.settings_dict["NAME"] = name
        try:
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = own
            with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
                cursor.execute(f'DROP DATABASE "{name}"')


def migrate(targets: list[tuple[str, str]]) -> Any:
    """Bring the tables to these migrations; return the models of that state."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


def store(apps: Any) -> None:
    """Store two pairs as 0.1.0 did: one person has finished them, another is in the middle, and in a tutorial."""

    def create(model: str, **fields: Any) -> Any:
        return apps.get_model(model).objects.create(**fields)

    corpus = create("annotation.Corpus", name="films")
    project = create("accounts.Project", name="films")
    create("annotation.ProjectCorpus", project=project, corpus=corpus)
    policy = create("judging.Policy", project=project, version=1, **{"gate_passing": 7})
    guideline = create("judging.Guideline", project=project, version=1, body="b", levels=["0", "1", "2", "3", "4"])
    video = create("annotation.Video", corpus=corpus, name="one", duration_s=60, index=1)
    query = create("annotation.Query", project=project, text="a dog", split="test", number=1)
    moments = [create("annotation.Moment", video=video, start_s=start, end_s=9) for start in (1, 2)]
    candidates = [
        create("annotation.Candidate", query=query, moment=moment, rank=rank)
        for rank, moment in enumerate(moments, start=1)
    ]
    batch = create("judging.Batch", project=project, query=query, number=1)
    pairs = [create("judging.Pair", batch=batch, candidate=candidate) for candidate in candidates]
    ids = [pair.pk for pair in pairs]
    for slot, (username, graded) in enumerate({"first": 2, "second": 1}.items(), start=1):
        user = create("accounts.User", username=username)
        fields = {"role": "annotator", "number": slot, "standing": "qualified"}
        member = create("accounts.Membership", project=project, user=user, **fields)
        create("accounts.StandingChange", membership=member, **{"from_standing": "exam", "to_standing": "qualified"})
        fields = {"round": 1, "seat": slot, "pair_ids": ids, "shuffle_seed": 1}
        lease = timezone.now() + timedelta(minutes=20)
        assignment = create(
            "judging.Assignment", project=project, batch=batch, annotator=user, expires_at=lease, **fields
        )
        for position, pair in enumerate(pairs[:graded], start=1):
            fields = {"round": 1, "seat": slot, "position": position, "grade": position, "source": "person"}
            fields |= {"policy": policy, "guideline": guideline, "annotator": user}
            create("judging.Judgment", pair=pair, assignment=assignment, **fields)
        if graded == len(pairs):
            changes = {"state": "finished", "ended_at": timezone.now()}
            apps.get_model("judging.Assignment").objects.filter(pk=assignment.pk).update(**changes)
    owner = {"project": project, "annotator": user}
    create("judging.GateAttempt", **owner, **{"asked": [{"question": "one"}], "passing": 1})
    known_pair = create("judging.KnownPair", project=project, query=query, moment=moments[0], source="lead", truth=3)
    tutorial = create("judging.Sitting", purpose="tutorial", seed=1, known_ids=[known_pair.pk], **owner)
    fields = {"sitting": tutorial, "known_pair": known_pair, "annotator": user, "guideline": guideline}
    create("judging.SittingGrade", **fields, **{"attempt": 0, "grade": 3, "position": 1})


@pytest.mark.deployment
@pytest.mark.usefixtures("empty_database")
def test_a_database_of_the_first_release_is_judged_on_after_the_upgrade() -> None:
    apps = migrate(RELEASED)
    with transaction.atomic():
        store(apps)
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
    project, person, pair = Project.objects.get(), User.objects.get(username="second"), Pair.objects.order_by("pk")[1]
    judgment_submit(annotator=person, pair_uuid=pair.uuid, grade=4)
    assert assignment_finish(project=project, annotator=person)
    batch_advance(batch_id=pair.batch_id)
    outcomes = Pair.objects.order_by("pk").values_list("state", "relevance")
    assert list(outcomes) == [("settled", 1), ("escalated", None)]
    assert (Assignment.objects.count(), Judgment.objects.count(), project.dataset.corpus.name) == (2, 4, "films")
    changes = StatusChange.objects.filter(membership__status="qualified").values_list("from_status", "to_status")
    assert list(changes) == [("exam", "qualified")] * 2
    assert Policy.objects.get().screening_passing == 7
    assert ScreeningAttempt.objects.get(annotator=person).questions == [{"question": "one"}]
    grades = ExamGrade.objects.values_list("exam_attempt__purpose", "exam_attempt__annotator", "try_number", "grade")
    assert list(grades) == [("tutorial", person.pk, 0, 3)]
    with pytest.raises(IntegrityError, match="exam attempt .* does not ask for known pair"), transaction.atomic():
        ExamGrade.objects.update(try_number=1)
