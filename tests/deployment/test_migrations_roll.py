"""Migrations run before their code, while the release before still serves: none may take away what it uses.

What takes something away comes in two releases: the code stops using it, then a migration drops it. Such a migration
says so itself, with ``not_used_since = "the release whose code stopped using it"``. What renames something at once says
``needs_downtime = True``, and ``docker/roll`` refuses it: the site stops for it.
"""

import importlib
import re
from collections.abc import Iterator

import pytest
from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.operations.base import Operation

from core.embedded.services import BASE_DIR

FIRST = {"core": 2, "accounts": 2, "annotation": 3, "judging": 2, "models_runner": 2}  # those of 0.1.0
TAKING = (operations.RemoveField, operations.DeleteModel, operations.RenameField, operations.RenameModel)
SQL = re.compile(r"\b(drop\s+(table|column)|rename\s+(to|column)|set\s+not\s+null)\b", re.IGNORECASE)


def later_migrations() -> Iterator[tuple[str, type[Migration]]]:
    for app, first in FIRST.items():
        for path in sorted((BASE_DIR / app / "migrations").glob("0*.py")):
            if int(path.stem[:4]) > first:
                yield f"{app}.{path.stem}", importlib.import_module(f"{app}.migrations.{path.stem}").Migration


def faults(migration: type[Migration]) -> list[str]:
    """List its changes that break code of the release before."""
    if getattr(migration, "not_used_since", "") or getattr(migration, "needs_downtime", False):
        return []
    changes = list(flat(migration.operations))
    new_tables = {operation.name_lower for operation in changes if isinstance(operation, operations.CreateModel)}
    in_old_tables = [change for change in changes if getattr(change, "model_name_lower", "") not in new_tables]
    return [fault for change in in_old_tables if (fault := fault_of(change))]


def flat(nested_operations: list[Operation]) -> Iterator[Operation]:
    for operation in nested_operations:
        inner = getattr(operation, "database_operations", None)
        yield from flat(inner) if inner is not None else [operation]


def fault_of(operation: Operation) -> str:
    if isinstance(operation, TAKING):
        return f"{type(operation).__name__} takes away what the release before uses"
    if isinstance(operation, operations.AddField) and not is_optional(operation):
        return f"{operation.model_name}.{operation.name} is required, and the release before does not fill it"
    if isinstance(operation, operations.RunSQL) and SQL.search(str(operation.sql)):
        return "SQL takes away what the release before uses"
    return ""


def is_optional(operation: operations.AddField) -> bool:
    """The release before writes rows without it: the database itself must know what to put there."""
    field = operation.field
    return field.null or field.many_to_many or field.has_db_default() or getattr(field, "generated", False)


def test_every_migration_since_can_run_before_its_code() -> None:
    assert {name: problems for name, migration in later_migrations() if (problems := faults(migration))} == {}


@pytest.mark.parametrize(
    ("operation", "values", "number"),
    [
        (operations.RemoveField("Pair", "state"), {}, 1),
        (operations.RunSQL("ALTER TABLE judging_pair DROP COLUMN state"), {}, 1),
        (operations.AddField("Pair", "state", models.TextField()), {}, 1),
        (operations.RemoveField("Pair", "state"), {"not_used_since": "0.2.0"}, 0),
        (operations.RemoveField("Pair", "state"), {"needs_downtime": True}, 0),
    ],
)
def test_the_rule_finds_what_removes_something(operation: Operation, values: dict[str, object], number: int) -> None:
    migration = type("Migration", (Migration,), {"operations": [operation], **values})
    assert len(faults(migration)) == number


def test_a_table_that_the_release_before_does_not_know_may_require_what_it_likes() -> None:
    changes = [operations.CreateModel("New", []), operations.AddField("New", "state", models.TextField())]
    assert faults(type("Migration", (Migration,), {"operations": changes})) == []


def test_a_site_rolls_only_over_what_the_release_before_can_serve_beside() -> None:
    assert (BASE_DIR / "docker" / "roll").read_text().count("migrate --rolling;") == 1  # by containers
    assert "migrate --rolling &&" in (BASE_DIR / "docker" / "roll").read_text()
    assert "0 | 5 | 6) exit" in (BASE_DIR / "docker" / "migrate").read_text()  # the refusal is not tried again


def test_a_migration_that_waits_for_a_lock_gives_up() -> None:
    assert "lock_timeout" in (BASE_DIR / "docker" / "migrate").read_text()
