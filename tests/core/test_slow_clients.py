"""Who sends half a request and waits holds a connection of `make run`, and no thread."""

from collections.abc import Iterator

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


@pytest.mark.parametrize("missing", HALVES)
def test_others_are_answered_meanwhile_and_the_slow_ones_when_they_have_sent_all(port: int, missing: str) -> None:
    first, rest = HALVES[missing]
    slow = [open_connection(port) for _ in range(SLOW)]
    for each in slow:
        each.socket.sendall(first)
    quick = [open_connection(port) for _ in range(8)]
    for _ in range(4):
        for each in quick:
            assert each.ask("/json/").status == 200
    assert [each for each in slow if answered(each)] == []
    for each in slow:
        each.socket.sendall(rest)
    assert {each.read("POST").status for each in slow} == {403}  # no token stands in the form
    for each in (*slow, *quick):
        each.socket.close()


def test_who_does_not_read_the_answer_holds_no_thread_either(port: int) -> None:
    slow = [open_connection(port) for _ in range(SLOW // 4)]
    for each in slow:
        each.socket.sendall(b"GET /large/ HTTP/1.1\r\nHost: testserver\r\n\r\n")
    quick = [open_connection(port) for _ in range(8)]
    for _ in range(4):
        for each in quick:
            assert each.ask("/json/").status == 200
    assert {each.read().body == LARGE for each in slow} == {True}
    for each in (*slow, *quick):
        assert each.ask("/json/").status == 200
        each.socket.close()


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
