"""A migrated database, kept for the next run: migrating an empty one takes most of a short run."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.db import connection

from core.embedded.services import BASE_DIR
from core.processes import FileLock

APPS = ("core", "accounts", "annotation", "judging", "models_runner")
PREFIX = "migrated_"


def fingerprint() -> str:
    """Of all migrations, which import nothing of ours, and of the locked packages, which bring some too."""
    paths = [path for app in APPS for path in sorted((BASE_DIR / app / "migrations").glob("*.*"))]
    paths.append(BASE_DIR / "requirements" / "base.lock")
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def template(var: Path) -> str:
    """Name of a migrated database that test databases are copies of; made once, as long as migrations stay."""
    name = PREFIX + fingerprint()
    with FileLock(var / "template").exclusive(), connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX])
        templates = {row[0] for row in cursor.fetchall()}
        if name not in templates:
            for old in templates:
                cursor.execute(f'DROP DATABASE "{old}"')
            draft = f"{PREFIX}draft"
            cursor.execute(f'CREATE DATABASE "{draft}"')
            _migrate(draft)
            cursor.execute(f'ALTER DATABASE "{draft}" RENAME TO "{name}"')
    return name


def _migrate(name: str) -> None:
    database = settings.DATABASES["default"]
    process = subprocess.run(
        [sys.executable, str(BASE_DIR / "manage.py"), "migrate", "--no-input", "--verbosity", "0"],
        env=os.environ | {"DATABASE_URL": f"postgresql://{database['USER']}@/{name}?host={database['HOST']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
