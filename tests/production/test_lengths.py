"""The length that an answer announces is the length sent, through nginx too: on one connection, packed and not."""

import gzip
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from core.embedded.services import HOST
from tests.config.answers.reader import PATIENCE_S, Connection
from tests.config.answers.server import free_port, of_production, serving
from tests.config.answers.urls import ANSWERS
from tests.production.topology.nginx import Nginx

LEAST_PACKED = 1000  # gzip_min_length of the template


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """nginx with the template that docker/ ships, before a web host with routes that fail on request."""
    folder, port = tmp_path_factory.mktemp("front"), free_port()
    (folder / "log").mkdir()
    with serving(of_production(port), port, folder):
        web: Any = SimpleNamespace(name="web", address=HOST, port=port, process=None)
        nginx = Nginx("nginx", HOST, folder, web=[web], media=folder)
        nginx.start()
        try:
            yield nginx
        finally:
            nginx.stop()


def open_connection(front: Nginx) -> Connection:
    return Connection(front.open_connection(PATIENCE_S), f"{front.address}:{front.port}")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("headers", ["", "Accept-Encoding: gzip\r\n"])
def test_answers_follow_each_other_on_one_connection(front: Nginx, method: str, headers: str) -> None:
    connection = open_connection(front)
    for path, status in ANSWERS:
        answer = connection.ask(path, method, headers)
        assert (answer.status, answer.closes) == (status, False), path
        if answer.headers.get("content-encoding") == "gzip" and method == "GET":
            assert len(gzip.decompress(answer.body)) >= LEAST_PACKED, path
        json_answer = connection.ask("/json/")
        assert (json_answer.status, json_answer.body) == (200, b'{"status": "ok"}'), path
    for _ in range(2):
        answer = connection.ask("/unchanged/", headers='If-None-Match: "always-this"\r\n')
        assert (answer.status, answer.body) == (304, b"")
    assert connection.ask("/json/").body == b'{"status": "ok"}'
    connection.socket.close()
