"""Databases and backups of before 0.1.0 are refused in one line, and stay as they are."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from core.backup.making import ABOUT, DUMP
from core.backup.restoring import backup_restore
from core.compatibility import NeedsDowntime, TooOld, database_check, downtime_check


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db
def test_a_database_of_before_is_refused_by_migrate() -> None:
    database_check()
    execute("DELETE FROM django_migrations WHERE app = 'core'")
    with pytest.raises(CommandError, match=r"^This database was made before .* make a release, .* here\.$") as refusal:
        call_command("migrate", stdout=StringIO())
    assert refusal.value.returncode == TooOld.exit_code


@pytest.mark.django_db
def test_a_schema_that_the_release_before_cannot_use_is_refused_while_it_serves() -> None:
    call_command("migrate", rolling=True, stdout=StringIO())  # there is nothing to do
    execute("DELETE FROM django_migrations WHERE app = 'judging' AND name >= '0003'")
    with pytest.raises(CommandError, match=r"judging.0003_plain_names.* so the site stops") as refusal:
        call_command("migrate", rolling=True, stdout=StringIO())
    assert refusal.value.returncode == NeedsDowntime.exit_code


@pytest.mark.django_db
def test_a_database_without_a_migration_is_new() -> None:
    execute("DELETE FROM django_migrations")
    database_check()
    downtime_check()


def test_a_backup_of_before_is_refused_before_the_database_is_touched(tmp_path: Path) -> None:
    (tmp_path / DUMP).write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    about = {"format": 1, "snapshot_at": "2026-01-01", "dump": {"sha256": empty}, "tables": {"auth_group": [0, "0"]}}
    (tmp_path / ABOUT).write_text(json.dumps(about))
    with pytest.raises(TooOld, match=r"^The backup .* was made before .* restore it there"):
        backup_restore(folder=tmp_path, report=lambda line: None)
