"""One initial migration an app, in one direction; a database of 0.1.0 is judged on after an upgrade."""

import gzip
import json
import re
import tomllib
from base64 import b32encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.test import RequestFactory
from django.utils import timezone
from pytest_django import DjangoDbBlocker
from rest_framework.request import Request

from accounts.management.commands.person_traces import traces
from accounts.models import Membership, Project, StatusChange, User
from accounts.services.credentials import codes_left, phone_of, second_step_check
from accounts.tokens import TokenAuthentication
from core.embedded.services import BASE_DIR
from core.exceptions import NotPossible
from judging.models import Assignment, ExamGrade, Judgment, Pair, Policy, ScreeningAttempt
from judging.work.services.assignments import assignment_finish
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import judgment_submit
from tests.accounts.phone import code_at
from tests.contract import collect
from tests.data.first_release import ADDRESS, DUMP, RECOVERY_CODE, SEED, TOKEN
from tests.migrated import APPS

DATA = DUMP.parent
RENAMED = {  # tables of 0.1.0
    "accounts_standingchange": "accounts_statuschange",
    "judging_sitting": "judging_examattempt",
    "judging_sittinggrade": "judging_examgrade",
    "judging_gatequestion": "judging_screeningquestion",
    "judging_gateattempt": "judging_screeningattempt",
}


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


def test_migrations_that_were_released_stay_as_they_are() -> None:
    """A database that has run them never runs them again: what is to change is a new migration."""
    released = tomllib.loads((DATA / "released_migrations.toml").read_text())
    digests = {name: sha256((BASE_DIR / name).read_bytes()).hexdigest() for name in released}
    assert digests == released
    assert {name.partition("/")[0] for name in released} == set(APPS)


@pytest.fixture
def first_release(empty_database: None) -> dict[str, int]:
    """Restore a database of 0.1.0; return how many rows each of its tables has."""
    with connection.cursor() as cursor:
        cursor.execute(gzip.decompress(DUMP.read_bytes()).decode())
    connection.close()  # the dump has emptied its search path
    return rows_by_table()


def rows_by_table() -> dict[str, int]:
    tables = connection.introspection.table_names()
    return {table: rows_of(f'SELECT count(*) FROM "{table}"')[0][0] for table in tables}


def rows_of(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.mark.deployment
def test_a_database_of_the_first_release_is_judged_on_after_the_upgrade(first_release: dict[str, int]) -> None:
    roles = rows_of("SELECT id, role FROM accounts_membership ORDER BY id")
    call_command("migrate", verbosity=0)
    check_rows(first_release)
    assert {role for _, role in roles} == {"annotator", "lead", "admin", "participant"}
    assert [(pk, [role]) for pk, role in roles] == list(Membership.objects.order_by("pk").values_list("pk", "roles"))
    recorded = (Path(collect.__file__).parent / "schema.json").read_text()
    fresh, upgraded = comparable(json.loads(recorded)), comparable(collect.schema(rows_of))
    assert collect.missing(fresh, upgraded) == []
    assert collect.missing(upgraded, fresh) == []
    judging_goes_on()
    second_steps_work(User.objects.get(username="first"))


REWRITTEN = {  # by PostgreSQL, in expressions of a dump that it restores
    r"::(character varying|text)(\[\])?": "",  # casts of a list go into its items
    r"\(('[^']*'|[\w.]+)\)": r"\1",
    r"\(\((ARRAY\[[^\]]*\])\)\)": r"(\1)",
    r"\(\((\([^()]*\) AND \([^()]*\))\) AND ": r"(\1 AND ",
}


def comparable(schema: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the schema with expressions written as after a restore."""

    def plain(text: str) -> str:
        for pattern, replacement in REWRITTEN.items():
            text = re.sub(pattern, replacement, text)
        return text

    return {kind: {name: plain(text) for name, text in texts.items()} for kind, texts in schema.items()}


def check_rows(before: dict[str, int]) -> None:
    """All but of the second steps, which allauth keeps, of those that were counted, and of Django's own tables."""
    after = rows_by_table()
    ours = {table: n for table, n in before.items() if table.startswith(tuple(f"{app}_" for app in APPS))}
    del ours["accounts_throttle"]
    assert len(ours) > 70 and min(ours.values()) > 0
    assert Judgment.objects.filter(source="imported", assignment=None).exists()
    assert {table: after.get(RENAMED.get(table, table)) for table in ours} == ours


def judging_goes_on() -> None:
    project, person = Project.objects.get(name="films"), User.objects.get(username="second")
    assignment = Assignment.objects.get(annotator=person)
    pair = Pair.objects.filter(batch=assignment.batch).order_by("pk")[1]
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() + timedelta(minutes=20))
    judgment_submit(annotator=person, pair_uuid=pair.uuid, grade=4)
    assert assignment_finish(project=project, annotator=person)
    batch_advance(batch_id=pair.batch_id)
    outcomes = Pair.objects.filter(batch=pair.batch).order_by("pk").values_list("state", "relevance")
    assert list(outcomes) == [("settled", 1), ("escalated", None)]
    assert Judgment.objects.filter(pair__batch=pair.batch).count() == 4
    changes = StatusChange.objects.filter(membership__project=project).values_list("from_status", "to_status")
    assert list(changes) == [("exam", "qualified")] * 2
    assert Policy.objects.get(project=project).screening_passing == 7
    assert ScreeningAttempt.objects.get(annotator=person).questions == [{"question": "one"}]
    grades = ExamGrade.objects.filter(annotator=person).values_list("exam_attempt__purpose", "try_number", "grade")
    assert list(grades) == [("tutorial", 0, 3)]
    with pytest.raises(IntegrityError, match="exam attempt .* does not ask for known pair"), transaction.atomic():
        ExamGrade.objects.filter(annotator=person).update(try_number=1)


def second_steps_work(person: User) -> None:
    """The phone and the paper of before let in, each once; nothing is left in plain, nor of who mistyped."""
    phone = phone_of(person)
    assert phone is not None and phone.created_at == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    assert (phone.data["counter"], phone.data["drift"]) == (7, 2)
    assert traces([SEED.hex(), b32encode(SEED).decode(), ADDRESS]) == {}
    code = code_at(b32encode(SEED).decode(), 2)
    assert codes_left(person) == 1
    for again in (code, RECOVERY_CODE):
        second_step_check(user=person, code=again)
        with pytest.raises(NotPossible):
            second_step_check(user=person, code=again)
    request = RequestFactory().get("/", headers={"Authorization": f"Bearer {TOKEN}"})
    assert TokenAuthentication().authenticate(Request(request)) == (person, {"read"})
