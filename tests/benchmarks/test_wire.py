"""The benchmarks' own HTTP, against a server that answers badly."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.annotator import Wire


@contextmanager
def server(*pieces: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Answers each request on one connection with the next piece, sent byte by byte; then it hangs up."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                for piece in pieces:
                    requests.append(connection.recv(65536))
                    for byte in piece:
                        connection.sendall(bytes([byte]))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], requests
        thread.join(5)


def test_status_location_cookies_and_body() -> None:
    head = (
        b"HTTP/1.1 302 Found\r\nLocation: /next/\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=x=y\r\nContent-Length: 5"
    )
    with server(head + b"\r\n\r\nhello") as (port, requests):
        reply = Wire("127.0.0.1", port, timeout_s=5).exchange("POST", "/form/", {"X-Word": "yes"}, b"grade=4")
    assert reply == (302, "/next/", {"a": "1", "b": "x=y"}, b"hello")
    assert requests[0].startswith(b"POST /form/ HTTP/1.1\r\nHost: 127.0.0.1")
    assert requests[0].endswith(b"X-Word: yes\r\nContent-Length: 7\r\n\r\ngrade=4")


def test_one_connection_for_several_requests() -> None:
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    with server(empty, empty) as (port, requests):
        wire = Wire("127.0.0.1", port, timeout_s=5)
        assert [wire.exchange("GET", path, {}).status for path in ("/1", "/2")] == [204, 204]
    assert len(requests) == 2


@pytest.mark.parametrize(
    "cut", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"]
)
def test_broken_connection_is_an_error(cut: bytes) -> None:
    with server(cut) as (port, _), pytest.raises(ConnectionResetError):
        Wire("127.0.0.1", port, timeout_s=5).exchange("GET", "/", {})


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        Wire("127.0.0.1", port, timeout_s=5).exchange("GET", "/", {})
