"""Who sends half a request and waits holds a connection of `make run`, and no thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.config.answers.reader import PATIENCE_S, Connection
from tests.config.answers.server import free_port, of_make_run, open_connection, serving
from tests.config.answers.urls import LARGE

pytestmark = pytest.mark.deployment

SLOW = 64
HEAD = "POST /json/ HTTP/1.1\r\nHost: testserver\r\nContent-Type: application/x-www-form-urlencoded\r\n"
PLAIN = f"{HEAD}Content-Length: 8\r\n\r\nusername".encode()
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n8\r\nusername\r\n0\r\n\r\n".encode()
HALVES = {  # what is sent at first, and the rest
    "all": (b"", PLAIN),
    "half the headers": (PLAIN[:70], PLAIN[70:]),
    "half the body": (PLAIN[:-4], PLAIN[-4:]),
    "half a chunk": (CHUNKED[:-11], CHUNKED[-11:]),
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    with serving(of_make_run(port), port, tmp_path_factory.mktemp("web")):
        yield port


@contextmanager
def answered_beside(port: int, first: bytes, number: int) -> Iterator[list[Connection]]:
    """So many connections that send ``first`` and wait; others were answered meanwhile, and are again at the end."""
    slow, quick = [open_connection(port) for _ in range(number)], [open_connection(port) for _ in range(8)]
    for connection in slow:
        connection.socket.sendall(first)
    for connection in quick * 4:
        assert connection.ask("/json/").status == 200
    yield slow
    for connection in (*slow, *quick):
        assert connection.ask("/json/").status == 200
        connection.socket.close()


@pytest.mark.parametrize("missing", HALVES)
def test_others_are_answered_meanwhile_and_the_slow_ones_when_they_have_sent_all(port: int, missing: str) -> None:
    first, rest = HALVES[missing]
    with answered_beside(port, first, SLOW) as slow:
        assert [connection for connection in slow if answered(connection)] == []
        for connection in slow:
            connection.socket.sendall(rest)
        assert {connection.read("POST").status for connection in slow} == {403}  # no token stands in the form


def test_who_does_not_read_the_answer_holds_no_thread_either(port: int) -> None:
    with answered_beside(port, b"GET /large/ HTTP/1.1\r\nHost: testserver\r\n\r\n", SLOW // 4) as slow:
        assert {connection.read().body == LARGE for connection in slow} == {True}


def test_more_than_is_buffered_for_a_client_arrives_whole(port: int) -> None:
    """The thread waits until some of it has been read, and goes on."""
    answer = open_connection(port).ask("/endless/")
    assert answer.body == LARGE * 8


def answered(connection: Connection) -> bool:
    """Whether something has come, or the connection was closed."""
    connection.socket.setblocking(False)
    try:
        connection.socket.recv(1)
    except BlockingIOError:
        return False
    finally:
        connection.socket.settimeout(PATIENCE_S)
    return True
