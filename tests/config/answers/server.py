"""The web server as it is started here and there, with the routes of this folder; no database is needed."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from core.embedded.services import BASE_DIR, HOST, command_of
from core.processes import dies_with_parent
from tests.config.answers.reader import PATIENCE_S, Connection

SETTINGS = "tests.config.answers.settings"
START_S = 300


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def of_make_run(port: int) -> list[str]:
    return command_of("web", port=port)


def of_production(port: int) -> list[str]:
    return [sys.executable, "-m", "gunicorn", "--config", "docker/gunicorn.conf.py", "config.wsgi"]


class Served(NamedTuple):
    port: int
    process: "subprocess.Popen[bytes]"
    log: Path


@contextmanager
def serving(command: Sequence[str], port: int, folder: Path) -> Iterator[Served]:
    """The server as soon as it answers; its data folder and its log lie in ``folder``."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": SETTINGS, "WEB_BIND": f"{HOST}:{port}"}
    environment |= {"MOMENTJUDGE_VAR": str(folder)}
    log = folder / "web.log"
    with log.open("wb") as file:
        server = subprocess.Popen(
            command,
            cwd=BASE_DIR,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=dies_with_parent(signal.SIGKILL),  # noqa: PLW1509 - no thread runs Python code meanwhile
        )
    try:
        _await_answer(port, server, log)
        yield Served(port, server, log)
    finally:
        server.terminate()
        server.wait(START_S)


def _await_answer(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
        finally:
            connection.close()
        assert server.poll() is None and time.monotonic() < deadline, log.read_text()


def open_connection(port: int) -> Connection:
    return Connection(socket.create_connection((HOST, port), PATIENCE_S), f"{HOST}:{port}")
