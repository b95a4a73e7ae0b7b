"""A whole site of its own for the length of a benchmark: data folder, PostgreSQL, Valkey, web server, worker.

The commands are those of ``make run`` (config.embedded.services), so what is measured is what is run;
only beat and the demo are left out.
"""

import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.embedded import valkey
from config.embedded.farewell import end_children
from config.embedded.holding import Hold
from config.embedded.postgres import log_tail
from config.embedded.processes import all_pids
from config.embedded.services import BASE_DIR, Child, Service, environment_for, manage, web_command, worker_command

HOST = "127.0.0.1"
START_S = 90
FOREIGN = ("DATABASE_URL", "BROKER_URL", "DATABASE_POOL")  # would lead to somebody else's data


@dataclass(frozen=True)
class OwnSite:
    """The running site."""

    var: Path
    port: int
    children: dict[str, Child]
    database_pid: int

    def log_tail(self, name: str) -> str:
        return log_tail(self.var / "log" / f"{name}.log")

    def ended(self) -> list[str]:
        """Services that should run and do not."""
        return [name for name, child in self.children.items() if not child.alive()]

    def cpu_s(self) -> dict[str, float]:
        """Processor time used so far by each service, with all its processes."""
        used = {name: _cpu_s(child.process.pid) for name, child in self.children.items()}
        return {**used, "database": _cpu_s(self.database_pid)}


@contextmanager
def own_site() -> Iterator[OwnSite]:
    """Run a site inside the block, with this process's Django settings pointing at it; then remove all of it.

    Raises:
        RuntimeError: a part of it does not start; the message holds the end of its log.
    """
    var = Path(tempfile.mkdtemp(prefix="momentjudge-benchmark-"))
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ |= {"MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    hold, children = Hold(var), dict[str, Child]()
    try:
        postgres = hold.take(die_with_caller=True)
        server = postgres.server()
        assert server is not None, "take() returns with a running server"
        site = OwnSite(var, _free_port(), children, server.pid)
        broker = postgres.sockets / "valkey.sock"
        (var / "valkey").mkdir()
        _start(site, "valkey", valkey.command(var / "valkey", broker))
        _manage(var, "migrate", "--verbosity", "0", "--no-input")
        _manage(var, "collectstatic", "--verbosity", "0", "--no-input")
        _await(site, "valkey", lambda: valkey.answers(broker))
        _start(site, "web", web_command(site.port))
        _start(site, "worker", worker_command())
        _await(site, "web", lambda: _healthy(site.port))
        yield site
    finally:
        last = children.pop("valkey", None)
        end_children(list(children.values()))
        end_children([last] if last else [])
        hold.release(stop_own=True)
        shutil.rmtree(var, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _start(site: OwnSite, name: str, command: list[str]) -> None:
    environment = environment_for(name, var=site.var, mark={})
    log = site.var / "log" / f"{name}.log"
    site.children[name] = Child.start(Service(name, command, environment, log))


def _manage(var: Path, *words: str) -> None:
    environment = environment_for(words[0], var=var, mark={})
    done = subprocess.run(
        manage(*words), env=environment, cwd=BASE_DIR, capture_output=True, text=True, timeout=START_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"manage.py {words[0]} failed:\n{done.stderr}")


def _await(site: OwnSite, name: str, there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S
    while not there():
        if not site.children[name].alive() or time.monotonic() > deadline:
            raise RuntimeError(f"{name} does not answer. The end of its log:\n{site.log_tail(name)}")
        time.sleep(0.1)


def _cpu_s(root: int) -> float:
    """Of the process, its descendants and those that have ended."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for pid in all_pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {root}
    while found := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= found
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
