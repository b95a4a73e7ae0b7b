"""Reads answers from one kept connection as strictly as a proxy would: to the last byte announced, and not one more."""

import re
import socket
from typing import NamedTuple

END = b"\r\n\r\n"
PATIENCE_S = 180


class Read(NamedTuple):
    status: int
    headers: dict[str, str]  # names in small letters
    body: bytes
    closes: bool


class Misread(AssertionError):
    """The bytes are no answer, or not the one announced."""


class Connection:
    """One socket that stays open; ``ask`` sends a request and reads its answer."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.socket, self.host, self.rest = connection, host, b""
        self.socket.settimeout(PATIENCE_S)

    def ask(self, path: str, method: str = "GET", headers: str = "", body: bytes = b"") -> Read:
        assert not self.rest, f"more came than was announced: {self.rest[:80]!r}"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n{length}{headers}\r\n".encode() + body)
        return self.read(method)

    def read(self, method: str = "GET") -> Read:
        head = self._until(END).decode("latin-1")
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        line = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", first)
        if line is None:
            raise Misread(f"no answer begins with {first[:80]!r}")
        status = int(line[1])
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        names = [each.partition(":")[0].lower() for each in lines]
        assert names.count("content-length") <= 1
        assert not {"content-length", "transfer-encoding"} <= set(names), "a length in two ways"
        closes = headers.get("connection", "").lower() == "close"
        return Read(status, headers, self._body(method, status, headers, closes), closes)

    def _body(self, method: str, status: int, headers: dict[str, str], closes: bool) -> bytes:
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        if "content-length" in headers:
            return self._exactly(int(headers["content-length"]))
        assert closes, "no length, and the connection stays open: the client waits for ever"
        return self._to_the_end()

    def _chunks(self) -> bytes:
        content = b""
        while size := int(self._until(b"\r\n").split(b";")[0], 16):
            content += self._exactly(size)
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return content

    def _until(self, end: bytes) -> bytes:
        while end not in self.rest:
            self._more()
        line, _, self.rest = self.rest.partition(end)
        return line + end

    def _exactly(self, length: int) -> bytes:
        while len(self.rest) < length:
            self._more()
        data, self.rest = self.rest[:length], self.rest[length:]
        return data

    def _to_the_end(self) -> bytes:
        while piece := self.socket.recv(65536):
            self.rest += piece
        data, self.rest = self.rest, b""
        return data

    def _more(self) -> None:
        try:
            piece = self.socket.recv(65536)
        except TimeoutError as error:
            raise Misread(f"less came than was announced; the end is {self.rest[-80:]!r}") from error
        if not piece:
            raise Misread(f"the connection ended within an answer, after {self.rest[-80:]!r}")
        self.rest += piece
