"""With real servers, each in its own folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from core.embedded.folder import EmbeddedError
from core.embedded.holding import hold_database, needs_database
from core.embedded.postgres import Postgres
from core.processes import wait_gone

pytestmark = pytest.mark.deployment

PATIENCE_S = 180  # ends what hangs
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
from core.embedded.holding import database_for_command
with database_for_command(["manage.py", *sys.argv[1:]]):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def empty_var(tmp_path: Path) -> Iterator[Path]:
    """A data folder that is not there yet; whatever server a test leaves on it is stopped."""
    folder = tmp_path / "var"
    yield folder
    if folder.is_dir():
        Postgres(folder).stop()


@pytest.fixture(scope="module")
def module_scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose cluster is made and does not run."""
    folder = tmp_path_factory.mktemp("cluster") / "var"
    with hold_database(folder):
        return folder


@pytest.fixture
def var(empty_var: Path, module_scenario: Path) -> Path:
    """A data folder with a cluster of its own: a copy, as making one takes most of a test."""
    subprocess.run(["cp", "--archive", module_scenario, empty_var], check=True)
    return empty_var


@contextmanager
def command(var: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process inside ``database_for_command``; it leaves when the block ends."""
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.test"}
    environment.pop("DATABASE_URL", None)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", COMMAND, *words], text=True, env=environment, **pipes) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            leave(process)


def leave(process: subprocess.Popen[str]) -> None:
    """Let the command end, and wait for that."""
    if process.poll() is None and process.stdin is not None:
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(PATIENCE_S)


def rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        return len(connection.execute("SELECT * FROM kept").fetchall())


def keep_rows(url: str, count: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, %s::int)", [count])


def test_commands_without_database_start_none() -> None:
    for words in ("migrate", "shell", "check --database default"):
        assert needs_database(["manage.py", *words.split()]), words
    for words in ("", "check", "help", "--help", "--version", "migrate --help", "collectstatic --no-input", "score a"):
        assert not needs_database(["manage.py", *words.split()]), words


def test_last_holder_stops_the_server(var: Path) -> None:
    with hold_database(var) as postgres:
        first = postgres.server()
        with hold_database(var) as again:
            assert again.server() == first is not None
        assert postgres.server() == first
        keep_rows(postgres.url, 10)
    assert postgres.server() is None
    with hold_database(var) as postgres:
        assert rows(postgres.url) == 10


def test_commands_overlap_and_the_last_one_stops_the_server(var: Path) -> None:
    postgres = Postgres(var)
    with command(var, "migrate") as first:
        server = postgres.server()
        with command(var, "shell"):
            with command(var, "help"):
                pass
            leave(first)
            assert postgres.server() == server is not None
        assert postgres.server() is None


def test_server_of_a_killed_command_is_adopted_and_stopped(var: Path) -> None:
    postgres = Postgres(var)
    with command(var, "migrate") as killed:
        server = postgres.server()
        killed.kill()
        killed.wait()
    assert postgres.server() == server is not None
    with command(var, "migrate"):
        assert postgres.server() == server
    assert postgres.server() is None


def test_ctrl_c_leaves_the_database_until_the_command_ends(var: Path) -> None:
    with command(var, "migrate") as process:
        server = Postgres(var).server()
        assert server is not None
        assert os.getsid(server.pid) != os.getsid(process.pid)
        for _ in range(3):  # a signal that comes just before a read is seen only after it
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
                break
        assert process.poll() is not None
    assert Postgres(var).server() is None


def test_committed_rows_survive_a_killed_server(var: Path) -> None:
    with hold_database(var) as postgres:
        keep_rows(postgres.url, 1000)
        server = postgres.server()
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)
        wait_gone([server], PATIENCE_S)
        with hold_database(var) as recovered:
            assert rows(recovered.url) == 1000
    assert postgres.server() is None


def test_stale_locks_that_name_a_foreign_process_are_cleared(var: Path) -> None:
    with hold_database(var) as postgres:
        keep_rows(postgres.url, 5)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as foreign:
        (postgres.data / "postmaster.pid").write_text(f"{foreign.pid}\n{postgres.data}\n")
        (postgres.sockets / ".s.PGSQL.5432.lock").write_text(f"{foreign.pid}\n")
        (postgres.sockets / ".s.PGSQL.5432").touch()
        with hold_database(var) as postgres:
            assert rows(postgres.url) == 5
        assert foreign.poll() is None
        foreign.kill()


def test_half_made_cluster_is_not_used(empty_var: Path) -> None:
    (empty_var / "pg.new.killed").mkdir(parents=True)
    (empty_var / "pg.new.killed" / "PG_VERSION").write_text("18\n")
    with hold_database(empty_var) as postgres:
        assert postgres.server() is not None
    assert [path.name for path in empty_var.glob("pg*") if path.is_dir()] == ["pg"]


def test_data_of_another_version_is_refused(empty_var: Path) -> None:
    (empty_var / "pg").mkdir(parents=True)
    (empty_var / "pg" / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 16"), hold_database(empty_var):
        pass


def test_unusable_folder_ends_a_command_with_a_clear_line(tmp_path: Path) -> None:
    var = tmp_path / "var"
    var.write_text("")
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    process = subprocess.run(
        [sys.executable, "-c", COMMAND, "migrate"], env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert "MomentJudge: The data folder" in process.stderr


@pytest.mark.slow
def test_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    var = tmp_path / ("v" * 120) / "with a space"
    with hold_database(var) as postgres:
        assert postgres.sockets.parent == Path("/tmp")
        keep_rows(postgres.url, 1)
    postgres.sockets.rmdir()


MANY_TIMES = """
import sys, psycopg
from pathlib import Path
from core.embedded.holding import hold_database
for _ in range(5):
    with hold_database(Path(sys.argv[1])) as postgres:
        psycopg.connect(postgres.url).close()
"""


@pytest.mark.slow
def test_many_commands_at_once_share_one_server(var: Path) -> None:
    crowd = [subprocess.Popen([sys.executable, "-c", MANY_TIMES, str(var)]) for _ in range(6)]
    assert [process.wait(120) for process in crowd] == [0] * 6
    assert Postgres(var).server() is None


def test_a_server_that_waits_for_its_clients_to_go_is_ended(var: Path) -> None:
    """As ``kill PID`` asks it to: those of a running site never go, and nobody new is let in."""
    with hold_database(var) as postgres, closing(psycopg.connect(postgres.url)) as client:
        client.execute("SELECT 1")
        server = postgres.server()
        assert server is not None
        assert not postgres.finish_stopping()
        os.kill(server.pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while not postgres.finish_stopping():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert wait_gone([server], PATIENCE_S) == []
        postgres.ensure_running()
        psycopg.connect(postgres.url).close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_command_works_in_a_folder_nothing_was_in(tmp_path: Path) -> None:
    own = {"MOMENTJUDGE_VAR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    count = "from accounts.models import Project; print(Project.objects.count())"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", count]
    process = subprocess.run(
        command, cwd=settings.BASE_DIR, env=os.environ | own, capture_output=True, text=True, timeout=600, check=False
    )
    assert (process.returncode, process.stdout.strip()) == (0, "0"), process.stderr
