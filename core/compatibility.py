"""Refuses what was stored before 0.1.0: the migrations that led there are no longer part of the program.

And what an open site cannot take: a migration with ``needs_downtime`` renames what the release before still uses.
"""

from collections.abc import Sequence

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from core.exceptions import MomentJudgeError

LAST_REVISION = "2615ef3"  # the last one that reads it


class TooOld(MomentJudgeError):
    """The database or the backup was made before 0.1.0; nothing in it was changed."""

    exit_code = 5

    def __init__(self, what: str, *, use: str) -> None:
        super().__init__(
            f"{what} was made before MomentJudge 0.1.0, and nothing in it was changed. Revision {LAST_REVISION} is the"
            f" last that can read it: {use} it there, make a release, and import the release here."
        )


class NeedsDowntime(MomentJudgeError):
    """The site would answer with errors while the release before serves beside the new schema."""

    exit_code = 6

    def __init__(self, migrations: Sequence[str]) -> None:
        super().__init__(
            f"This release renames what the one before uses ({', '.join(migrations)}), so the site stops. Nothing"
            " was changed. Stop all its processes, run momentjudge migrate, start them: docs/deployment.md says how."
        )


def downtime_check() -> None:
    """Check that the release before can serve beside the new schema; NeedsDowntime where it cannot."""
    executor = MigrationExecutor(connection)
    if not executor.loader.applied_migrations:
        return  # no process serves an empty database
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if names := [str(migration) for migration, _ in plan if getattr(migration, "needs_downtime", False)]:
        raise NeedsDowntime(names)


def database_check() -> None:
    """Check that the database is empty or of 0.1.0 or later; TooOld where it has migrations, and none of ``core``."""
    if "django_migrations" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), count(*) FILTER (WHERE app = 'core') FROM django_migrations")
        total, ours = cursor.fetchone()
    if total and not ours:
        raise TooOld("This database", use="run")


def backup_check(tables: dict[str, object], folder: object) -> None:
    """Check the names of a backup's tables; TooOld where the audit log, which every later version has, is missing."""
    if "core_auditevent" not in tables:
        raise TooOld(f"The backup {folder}", use="restore")
