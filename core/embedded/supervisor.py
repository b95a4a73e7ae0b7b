"""Runs the site on one machine: starts its services in order, restarts what dies, ends them all.

One thread, one loop: the kernel ties a child's life to the thread that started it. Signals only set a flag, which
every wait looks at (``attend``), so that nothing is interrupted half done.
"""

import http.client
import os
import secrets
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType

from core.compatibility import TooOld
from core.embedded import processes, services
from core.embedded.folder import EmbeddedError, FileLock, make_private_folder, make_var_folder
from core.embedded.holding import Hold
from core.embedded.postgres import log_tail
from core.embedded.services import HOST, WORKERS, Child, Relay, Restarts, manage, say

TICK_S = 0.1
VALKEY_S = 30
WEB_S = 90
LARGEST_LOG = 10_000_000  # bytes; a larger one is set aside at the next start


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
        self.broker_socket = self.hold.postgres.sockets / "valkey.sock"
        self.mark, self.mark_file = secrets.token_hex(16), self.var / "run.mark"
        self.children: dict[str, Child] = {}
        self.restarts: dict[str, Restarts] = {}
        self.due: dict[str, float] = {}  # services that ended, and when they start again
        self.relay: Relay | None = None
        self.stopping = False

    def run(self) -> int:
        """Run until asked to stop; returns the exit status.

        Raises:
            EmbeddedError: the site cannot start, or a service cannot be kept alive; everything has ended by then.
        """
        with FileLock(self.var / "supervisor.lock") as lock:
            if not lock.try_exclusive():
                raise EmbeddedError(_running_already(lock.read(), self.var))
            lock.write(f"{os.getpid()} {self.address}")
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
        self._end_leftovers()
        services.check_port_free(self.port)
        for log in (self.var / "log").glob("*.log"):
            if log.stat().st_size > LARGEST_LOG:
                log.replace(log.with_suffix(".log.1"))
        if self.embedded_database:
            self.report("1/4 PostgreSQL ...")
            self._start_database()
        if self.embedded_broker:
            self.report("2/4 Valkey ...")
            make_private_folder(self.broker_socket.parent)
            self._start_service("valkey")
            self._await_broker()
        self.report("3/4 Database schema and static files ...")
        self._prepare_site()
        self.report("4/4 Web server, workers, beat ...")
        self._start_services("web", *WORKERS, "beat")
        if self._web_status("/readyz") != 200:
            self.report(f"The site is not ready: {self.address}readyz says what it lacks.")
        if (self._web_status("/") or 500) >= 500:
            self.report(
                f"The start page answers with an error. The end of {self._log('web')}:\n{log_tail(self._log('web'))}"
            )
        seconds = time.monotonic() - began
        welcome = self.welcome.read_text() if self.welcome else "MomentJudge is running: {address}"
        self.report(welcome.format(seconds=seconds, address=self.address, var=self.var))
        if self.seed:
            self.relay = Relay(self._spawn(self.seed, manage(f"seed_{self.seed}")), prefix=f"{self.seed} | ")

    def _end_leftovers(self) -> None:
        """End what outlived a supervisor that was killed, and nothing else."""
        earlier = self.mark_file.read_text() if self.mark_file.exists() else ""
        if earlier and (leftovers := processes.marked(earlier)):
            self.report(f"Ending {len(leftovers)} processes that an interrupted run left behind ...")
            processes.end(leftovers, 2)
        self.mark_file.write_text(self.mark)

    def _start_database(self) -> None:
        self.hold.take(die_with_caller=True, fresh=True, waiting=self._check_stopping)

    def _await_broker(self) -> None:
        self._await(lambda: services.valkey_answers(self.broker_socket), VALKEY_S, "Valkey", "valkey")

    def _prepare_site(self) -> None:
        """Migrate, and beside it collect the static files if any changed."""
        fingerprint = services.static_fingerprint()
        self._spawn("migrate", manage("migrate", "--verbosity", "1", "--no-input"))
        collecting = not services.static_is_collected(self.var, fingerprint)
        if collecting:
            self._spawn("static", manage("collectstatic", "--no-input", "--clear", "--verbosity", "0"))
        for name in ("migrate", "static") if collecting else ("migrate",):
            self._finish(name)
        if collecting:
            services.static_note_collected(self.var, fingerprint)

    def _finish(self, name: str) -> None:
        """Wait for the end of a command; EmbeddedError where it failed."""
        step = self.children[name]
        while step.alive():
            self.attend()
            time.sleep(TICK_S / 2)
        if status := step.process.returncode:
            tail = log_tail(step.log, start=step.log_start)
            too_old = tail.rpartition("CommandError: ")[2] if status == TooOld.exit_code else ""
            raise EmbeddedError(too_old or f"{name} failed. The end of {step.log}:\n{tail}")
        del self.children[name]

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
        match name:
            case "valkey":
                (self.var / "valkey").mkdir(mode=0o700, exist_ok=True)
                self._spawn(name, services.valkey_command(self.var / "valkey", self.broker_socket))
            case "web":
                self._spawn(name, services.web_command(self.port))
            case "beat":
                self._spawn(name, services.beat_command(self.var))
            case _:
                self._restore_tasks(WORKERS[name].restored)
                # SIGTERM would finish a long task first
                self._spawn(name, services.worker_command(name), orphaned=signal.SIGQUIT)
        self.restarts.setdefault(name, Restarts())

    def _start_services(self, *names: str) -> None:
        """Start these services and wait until the web server answers."""
        for name in names:
            self._start_service(name)
        self._await(lambda: self._web_status("/healthz") is not None, WEB_S, "The web server", "web")

    def _restore_tasks(self, queues: Collection[str]) -> None:
        """Give the tasks of a killed worker back to its queues; the broker may have died with it, so await it."""
        if queues and self.embedded_broker:
            self._await_broker()
            if restored := services.restore_unacknowledged(self.broker_socket, queues):
                self.report(f"Interrupted tasks that wait for the worker again: {restored}.")

    def _spawn(self, name: str, command: list[str], *, orphaned: signal.Signals = signal.SIGTERM) -> Child:
        environment = services.environment_for(name, var=self.var, mark={processes.MARK: self.mark})
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
        """One look at everything: signals, dead services, output to show."""
        self._check_stopping()
        self._keep_database()
        for name in [name for name in self.restarts if name in self.children and not self.children[name].alive()]:
            self._handle_exit(name)
        for name in [name for name, when in self.due.items() if when <= time.monotonic()]:
            if self.due.pop(name, None) is not None:  # starting another one may have waited, and attended, meanwhile
                self._start_service(name)
        if self.relay is not None and self.relay.pump(self.address):
            self.relay = None
            del self.children[self.seed]

    def _handle_exit(self, name: str) -> None:
        """Note a dead service, clear what it left of its group, and plan its return."""
        child = self.children.pop(name)
        child.kill_group()
        status = child.process.returncode
        reason = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        self._plan_return(name, time.monotonic() - child.born, f"ended ({reason})", child.log_start)

    def _plan_return(self, name: str, lived_s: float, event: str, log_start: int = 0) -> None:
        pause, log = self.restarts.setdefault(name, Restarts()).pause_after(lived_s), self._log(name)
        if pause is None:
            tail = log_tail(log, start=log_start)
            raise EmbeddedError(f"{name} {event} again and again. The end of {log}:\n{tail}")
        self.report(f"{name} {event}; it starts again. Log: {log}")
        self.due[name] = time.monotonic() + pause

    def _keep_database(self) -> None:
        """Have a dead PostgreSQL back at once; its log says why it ended."""
        if not self.embedded_database or not self.hold.is_active:
            return
        if self.hold.postgres.server() is not None:
            self.hold.postgres.finish_stopping()
            return
        self._plan_return("postgres", time.monotonic() - self.hold.since, "ended")
        while time.monotonic() < self.due["postgres"]:
            self._check_stopping()
            time.sleep(TICK_S)
        del self.due["postgres"]
        self._start_database()

    # Stopping

    def _stop(self) -> None:
        """End everything within ten seconds; whatever happens here, nothing may be left behind."""
        try:
            last = self.children.pop("valkey", None)
            services.end_children(list(self.children.values()))
            services.end_children([last] if last else [], patience_s=1.5)
        finally:
            processes.end(processes.marked(self.mark), 0)
            self._release_database(time.monotonic() + 1.0)
            self.mark_file.unlink(missing_ok=True)
        if self.stopping:
            self.report("Stopped.")

    def _release_database(self, deadline: float) -> None:
        """Stop PostgreSQL unless another command brought it up and still uses it."""

        def waiting() -> None:
            if time.monotonic() > deadline:
                raise EmbeddedError("The lock on PostgreSQL's start is taken.")

        try:
            if self.hold.is_active and not self.hold.release(stop_own=True, patience_s=1.5, waiting=waiting):
                self.report("PostgreSQL stays up for another command, which will stop it.")
        except EmbeddedError as error:
            self.report(f"{error} PostgreSQL ends by itself if this run started it.")


def _running_already(note: str, var: Path) -> str:
    pid, _, address = note.partition(" ")
    return (
        f"It is already running on {var}: process {pid or '?'}, {address or 'starting'}\n"
        "Stop that one with Ctrl-C in its terminal, or run a second one beside it on other data:\n"
        "  make run PORT=8001 MOMENTJUDGE_VAR=/some/other/folder"
    )
