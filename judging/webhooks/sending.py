"""Sends one message to an address that somebody typed, and to nobody else.

The name is resolved once, every address that it stands for is looked at, and the connection goes to one of these: a
name that stands for something else a moment later changes nothing. Redirects are answers like others. The answer is
read so far as its status. One deadline holds for all of it, from the name to the answer.
"""

import http.client
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread, Timer
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from judging.webhooks.rules import is_public

DEADLINE_S = 10.0  # of name, connection, handshake, request and answer together
MOST_ADDRESSES = 4  # of one name, that are tried
PORTS = {"http": 80, "https": 443}
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER


class NotSent(Exception):
    """The message did not get through; ``status`` is of the answer, None where none came."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


def message_send(url: str, *, body: bytes, headers: Mapping[str, str], allows_private: bool) -> int:
    """POST the message and return the status of the answer. Raises NotSent where it is not one of success."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    ends_at = monotonic() + DEADLINE_S
    addresses = _addresses_of(host, port, ends_at, allows_private=allows_private)
    connection = _Connection(host, port, parts.scheme)
    try:
        connection.dial(addresses, ends_at)
        with _closed_after(connection.sock, _remaining(ends_at)):
            connection.secure()
            connection.request("POST", path, body, dict(headers))
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        cause = TimeoutError() if monotonic() >= ends_at else error  # a connection that was cut ends in any error
        raise NotSent(f"{host} did not answer: {_in_words(cause)}") from error
    finally:
        connection.close()
    if 300 <= status < 400:
        raise NotSent(f"{host} answered {status}. Redirects are not followed: give the address it leads to.", status)
    if not 200 <= status < 300:
        raise NotSent(f"{host} answered {status}.", status)
    return status


def _addresses_of(host: str, port: int, ends_at: float, *, allows_private: bool) -> list[str]:
    """Return the IP addresses of the host to try, once all of them have been looked at."""
    answers: SimpleQueue[list[Any] | Exception] = SimpleQueue()

    def resolve() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    Thread(target=resolve, daemon=True).start()  # the resolver of the system knows no deadline
    try:
        results = answers.get(timeout=_remaining(ends_at))
    except (Empty, TimeoutError) as error:
        raise NotSent(f"The name {host} was not resolved within {DEADLINE_S:g} s.") from error
    if isinstance(results, Exception):
        raise NotSent(f"The name {host} cannot be resolved.") from results
    addresses = list(dict.fromkeys(str(result[4][0]) for result in results))
    if not addresses or not (allows_private or all(map(is_public, addresses))):
        raise NotSent(f"{host} is not on the public Internet, and this site sends nowhere else.")
    return addresses[:MOST_ADDRESSES]


def _remaining(ends_at: float) -> float:
    """Return the seconds until the deadline; raise TimeoutError where it is over."""
    seconds = ends_at - monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was chosen before, under the name of the host."""

    def __init__(self, host: str, port: int, scheme: str) -> None:
        super().__init__(host, port)
        self.default_port = PORTS[scheme]
        self.context = ssl.create_default_context() if scheme == "https" else None

    def dial(self, addresses: Sequence[str], ends_at: float) -> None:
        """Connect to the first address that answers; each has its share of the time there is."""
        for position, address in enumerate(addresses, start=1):
            share = _remaining(ends_at) / (len(addresses) - position + 1)
            try:
                self.sock = socket.create_connection((address, self.port), share)
                break
            except OSError:
                if position == len(addresses):
                    raise
        self.sock.settimeout(_remaining(ends_at))
        if self.context:
            options: Any = {"server_hostname": self.host, "do_handshake_on_connect": False}
            self.sock = self.context.wrap_socket(self.sock, **options)

    def secure(self) -> None:
        """Shake hands; apart from ``dial``, so that a server that takes its time with this is cut off, too."""
        if isinstance(self.sock, ssl.SSLSocket):
            self.sock.do_handshake()


@contextmanager
def _closed_after(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Cut the connection of a server that sends a byte now and then, and never ends."""

    def cut() -> None:
        with suppress(OSError):
            # closed with a reset: a server that waits until more is read would not learn of it for a minute
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            sock.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came within {DEADLINE_S:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "the connection could not be encrypted"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "the answer is not HTTP"
