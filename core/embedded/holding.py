"""Who may use the embedded PostgreSQL, and who stops it: the last one out.

Every user has ``<var>/postgres.users`` locked, shared with the others. Starting and stopping happen under
``<var>/postgres.start``, locked exclusively and briefly. Who leaves tries to lock the first exclusively; that succeeds
only for the last one, who stops the server. Both are flocks, so a killed user counts as gone; the next one adopts its
server, and in the end stops it. Importing this is cheap and reads no settings.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from core.embedded.folder import EmbeddedError, make_var_folder
from core.embedded.postgres import Postgres
from core.processes import FileLock, no_wait

WITHOUT_DATABASE = {
    *("help", "version", "--version", "--help", "-h"),
    *("collectstatic", "findstatic", "diffsettings", "startapp", "makemessages", "compilemessages"),
    "score",
}
WITHOUT_SCHEMA = {
    *("migrate", "makemigrations", "showmigrations", "sqlmigrate", "squashmigrations"),
    *("flush", "dbshell", "restore"),
}


class Hold:
    """One user's share in the server of a data folder, from ``take`` to ``release``."""

    def __init__(self, var: Path) -> None:
        self.var = make_var_folder(var.resolve())
        self.postgres = Postgres(self.var)
        self._users: FileLock | None = None

    def take(self, waiting: Callable[[], None] = no_wait) -> Postgres:
        """Have the server run, again where it has ended."""
        with self._start_lock().exclusive(waiting):
            self._users = self._users or FileLock(self.var / "postgres.users").shared()
            self.postgres.ensure_running(waiting)
        return self.postgres

    def release(self, patience_s: float = 30) -> bool:
        """Give the share back; return whether the server is stopped, as the last one does."""
        if self._users is None:
            return True
        with self._start_lock().exclusive(), self._users as users:
            self._users = None
            is_last = users.try_exclusive()
            if is_last:
                self.postgres.stop(patience_s)
            self.postgres.let_go()
        return is_last

    def _start_lock(self) -> FileLock:
        return FileLock(self.var / "postgres.start")


@contextmanager
def hold_database(var: Path) -> Iterator[Postgres]:
    """Have the embedded PostgreSQL of ``var`` run inside the block; EmbeddedError says why it cannot."""
    hold = Hold(var)
    try:
        yield hold.take()
    finally:
        hold.release()


def needs_database(argv: Sequence[str]) -> bool:
    """Whether a ``manage.py`` command line may touch the database."""
    if len(argv) < 2 or argv[1] in WITHOUT_DATABASE or {"--help", "-h"} & set(argv[2:]):
        return False
    return argv[1] != "check" or "--database" in argv


@contextmanager
def database_for_command(argv: Sequence[str]) -> Iterator[None]:
    """Run a ``manage.py`` command with the database it needs; what cannot be had ends it with a clear line."""
    _obey_settings_option(argv)
    with ExitStack() as stack:
        try:
            if needs_database(argv) and (var := _embedded_var()):
                stack.enter_context(hold_database(var))
        except (EmbeddedError, OSError) as error:
            raise SystemExit(f"MomentJudge: {error}") from error
        yield


def _embedded_var() -> Path | None:
    """Return the data folder when the settings use the embedded PostgreSQL, else None."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        return Path(settings.MOMENTJUDGE_VAR) if settings.EMBEDDED_DATABASE else None
    except (ImproperlyConfigured, ImportError):
        return None  # Django meets the same error in a moment and words it better


def _obey_settings_option(argv: Sequence[str]) -> None:
    """``--settings`` counts before the settings are first read, as in Django's own commands."""
    for word, following in zip(argv, [*argv[1:], ""], strict=True):
        name, separator, value = word.partition("=")
        if name == "--settings" and (value or following):
            os.environ["DJANGO_SETTINGS_MODULE"] = value if separator else following


def lay_schema(argv: Sequence[str]) -> None:
    """Migrate the embedded database when it holds no table at all; an older schema is left to `manage.py migrate`."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    if not needs_database(argv) or argv[1] in WITHOUT_SCHEMA or not settings.EMBEDDED_DATABASE:
        return
    django.setup()
    from django.db import connection

    from core.compatibility import TooOld, database_check

    try:
        database_check()
    except TooOld as error:
        sys.exit(str(error))
    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0)
    connection.close()
