"""The supervisor's children: how each one is started, judged when it ends, and ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from core.embedded.processes import Identity, dies_with_parent, identify

BASE_DIR = Path(__file__).resolve().parent.parent.parent
QUICK_S = 10.0  # a service that ends sooner has not really run
PAUSES_S = (0.3, 1.0, 2.0, 4.0)  # before each new try after a quick death; then it is given up


@dataclass
class Restarts:
    """How long to wait before a service that ended is started again."""

    quick_deaths: int = 0

    def pause_after(self, lived_s: float) -> float | None:
        """Seconds to wait, or None when it has ended too quickly too often."""
        self.quick_deaths = self.quick_deaths + 1 if lived_s < QUICK_S else 0
        if self.quick_deaths > len(PAUSES_S):
            return None
        return PAUSES_S[max(0, self.quick_deaths - 1)]


@dataclass(frozen=True)
class Service:
    """One program under the supervisor; ``orphaned`` is what the kernel sends it when the supervisor dies."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    orphaned: signal.Signals = signal.SIGTERM


@dataclass
class Child:
    """A started service; a session and process group of its own, so that Ctrl-C does not reach it."""

    service: Service
    process: subprocess.Popen[bytes]
    identity: Identity | None
    log_start: int
    born: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, service: Service, *, piped: bool = False) -> "Child":
        """Start the service with its output in its log, or in a pipe.

        Call it from the main thread: the kernel ties the child to the thread that started it.
        """
        with service.log.open("ab") as log:
            process = subprocess.Popen(
                service.command,
                cwd=BASE_DIR,
                env=service.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=dies_with_parent(service.orphaned),  # noqa: PLW1509 - there is one thread
            )
            return cls(service, process, identify(process.pid), log.tell())

    def alive(self) -> bool:
        return self.process.poll() is None

    def lived_s(self) -> float:
        return time.monotonic() - self.born

    def tell(self, number: signal.Signals) -> None:
        """Signal its leader, who knows how to end the others in good order."""
        if self.alive():
            self.process.send_signal(number)

    def kill_group(self) -> None:
        """Kill the leader and all its group; a group may outlive its leader, its number stays taken as long."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def python(*words: str) -> list[str]:
    return [sys.executable, *words]


def manage(*words: str) -> list[str]:
    return python(str(BASE_DIR / "manage.py"), *words)


def web_command(port: int) -> list[str]:
    words = ["--bind", f"127.0.0.1:{port}", "--worker-class", "core.buffered_worker.BufferedWorker"]
    words += ["--workers", "2", "--threads", "4"]
    words += ["--graceful-timeout", "3", "--no-control-socket", "--access-logfile", "-"]
    words += ["--logger-class", "core.observability.logs.AccessLog", "--config", "python:config.web_processes"]
    return python("-m", "gunicorn", "config.wsgi", *words)


def judging_command() -> list[str]:
    """The worker that decides batches and ends leases; nothing else ever keeps it from that."""
    return _worker("judging", "judging", processes=1)


def worker_command() -> list[str]:
    return _worker("worker", "celery,uploads", processes=2)


def gpu_command() -> list[str]:
    """The worker that trains; it has its device for itself."""
    return _worker("gpu", "gpu", processes=1)


def search_command() -> list[str]:
    """The worker that answers searches; it keeps models in memory, once."""
    return _worker("search", "search", processes=1)


def _worker(name: str, queues: str, *, processes: int) -> list[str]:
    words = ["--queues", queues, "--hostname", f"{name}@%h", "--pool", "prefork", "--concurrency", str(processes)]
    words += ["--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    return python("-m", "celery", "-A", "config", "worker", *words)


def beat_command(var: Path) -> list[str]:
    # No pid file: a stale one would stop the start, and the supervisor's lock already says who runs.
    return python("-m", "celery", "-A", "config", "beat", "--loglevel", "INFO", "--schedule", str(var / "beat"))


def environment_for(name: str, *, var: Path, mark: dict[str, str]) -> dict[str, str]:
    """The environment of the service ``name``: the caller's, the settings' choice, and what this one needs."""
    extra = {"DJANGO_SETTINGS_MODULE": "config.settings.local", "MOMENTJUDGE_VAR": str(var), "PYTHONUNBUFFERED": "1"}
    if name != "web":
        extra |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    kept = {key: value for key, value in os.environ.items() if key != "DATABASE_POOL"}
    return kept | extra | mark | ({"DATABASE_POOL": "4"} if name == "web" else {})
