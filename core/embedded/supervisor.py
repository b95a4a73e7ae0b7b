"""Runs the site on one machine: starts its services in order, restarts what dies, ends them all.

One thread, one loop: the kernel ties a child's life to the thread that started it. Signals only set a flag, which
every wait looks at (``attend``), so that nothing is interrupted half done.
"""

import http.client
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from core import processes
from core.compatibility import TooOld
from core.embedded import services
from core.embedded.folder import MARK, EmbeddedError, make_private_folder, make_var_folder
from core.embedded.holding import Hold
from core.embedded.postgres import log_tail
from core.embedded.services import HOST, WORKERS, Child, manage, say

TICK_S = 0.1
VALKEY_S = 30
WEB_S = 90
QUICK_S = 10.0  # a service that ends sooner has not really run
PAUSES_S = (0.3, 1.0, 2.0, 4.0)  # before each new try after a quick end; then it is given up
LARGEST_LOG = 10_000_000  # bytes; a larger one is set aside at the next start
DATABASE, BROKER = "postgres", "valkey"


class Stopped(BaseException):
    """Ctrl-C or a signal asked for the end; no error."""


class Supervisor:
    """One run of the site on the data folder ``var``, answering at ``port``.

    Args:
        welcome: a file with what is shown once it answers; ``{address}``, ``{var}`` and ``{seconds}`` are filled in.
        seed: what an empty database is filled with then: ``manage.py seed_...`` of this name.
    """

    def __init__(
        self, *, var: Path, port: int, welcome: Path | None = None, seed: str = "", report: Callable[[str], None] = say
    ) -> None:
        self.var, self.port, self.report = make_var_folder(var.resolve()), port, report
        self.welcome, self.seed = welcome, seed
        self.address = f"http://localhost:{port}/"  # by name: for a number browsers make no passkeys
        self.embedded_database = not os.environ.get("DATABASE_URL")
        self.embedded_broker = not os.environ.get("BROKER_URL")
        self.hold = Hold(self.var)
        self.database_since: float | None = None
        self.broker_socket = self.hold.postgres.sockets / "valkey.sock"
        self.children: dict[str, Child] = {}
        self.quick_ends: dict[str, int] = {}  # of each service that is kept alive, how often in a row it ended quickly
        self.due: dict[str, float] = {}  # services that ended, and when they start again
        self.stopping = False

    def run(self) -> int:
        """Run until asked to stop; returns the exit status.

        Raises:
            EmbeddedError: the site cannot start, or a service cannot be kept alive; everything has ended by then.
        """
        path = self.var / "supervisor.lock"
        with processes.FileLock(path) as lock:
            if not lock.try_exclusive():
                raise EmbeddedError(_running_already(path.read_text(), self.var))
            path.write_text(f"{os.getpid()} {self.address}")
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, self._on_signal)
            try:
                self._start()
                while True:
                    self.attend()
                    time.sleep(TICK_S)
            except Stopped:
                self.report("\nStopping ...")
                return 0
            finally:
                self._stop()

    # Starting

    def _start(self) -> None:
        began = time.monotonic()
        if leftovers := processes.marked(MARK, str(self.var)):  # of a supervisor that was killed
            self.report(f"Ending {len(leftovers)} processes that an interrupted run left behind ...")
            processes.end(leftovers, 2)
        services.check_port_free(self.port)
        for log in (self.var / "log").glob("*.log"):
            if log.stat().st_size > LARGEST_LOG:
                log.replace(log.with_suffix(".log.1"))
        if self.embedded_database:
            self.report("1/4 PostgreSQL ...")
            self._start_database()
        if self.embedded_broker:
            self.report("2/4 Valkey ...")
            self._start_broker()
        self.report("3/4 Database schema ...")
        self._migrate()
        self.report("4/4 Web server, workers, beat ...")
        self._start_services("web", *WORKERS, "beat")
        if self._web_status("/readyz") != 200:
            self.report(f"The site is not ready: {self.address}readyz says what it lacks.")
        welcome = self.welcome.read_text() if self.welcome else "MomentJudge is running: {address}"
        self.report(welcome.format(seconds=time.monotonic() - began, address=self.address, var=self.var))
        if self.seed:
            self._spawn(self.seed, manage(f"seed_{self.seed}"))

    def _start_database(self) -> None:
        self.hold.take(self._check_stopping)
        self.database_since = time.monotonic()

    def _start_broker(self) -> None:
        make_private_folder(self.broker_socket.parent)
        (self.var / BROKER).mkdir(mode=0o700, exist_ok=True)
        self._start_service(BROKER)
        self._await(lambda: services.valkey_answers(self.broker_socket), VALKEY_S, "Valkey", BROKER)

    def _migrate(self) -> None:
        child = self._spawn("migrate", manage("migrate", "--verbosity", "1", "--no-input"))
        while child.alive():
            self.attend()
            time.sleep(TICK_S / 2)
        del self.children["migrate"]
        if status := child.process.returncode:
            tail = log_tail(child.log, start=child.log_start)
            too_old = tail.rpartition("CommandError: ")[2] if status == TooOld.exit_code else ""
            raise EmbeddedError(too_old or f"migrate failed. The end of {child.log}:\n{tail}")

    def _await(self, answers: Callable[[], bool], seconds: float, what: str, name: str) -> None:
        deadline, log = time.monotonic() + seconds, self._log(name)
        while not answers():
            self.attend()
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{what} has not answered for {seconds:.0f} s. The end of {log}:\n{log_tail(log)}")
            time.sleep(TICK_S / 2)

    def _web_status(self, path: str) -> int | None:
        """The status of a page, None when nothing answers."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    # Children

    def _start_service(self, name: str) -> None:
        """Start one of the services that are kept alive."""
        self.quick_ends.setdefault(name, 0)
        command = services.command_of(name, port=self.port, var=self.var, socket=self.broker_socket)
        # SIGTERM would let a worker finish a long task first
        self._spawn(name, command, orphaned=signal.SIGQUIT if name in WORKERS else signal.SIGTERM)

    def _start_services(self, *names: str) -> None:
        """Start these services and wait until the web server answers."""
        for name in names:
            self._start_service(name)
        self._await(lambda: self._web_status("/healthz") is not None, WEB_S, "The web server", "web")

    def _spawn(self, name: str, command: list[str], *, orphaned: signal.Signals = signal.SIGTERM) -> Child:
        environment = services.environment_for(name, var=self.var)
        self.children[name] = Child(command, self._log(name), environment=environment, orphaned=orphaned)
        return self.children[name]

    def _log(self, name: str) -> Path:
        return self.var / "log" / f"{name}.log"

    # Watching

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True

    def _check_stopping(self) -> None:
        if self.stopping:
            raise Stopped

    def attend(self) -> None:
        """One look at everything: signals, services that ended, output to show."""
        self._check_stopping()
        self._keep_database()
        for name in [name for name in self.quick_ends if name in self.children and not self.children[name].alive()]:
            child = self.children.pop(name)
            child.kill_group()
            status = child.process.returncode
            reason = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
            self._plan_return(name, time.monotonic() - child.born, f"ended ({reason})", child.log_start)
        for name in [name for name, when in self.due.items() if when <= time.monotonic()]:
            if self.due.pop(name, None) is not None:  # starting another one may have waited, and attended, meanwhile
                self._start_service(name)
        if self.seed in self.children:
            self._show_seeding(self.children[self.seed])

    def _show_seeding(self, child: Child) -> None:
        ended = not child.alive()
        for line in child.new_lines():
            self.report(f"{self.seed} | {line}")
        if ended:
            del self.children[self.seed]
            status = child.process.returncode
            outcome = f"not complete (status {status}); see {child.log}" if status else f"done: {self.address}"
            self.report(f"{self.seed} | {outcome}")

    def _plan_return(self, name: str, lived_s: float, event: str, log_start: int = 0) -> None:
        """Say when a service that ended starts again; EmbeddedError when it has ended too quickly too often."""
        log = self._log(name)
        count = self.quick_ends[name] = self.quick_ends.get(name, 0) + 1 if lived_s < QUICK_S else 0
        if count > len(PAUSES_S):
            tail = log_tail(log, start=log_start)
            raise EmbeddedError(f"{name} {event} again and again. The end of {log}:\n{tail}")
        self.report(f"{name} {event}; it starts again. Log: {log}")
        self.due[name] = time.monotonic() + PAUSES_S[max(0, count - 1)]

    def _keep_database(self) -> None:
        """Have a dead PostgreSQL back at once; its log says why it ended."""
        if self.database_since is None:
            return
        if self.hold.postgres.server() is not None:
            self.hold.postgres.finish_stopping()
            return
        self._plan_return(DATABASE, time.monotonic() - self.database_since, "ended")
        while time.monotonic() < self.due[DATABASE]:
            self._check_stopping()
            time.sleep(TICK_S)
        del self.due[DATABASE]
        self._start_database()

    # Stopping

    def _stop(self) -> None:
        """End everything within ten seconds; whatever happens here, nothing may be left behind."""
        try:
            broker = self.children.pop(BROKER, None)
            services.end_children(list(self.children.values()))
            services.end_children([broker] if broker else [], patience_s=1.5)
        finally:
            processes.end(processes.marked(MARK, str(self.var)), 0)
            if not self.hold.release(patience_s=1.5):
                self.report("PostgreSQL stays up for another command, which will stop it.")
        if self.stopping:
            self.report("Stopped.")


def _running_already(note: str, var: Path) -> str:
    pid, _, address = note.partition(" ")
    return (
        f"It is already running on {var}: process {pid or '?'}, {address or 'starting'}\n"
        "Stop that one with Ctrl-C in its terminal, or run a second one beside it on other data:\n"
        "  make run PORT=8001 MOMENTJUDGE_VAR=/some/other/folder"
    )
