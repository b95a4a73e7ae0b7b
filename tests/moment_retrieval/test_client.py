"""The client against a small server: repetitions, refusals, lists, files, and where the token goes."""

import json
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import run
from typing import Any
from urllib.parse import urlsplit

import pytest

from moment_retrieval.client import ApiError, Client, data
from tests.loopback import Reply, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have slept."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


@pytest.fixture
def client(server: Server, waits: list[float]) -> Client:
    return Client(f"{server.address}/", "mj_secret", tries=3)


def ok(body: Any = None, **headers: str) -> Reply:
    return 200, json.dumps(body).encode(), headers


def refused(status: int, code: str) -> Reply:
    return status, json.dumps({"code": code, "message": "Not so."}).encode(), {}


def test_a_request_carries_the_token_and_the_body(client: Client, server: Server) -> None:
    server.replies = [ok({"uuid": "x"})]
    assert client.judgment("p", grade=3, key="k") == {"uuid": "x"}
    ((method, path, headers, body),) = server.requests
    assert (method, path, json.loads(body)) == ("POST", "/api/v1/pairs/p/judgment/", {"grade": 3, "key": "k"})
    assert headers["Authorization"] == "Bearer mj_secret"
    assert headers["Content-Type"] == "application/json"


def test_what_may_be_repeated_is(client: Client, server: Server, waits: list[float]) -> None:
    server.replies = [None, refused(500, "server_error"), ok({"finished": True})]
    assert client.assignment_finish("p") == {"finished": True}
    assert (len(server.requests), waits) == (3, [0.5, 1.0])


def test_what_would_be_done_twice_is_not(client: Client, server: Server) -> None:
    for reply, status, code in ((None, 0, "unreachable"), (refused(500, "server_error"), 500, "server_error")):
        server.requests.clear()
        server.replies = [reply]
        with pytest.raises(ApiError) as refusal:
            client.invitation_create("p")
        assert (refusal.value.status, refusal.value.code, len(server.requests)) == (status, code, 1)


def test_but_it_is_tried_again_where_the_site_says_that_nothing_was_done(client: Client, server: Server) -> None:
    server.replies = [refused(503, "database_away"), ok({"link": "l"})]
    assert client.invitation_create("p") == {"link": "l"}


def test_nobody_listens(waits: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ApiError) as refusal:
        Client(f"http://127.0.0.1:{port}", "t", tries=2).invitation_create("p")
    assert (refusal.value.code, len(waits)) == ("unreachable", 1)  # it cannot have arrived: tried again


@pytest.mark.parametrize(
    ("reply", "code"), [(refused(409, "not_possible"), "not_possible"), ((404, b"<h1>?</h1>", {}), "http_error")]
)
def test_a_refusal_is_not_repeated(reply: Reply, code: str, client: Client, server: Server) -> None:
    server.replies = [reply]
    with pytest.raises(ApiError) as refusal:
        client.project("p")
    assert (refusal.value.code, len(server.requests)) == (code, 1)
    assert str(refusal.value) == f"{refusal.value.status} {code}: {refusal.value.message}"


def test_an_answer_that_breaks_off_is_fetched_again(client: Client, server: Server, tmp_path: Path) -> None:
    server.replies = [(200, b"ha", {"Content-Length": "4"}), (200, b"half", {})]
    path = client.release_zip("r", tmp_path / "release.zip")
    assert (path.read_bytes(), len(server.requests)) == (b"half", 2)
    server.replies = [(200, b"ha", {"Content-Length": "4"})]
    with pytest.raises(ApiError):
        client.release_zip("r", tmp_path / "other.zip")
    assert [file.name for file in tmp_path.iterdir()] == ["release.zip"]


def test_a_bucket_does_not_see_the_token(client: Client, server: Server, tmp_path: Path) -> None:
    with serving() as bucket:
        bucket.replies = [(200, b"file", {})]
        server.replies = [(302, b"", {"Location": f"{bucket.address}/file?signature=s"})]
        assert client.preview_gif("p", tmp_path / "p.gif").read_bytes() == b"file"
    assert "Authorization" in server.requests[0][2]
    ((_, path, headers, _),) = bucket.requests
    assert (path, "Authorization" in headers) == ("/file?signature=s", False)


