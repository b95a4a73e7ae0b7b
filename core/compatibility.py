"""Refuses what was stored before 0.1.0: the migrations that led there are no longer part of the program."""

from django.db import connection

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
