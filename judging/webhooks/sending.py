"""Sends one message to an address that somebody typed, and to nobody else.

The name is resolved once, every address that it stands for is looked at, and the connection goes to one of these: a
name that stands for something else a moment later changes nothing. Redirects are answers like others. The answer is
read so far as its status, and for a limited time.
"""

import http.client
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from judging.webhooks.rules import is_public

TIMEOUT_S = 10.0  # of each step
DEADLINE_S = 20.0  # of all of them
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
    connection = _Connection(host, port, parts.scheme, _address_of(host, port, allows_private=allows_private))
    try:
        connection.dial()
        with _closed_after(connection.sock, DEADLINE_S):
            connection.secure()
            connection.request("POST", path, body, dict(headers))
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise NotSent(f"{host} did not answer: {_in_words(error)}") from error
    finally:
        connection.close()
    if 300 <= status < 400:
        raise NotSent(f"{host} answered {status}. Redirects are not followed: give the address it leads to.", status)
    if not 200 <= status < 300:
        raise NotSent(f"{host} answered {status}.", status)
    return status


def _address_of(host: str, port: int, *, allows_private: bool) -> str:
    """Return an IP address of the host, once all of them have been looked at."""
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"The name {host} cannot be resolved.") from error
    addresses = [str(result[4][0]) for result in results]
    if not addresses or not (allows_private or all(map(is_public, addresses))):
        raise NotSent(f"{host} is not on the public Internet, and this site sends nowhere else.")
    return addresses[0]


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was chosen before, under the name of the host."""

    def __init__(self, host: str, port: int, scheme: str, address: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT_S)
        self.default_port, self.address = PORTS[scheme], address
        self.context = ssl.create_default_context() if scheme == "https" else None

    def dial(self) -> None:
        self.sock = socket.create_connection((self.address, self.port), self.timeout)
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
        return f"nothing came within {TIMEOUT_S:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "the connection could not be encrypted"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "the answer is not HTTP"
