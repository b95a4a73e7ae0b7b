"""The length that an answer announces is the length sent: else clients wait, or take its end for the next answer."""

from collections.abc import Iterator

import pytest
from django.test import Client

from tests.config.answers.server import free_port, of_make_run, of_production, open_connection, serving
from tests.config.answers.urls import ANSWERS


@pytest.mark.urls("tests.config.answers.urls")
@pytest.mark.parametrize(("path", "status"), ANSWERS)
def test_the_length_announced_is_that_of_the_body_also_to_head(client: Client, path: str, status: int) -> None:
    client.raise_request_exception = False
    answer, head = client.get(path), client.head(path)
    assert answer.status_code == head.status_code == status
    assert head.headers.get("Content-Length") == answer.headers.get("Content-Length")
    if answer.streaming and "Content-Length" not in answer.headers:
        assert path == "/streamed/"
    elif status == 204:
        assert (answer.content, "Content-Length" in answer.headers) == (b"", False)
    else:
        body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[arg-type]
        assert int(answer.headers["Content-Length"]) == len(body)


@pytest.mark.urls("tests.config.answers.urls")
def test_what_was_not_changed_announces_no_length(client: Client) -> None:
    answer = client.get("/unchanged/", headers={"if-none-match": '"always-this"'})
    assert (answer.status_code, answer.content, answer.headers.get("Content-Length")) == (304, b"", None)


@pytest.fixture(scope="module", params=[of_make_run, of_production])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    with serving(request.param(port), port, tmp_path_factory.mktemp("web")):
        yield port


@pytest.mark.deployment
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_answers_follow_each_other_on_one_connection(port: int, method: str) -> None:
    """After each kind the next request on the same connection is read right, unless the server says that it closes."""
    connection = open_connection(port)
    for path, status in ANSWERS:
        answer = connection.ask(path, method)
        assert answer.status == status, path
        if answer.closes:  # a stream whose length nobody knew
            assert "content-length" not in answer.headers, path
            connection = open_connection(port)
        response = connection.ask("/json/")
        assert (response.status, response.body) == (200, b'{"status": "ok"}'), path
    connection.socket.close()
