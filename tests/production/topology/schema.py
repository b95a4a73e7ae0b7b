"""The migrated database, kept for the next run: migrating an empty one takes most of the site's start."""

import subprocess
from pathlib import Path

from tests.migrated import fingerprint
from tests.production.topology.stores import NAME, PASSWORD, Postgres


def dump_path(folder: Path) -> Path:
    return folder / f"schema-{fingerprint()}.sql"


def lay(postgres: Postgres, dump: Path) -> None:
    _run(
        postgres, "psql", "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "-f", str(dump)
    )


def keep(postgres: Postgres, dump: Path) -> None:
    dump.parent.mkdir(parents=True, exist_ok=True)
    for older in dump.parent.glob("schema-*.sql"):
        older.unlink()
    draft = dump.with_suffix(".new")
    _run(postgres, "pg_dump", "--file", str(draft))
    draft.replace(dump)


def _run(postgres: Postgres, name: str, *words: str) -> None:
    connection_options = [
        "--host",
        postgres.address,
        "--port",
        str(postgres.port),
        "--username",
        NAME,
        "--dbname",
        NAME,
    ]
    command = [str(postgres.program(name)), *connection_options, *words]
    result = subprocess.run(command, env={"PGPASSWORD": PASSWORD}, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
