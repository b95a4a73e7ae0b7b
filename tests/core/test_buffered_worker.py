"""The worker class of `make run` keeps what the site expects of gunicorn."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from core.processes import wait_gone
from tests.config.answers.server import START_S, Served, free_port, of_make_run, open_connection, serving
from tests.config.answers.urls import PIECES

pytestmark = pytest.mark.deployment


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    port = free_port()
    with serving(of_make_run(port), port, tmp_path_factory.mktemp("web")) as served:
        yield served


def eventually(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_site_sees_a_request_as_it_was_sent(served: Served) -> None:
    headers = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
    environ = json.loads(open_connection(served.port).ask("/echo/?a=%20b", headers=headers).body)
    assert (environ["RAW_URI"], environ["REMOTE_ADDR"]) == ("/echo/?a=%20b", "127.0.0.1")
    assert environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.7"  # TRUSTED_PROXIES decides whether it counts
    assert environ["wsgi.url_scheme"] == "http"


@pytest.mark.parametrize("size", [0, 1, 8 * 1024, 200 * 1024, 2 * 2**20])
def test_a_body_arrives_whole_whether_it_fits_into_memory_or_not(served: Served, size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    connection = open_connection(served.port)
    for _ in range(2):
        answer = connection.ask("/echo/", "POST", body=body)
        assert json.loads(answer.body)["body"] == sha256(body).hexdigest()
    assert not list((served.log.parent / "receiving").iterdir())


def test_a_body_in_chunks_arrives_whole_and_one_beyond_every_limit_is_refused(served: Served) -> None:
    connection = open_connection(served.port)
    head = "POST /echo/ HTTP/1.1\r\nHost: testserver\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.socket.sendall(f"{head}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n".encode())
    assert json.loads(connection.read("POST").body)["body"] == sha256(b"hello!").hexdigest()
    connection.socket.sendall(b"POST /echo/ HTTP/1.1\r\nHost: testserver\r\nContent-Length: 300000000\r\n\r\n")
    answer = connection.read("POST")
    assert (answer.status, answer.closes) == (413, True)


def test_requests_are_logged_with_their_length_and_without_secrets(served: Served) -> None:
    answer = open_connection(served.port).ask("/invitations/0123456789abcdef0123456789abcdef/")

    def logged() -> list[str]:
        return [line for line in served.log.read_text().splitlines() if '"GET /invitations/' in line]

    eventually(lambda: bool(logged()))
    (line,) = logged()
    assert f'" {answer.status} {len(answer.body)} ' in line
    assert "0123456789abcdef" not in served.log.read_text()
    for method, length in (("GET", len(b"".join(PIECES))), ("HEAD", 0)):
        open_connection(served.port).ask("/download/", method)
        line = f'"{method} /download/ HTTP/1.1" 200 {length} '
        eventually(lambda line=line: line in served.log.read_text())  # type: ignore[misc]


def test_running_requests_are_answered_before_the_end(tmp_path: Path) -> None:
    port = free_port()
    with serving(of_make_run(port), port, tmp_path) as served:
        connection = open_connection(port)
        connection.socket.sendall(b"GET /latch/one/ HTTP/1.1\r\nHost: testserver\r\n\r\n")
        eventually((tmp_path / "one.begun").exists)
        served.process.send_signal(signal.SIGTERM)
        eventually(lambda: "Handling signal: term" in served.log.read_text())
        (tmp_path / "one.open").touch()
        assert connection.read().body == b"open"
        assert served.process.wait(START_S) == 0


def test_a_worker_whose_arbiter_was_killed_ends(tmp_path: Path) -> None:
    port = free_port()
    with serving(of_make_run(port), port, tmp_path) as served:
        workers = psutil.Process(served.process.pid).children(recursive=True)
        assert len(workers) == 2
        served.process.kill()
        assert wait_gone(workers, START_S) == []
