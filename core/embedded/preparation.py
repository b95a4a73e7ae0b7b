"""What a start prepares: static files, where one of them may have changed, and the tables of a new data folder."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from core.embedded.services import BASE_DIR

SOURCES = ("static", "annotation/static", "judging/static", "models_runner/static", "config/settings")
PACKAGES = "requirements/base.lock"
WITHOUT_SCHEMA = {
    *("migrate", "makemigrations", "showmigrations", "sqlmigrate", "squashmigrations"),
    *("flush", "dbshell", "restore"),
}


def fingerprint(base: Path = BASE_DIR) -> str:
    """Changes whenever a source file, its size or its time does, or the packages that bring their own."""
    digest = hashlib.sha256()
    for pattern in (*SOURCES, PACKAGES):
        for top in sorted(base.glob(pattern)):
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                if path.is_file() and path.suffix != ".pyc":
                    found = path.stat()
                    digest.update(f"{path.relative_to(base)}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def is_collected(var: Path, wanted: str) -> bool:
    stamp = var / "static.stamp"
    return (var / "static").is_dir() and stamp.is_file() and stamp.read_text() == wanted


def note_collected(var: Path, done: str) -> None:
    (var / "static.stamp").write_text(done)


def lay_schema(argv: Sequence[str]) -> None:
    """Migrate the embedded database when it holds no table at all; an older schema is left to `manage.py migrate`."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    from core.embedded.holding import needs_database

    if not needs_database(argv) or argv[1] in WITHOUT_SCHEMA or not settings.EMBEDDED_DATABASE:
        return
    django.setup()
    from django.db import connection

    from core.compatibility import TooOld, database_check

    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0)
    else:
        try:
            database_check()
        except TooOld as error:
            sys.exit(str(error))
    connection.close()
