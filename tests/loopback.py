"""A small server on this machine, for what asks others."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Reply = tuple[int, bytes, dict[str, str]] | None  # status, body, headers; None breaks the connection


class Server(ThreadingHTTPServer):
    """Answers by ``replies``, the last of them for ever; keeps what it was asked."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.replies: list[Reply] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, content, headers = reply
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PATCH = do_DELETE = do_GET

    def log_message(self, *args: Any) -> None:
        """Stay quiet."""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server in a thread; with ``context`` it speaks TLS."""
    with Server(context) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()
