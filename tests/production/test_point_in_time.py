"""Back to an instant before a mistake, by the commands of docs/backup.md, with Debian's PostgreSQL."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.embedded.postgres import share_with
from tests.production.topology.site import eventually
from tests.production.topology.stores import NAME, PASSWORD, Postgres


class Archiving(Postgres):
    """It copies each finished file of its log to a folder."""

    @property
    def archive(self) -> Path:
        return self.folder / "wal"

    def prepare(self) -> None:
        super().prepare()
        self.archive.mkdir(exist_ok=True, mode=0o700)
        share_with(self.archive, self.prefix, owner=True)

    def command(self) -> list[str]:
        target, new = f"{self.archive}/%f", f"{self.archive}/%f.new"
        copying = f"test ! -f {target} && cp %p {new} && sync {new} && mv {new} {target}"
        options = {"wal_level": "replica", "archive_mode": "on", "archive_timeout": "60", "archive_command": copying}
        return [*super().command(), *(word for name, value in options.items() for word in ("-c", f"{name}={value}"))]


class Recovering(Postgres):
    """It begins as a base backup and goes on along an archive until an instant."""

    archive: Path
    until: str

    def begin_with(self, base: Path, archive: Path, until: str) -> None:
        self.archive, self.until = archive, until
        shutil.copytree(base, self.data)
        self.data.chmod(0o700)
        (self.data / "recovery.signal").touch()

    def prepare(self) -> None:
        super().prepare()
        share_with(self.data, self.prefix, owner=True)

    def command(self) -> list[str]:
        options = {
            "restore_command": f"cp {self.archive}/%f %p",
            "recovery_target_time": self.until,
            "recovery_target_action": "promote",
        }
        return [*super().command(), *(word for name, value in options.items() for word in ("-c", f"{name}={value}"))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)  # PostgreSQL may run as somebody else
    return tmp_path


def test_the_database_goes_back_to_the_instant_before_a_mistake(folder: Path) -> None:
    server = Archiving("archiving", "127.0.0.31", folder)
    later = Recovering("recovering", "127.0.0.32", folder)
    try:
        server.start()
        until = made_and_lost(server, folder / "base")
        server.kill()
        later.begin_with(folder / "base", server.archive, until)
        later.start()
        with later.connect() as link:
            eventually(lambda: link.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,))
            assert link.execute("SELECT word FROM example ORDER BY word").fetchall() == [("after",), ("before",)]
            link.execute("INSERT INTO example VALUES ('new')")
    finally:
        server.stop()
        later.stop()


def made_and_lost(server: Archiving, base: Path) -> str:
    """A row before the base backup, one after it, then all lost; the instant before that."""
    with server.connect() as link:
        link.execute("CREATE TABLE example (word text)")
        link.execute("INSERT INTO example VALUES ('before')")
        copied(server, base)
        link.execute("INSERT INTO example VALUES ('after')")
        row = link.execute("SELECT clock_timestamp()::text").fetchone()
        link.execute("SELECT pg_sleep(0.01)")
        link.execute("DELETE FROM example")
        last = link.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
        assert row is not None and last is not None
        eventually((server.archive / last[0]).exists)
    return str(row[0])


def copied(server: Archiving, base: Path) -> None:
    where = ["-h", server.address, "-p", str(server.port), "-U", NAME]
    command = [str(server.program("pg_basebackup")), *where, "-D", str(base), "--checkpoint=fast"]
    subprocess.run(command, env=os.environ | {"PGPASSWORD": PASSWORD}, check=True, capture_output=True, timeout=600)
