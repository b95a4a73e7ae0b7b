"""A whole site of its own for the length of a benchmark: data folder, PostgreSQL, Valkey, web server, workers.

The commands are those of ``make run`` (core.embedded.services), so what is measured is what is run; only the gpu and
search workers, beat and the demo are left out. Services that a benchmark kills are restarted as the supervisor does it.
"""

import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from core.embedded import services
from core.embedded.holding import Hold
from core.embedded.postgres import log_tail
from core.embedded.services import BASE_DIR, Child, Service, end_children, environment_for, manage

HOST = "127.0.0.1"
START_S = 90
DATABASE, BROKER = "database", "valkey"
PREPARED_BY = (("migrate", "--verbosity", "0", "--no-input"), ("collectstatic", "--verbosity", "0", "--no-input"))
WORKERS = {"judging": ("judging",), "worker": ("celery", "uploads")}  # and the queues they listen on
FOREIGN = ("DATABASE_URL", "BROKER_URL", "DATABASE_POOL")  # would lead to somebody else's data


@dataclass
class OwnSite:
    """The running site."""

    var: Path
    port: int
    hold: Hold
    children: dict[str, Child] = field(default_factory=dict)

    @property
    def broker(self) -> Path:
        return self.hold.postgres.sockets / "valkey.sock"

    def log_tail(self, name: str) -> str:
        return log_tail(self.var / "log" / f"{name}.log")

    def ended(self) -> list[str]:
        """Return the services that should run and do not."""
        ended = [name for name, child in self.children.items() if not child.alive()]
        return ended if self.hold.postgres.server() else [*ended, DATABASE]

    def processes(self, name: str) -> list[int]:
        """Return the service's processes, the leader first; empty when it does not run."""
        if name == DATABASE:
            server = self.hold.postgres.server()
            return family_of(server.pid) if server else []
        child = self.children.get(name)
        return family_of(child.process.pid) if child and child.alive() else []

    def start(self, name: str) -> None:
        """Start one of the services that a supervisor keeps alive. From the main thread only."""
        if name == BROKER:
            (self.var / BROKER).mkdir(exist_ok=True)
        command = {
            BROKER: services.valkey_command(self.var / BROKER, self.broker),
            "web": services.web_command(self.port),
            "judging": services.worker_command("judging"),
            "worker": services.worker_command("worker"),
        }[name]
        environment = environment_for(name, var=self.var, mark={})
        self.children[name] = Child.start(Service(name, command, environment, self.var / "log" / f"{name}.log"))

    def restart(self, name: str) -> None:
        """Start a service again that ended, as the supervisor does: first nothing of it may be left.

        The broker comes back empty: what it held is as lost as messages can be.
        """
        if name == DATABASE:
            self.hold.take(die_with_caller=True, fresh=True)
            return
        self.children[name].kill_group()
        if name == BROKER:
            shutil.rmtree(self.var / BROKER)
        if name in WORKERS:
            _await(self, BROKER, lambda: services.valkey_answers(self.broker))
            services.restore_unacknowledged(self.broker, WORKERS[name])
        self.start(name)

    def cpu_s(self) -> dict[str, float]:
        """Return the processor time used so far by each service, with all its processes."""
        return {name: cpu_s_of(self.processes(name)) for name in (*self.children, DATABASE)}


@contextmanager
def own_site(*, with_django: bool = False) -> Iterator[OwnSite]:
    """Run a site inside the block, with this process's Django settings pointing at it; then remove all of it.

    ``with_django`` sets Django up in this process, too, without its informative log lines.

    Raises:
        RuntimeError: a part of it does not start; the message holds the end of its log.
    """
    var = Path(tempfile.mkdtemp(prefix="momentjudge-benchmark-"))
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ |= {"MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    site = OwnSite(var, _free_port(), Hold(var))
    try:
        site.hold.take(die_with_caller=True)
        site.start(BROKER)
        preparing = [_manage(var, *words) for words in PREPARED_BY]
        for step in preparing:
            _finish(step)
        _await(site, BROKER, lambda: services.valkey_answers(site.broker))
        for name in ("web", *WORKERS):
            site.start(name)
        _await(site, "web", lambda: _healthy(site.port))
        if with_django:
            import django

            django.setup()
            logging.disable(logging.INFO)  # one line per batch opened
        yield site
    finally:
        broker = site.children.pop(BROKER, None)
        end_children(list(site.children.values()))
        end_children([broker] if broker else [])
        site.hold.release(stop_own=True)
        shutil.rmtree(var, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _manage(var: Path, *words: str) -> subprocess.Popen[str]:
    environment = environment_for(words[0], var=var, mark={})
    return subprocess.Popen(
        manage(*words), env=environment, cwd=BASE_DIR, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _finish(step: subprocess.Popen[str]) -> None:
    output, _ = step.communicate(timeout=START_S)
    if step.returncode:
        raise RuntimeError(f"{step.args!r} failed:\n{output}")


def _await(site: OwnSite, name: str, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S
    while not is_ready():
        if not site.children[name].alive() or time.monotonic() > deadline:
            raise RuntimeError(f"{name} does not answer. The end of its log:\n{site.log_tail(name)}")
        time.sleep(0.1)


def family_of(root: int) -> list[int]:
    """Return the process and its descendants, the eldest first."""
    return [root, *(process.pid for process in psutil.Process(root).children(recursive=True))]


def cpu_s_of(pids: Iterable[int]) -> float:
    """Return processor seconds of the processes and of their children that have ended."""
    seconds = 0.0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def _healthy(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=5)  # urllib would ask a proxy
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
