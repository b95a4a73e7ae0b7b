"""pg_dump and pg_restore of the right version."""

from pathlib import Path

import pytest
from django.db import connection

from core.backup import database
from core.backup.database import BackupError


@pytest.fixture(autouse=True)
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Debian has 15 and 17; the PATH names 16; there is no embedded server."""
    for major in (15, 16, 17):
        folder = tmp_path / str(major) / "bin"
        folder.mkdir(parents=True)
        (folder / "pg_dump").write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.4 (Debian)'\n")
        (folder / "pg_dump").chmod(0o755)
    (tmp_path / "16").rename(tmp_path / "path")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}:/bin:/usr/bin")
    monkeypatch.setattr(database, "DEBIAN", tmp_path)
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    return tmp_path


def test_it_is_of_the_servers_version_or_the_next_and_never_older() -> None:
    for server, least, major_version in ((15, 0, 15), (16, 0, 16), (14, 0, 15), (15, 17, 17)):
        assert database.major_of(database.program("pg_dump", server=server, least=least)) == major_version
    with pytest.raises(BackupError, match="install postgresql-client-18"):
        database.program("pg_dump", server=18)


def test_the_password_is_passed_by_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"HOST": "db", "PORT": "5433", "USER": "me", "PASSWORD": "secret", "NAME": "judged"}
    for name, value in options.items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    environment = database.environment()
    names = ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE")
    assert [environment[name] for name in names] == ["db", "5433", "me", "secret", "judged"]