def test_a_long_list_is_read_page_by_page(client: Client, server: Server) -> None:
    following = f"{server.address}/api/v1/projects/p/jobs/?cursor=c"
    server.replies = [ok({"next": following, "results": [1, 2]}), ok({"next": None, "results": [3]})]
    rows = client.jobs("p")
    assert server.requests == []  # nobody has asked for a row
    assert list(rows) == [1, 2, 3]
    assert [urlsplit(path).query for _, path, *_ in server.requests] == ["", "cursor=c"]


def test_a_form_is_sent_from_the_disk(client: Client, server: Server, tmp_path: Path) -> None:
    file = tmp_path / 'moments "1"\r\n.csv'
    file.write_bytes(b"x" * 200_000)
    server.replies = [ok({"state": "checking"})]
    client.corpus_import_upload(file, corpus_name="films é", clip=True)
    ((_, _, headers, body),) = server.requests
    assert int(headers["Content-Length"]) == len(body)
    assert 'name="corpus_name"\r\n\r\nfilms é\r\n'.encode() in body
    assert b'name="clip"\r\n\r\ntrue\r\n' in body
    assert b'filename="moments %221%22%0D%0A.csv"\r\n' in body
    assert b"\r\n\r\n" + b"x" * 200_000 + b"\r\n" in body


class Site:
    """Takes pieces of a video; loses the answers, or the pieces, that a test names."""

    def __init__(self, size: int, *, loses: dict[int, str]) -> None:
        self.content, self.size, self.loses, self.patches = b"", size, loses, 0

    def __call__(self, request: Any, timeout: float) -> Any:
        if request.method == "PATCH":
            self.patches += 1
            loss = self.loses.get(self.patches)
            if loss == "piece":
                raise ConnectionResetError
            assert int(request.get_header("Upload-offset")) == len(self.content)
            self.content += request.data
            if loss == "answer":
                raise ConnectionResetError
        if request.full_url.endswith("/video-uploads/") and request.method == "GET":
            return Answer({"results": [], "next": None})
        return Answer({"uuid": "u", "offset": len(self.content), "state": "reading"})


class Answer:
    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row

    def read(self) -> bytes:
        return json.dumps(self.row).encode()

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("loses", [{}, {1: "answer"}, {2: "piece", 3: "answer"}, {3: "answer"}])
def test_a_video_goes_on_where_the_site_says(
    loses: dict[int, str], client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "PIECE", 4)
    film = tmp_path / "film.mp4"
    film.write_bytes(b"abcdefghij")
    site = Site(10, loses=loses)
    monkeypatch.setattr("urllib.request.urlopen", site)
    assert client.video_send("p", film)["offset"] == 10
    assert site.content == film.read_bytes()


def test_a_video_that_never_gets_through(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"abc")
    site = Site(3, loses=dict.fromkeys(range(99), "piece"))
    monkeypatch.setattr("urllib.request.urlopen", site)
    with pytest.raises(ApiError, match="unreachable"):
        client.video_send("p", film)
    assert site.patches == 3  # as often as anything else


def rows(*states: str) -> Callable[[], dict[str, Any]]:
    following = iter(states)
    return lambda: {"uuid": "u", "state": next(following), "error": "no room"}


def test_waiting_until_work_has_ended(client: Client, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.wait_until_ready(rows("waiting", "running", "done"), every_s=3)["state"] == "done"
    assert waits == [3, 3]
    assert client.wait_until_ready(rows("checking", "checked"))["state"] == "checked"
    with pytest.raises(ApiError, match="failed: no room"):
        client.wait_until_ready(rows("running", "failed"))
    times = iter([0.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    with pytest.raises(TimeoutError):
        client.wait_until_ready(rows("running", "running", "running"), timeout_s=2)


def test_an_address_is_of_the_web() -> None:
    with pytest.raises(ValueError, match="http"):
        Client("file:///etc", "t")


def test_it_needs_python_alone() -> None:
    """No package is imported, not even numpy."""
    code = "import sys, moment_retrieval.client; print(*{n.partition('.')[0] for n in sys.modules})"
    names = run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) - set(sys.stdlib_module_names) <= {"__main__", "moment_retrieval"}
