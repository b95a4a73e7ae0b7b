"""A whole site of its own for the length of a benchmark: data folder, PostgreSQL, Valkey, web server, workers.

The supervisor is that of ``make run``, so what is measured is what is run; only the gpu and search workers, beat and
the demo are left out.
"""

import logging
import os
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.common import say
from core.embedded.postgres import log_tail
from core.embedded.services import HOST
from core.embedded.supervisor import BROKER, Supervisor

DATABASE = "database"
WORKERS = ("judging", "worker")
FOREIGN = ("DATABASE_URL", "BROKER_URL", "DATABASE_POOL")  # would lead to other data


class OwnSite(Supervisor):
    """The running site. ``attend`` starts services again that have ended; nothing else does."""

    def __init__(self, var: Path) -> None:
        super().__init__(var=var, port=free_port(), report=say)
        self.returned: Counter[str] = Counter()  # how often each service was started again

    def open(self) -> None:
        """Start all of it; EmbeddedError where a part does not start, with the end of its log."""
        self._start_database()
        self._start_broker()
        self._migrate()
        self._start_services("web", *WORKERS)

    def close(self) -> None:
        self._stop()

    def _plan_return(self, name: str, lived_s: float, event: str, log_start: int = 0) -> None:
        """Start it again at once, however often it ends: the benchmark kills it.

        The broker comes back empty: its messages are lost.
        """
        if name == BROKER:
            shutil.rmtree(self.var / BROKER)
            (self.var / BROKER).mkdir()
        self.returned[DATABASE if name == "postgres" else name] += 1
        self.due[name] = time.monotonic()

    def log_tail(self, name: str) -> str:
        return log_tail(self._log(name))

    def ended(self) -> list[str]:
        """Return the services that should run and do not."""
        names = [*self.quick_ends, DATABASE]
        return [name for name in names if not self.processes(name)]

    def processes(self, name: str) -> list[int]:
        """Return the service's processes, the leader first; empty when it does not run."""
        if name == DATABASE:
            server = self.hold.postgres.server()
            return family_of(server.pid) if server else []
        child = self.children.get(name)
        return family_of(child.process.pid) if child and child.alive() else []

    def cpu_s(self) -> dict[str, float]:
        """Return the processor time used so far by each service, with all its processes."""
        return {name: cpu_s_of(self.processes(name)) for name in (*self.children, DATABASE)}


@contextmanager
def own_site(*, with_django: bool = False) -> Iterator[OwnSite]:
    """Run a site inside the block, with this process's Django settings pointing at it; then remove all of it.

    ``with_django`` sets Django up in this process, too, without its informative log lines. Raises EmbeddedError where a
    part of it does not start; the message holds the end of its log.
    """
    var = Path(tempfile.mkdtemp(prefix="momentjudge-benchmark-"))
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ |= {"MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    site = OwnSite(var)
    try:
        site.open()
        if with_django:
            import django

            django.setup()
            logging.disable(logging.INFO)  # one line per batch opened
        yield site
    finally:
        site.close()
        shutil.rmtree(var, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


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
