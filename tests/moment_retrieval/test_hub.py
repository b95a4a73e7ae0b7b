"""Models fetched from the hub: all their files with progress, each compared with its digest; by a hub in the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from moment_retrieval.errors import MissingModel
from moment_retrieval.hub import check_folder, fetch, source_of, version_of, why_unreachable

huggingface_hub = pytest.importorskip("huggingface_hub")
REVISION = "a" * 40
WEIGHTS = bytes(range(256)) * 2000


class Hub(ThreadingHTTPServer):
    """Answers as the Hugging Face hub does about one model."""

    files = {"config.json": b"{}", "model.safetensors": WEIGHTS, "model.h5": b"the same weights"}
    digest = sha256(WEIGHTS).hexdigest()  # of the weights, as the hub says

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.downloads: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub, path = self.server, self.path.partition("?")[0]
        if path.startswith("/api/models/team/tiny/tree/"):
            tree = [{"type": "file", "path": name, "size": len(body), "oid": "b"} for name, body in hub.files.items()]
            return self.answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
        if path.startswith("/api/models/team/tiny"):
            siblings: list[dict[str, object]] = [
                {"rfilename": name, "size": len(body), "blobId": "b"} for name, body in hub.files.items()
            ]
            siblings[1]["lfs"] = {"sha256": hub.digest, "size": len(WEIGHTS), "pointerSize": 1}
            model = {"id": "team/tiny", "modelId": "team/tiny", "sha": REVISION, "siblings": siblings}
            return self.answer(200, json.dumps(model).encode(), {"Content-Type": "application/json"})
        name = path.rpartition("/")[2]
        if "/team/tiny/resolve/" not in path or name not in hub.files:
            return self.answer(404, b"", {"X-Error-Code": "RepoNotFound"})
        if self.command == "GET":
            hub.downloads.append(name)
        content = hub.files[name]
        of_weights = name == "model.safetensors"
        etag = hub.digest if of_weights else sha1(content).hexdigest()
        about = {"X-Repo-Commit": REVISION, "ETag": f'"{etag}"', "X-Linked-Size": str(len(content))}
        return self.answer(200, content, about | ({"X-Linked-Etag": f'"{etag}"'} if of_weights else {}))

    do_HEAD = do_GET

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    constants = "huggingface_hub.constants"
    monkeypatch.setattr(f"{constants}.ENDPOINT", server.url)
    monkeypatch.setattr(
        f"{constants}.HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(f"{constants}.HF_HUB_CACHE", str(tmp_path / "models"))
    monkeypatch.setattr(f"{constants}.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(f"{constants}.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(f"{constants}.DOWNLOAD_CHUNK_SIZE", 100_000)
    yield server
    server.shutdown()
    server.server_close()


def test_all_files_arrive_with_progress(hub: Hub) -> None:
    reports: list[tuple[int, int]] = []
    folder = fetch("team/tiny", on_progress=lambda n, total: reports.append((n, total)))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        name: hub.files[name] for name in ("config.json", "model.safetensors")
    }  # and not the same weights in another form
    total = len(WEIGHTS) + 2
    assert reports[-1] == (total, total)
    assert [n for n, _ in reports] == sorted(n for n, _ in reports)
    assert any(2 < n < total for n, _ in reports)  # in the middle of a file, too
    assert version_of(str(folder)) == f"revision:{REVISION[:16]}"


def test_what_is_here_is_not_downloaded_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch("team/tiny")
    hub.downloads.clear()
    monkeypatch.setattr("moment_retrieval.hub.disk_usage", lambda folder: SimpleNamespace(free=0))
    assert fetch("team/tiny") == folder
    assert hub.downloads == []
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert source_of("team/tiny") == str(folder)


def test_damaged_weights_are_refused_and_fetched_anew(hub: Hub) -> None:
    hub.digest = "0" * 64
    with pytest.raises(MissingModel, match=r"model\.safetensors of the model 'team/tiny' is damaged"):
        fetch("team/tiny")
    hub.digest = sha256(WEIGHTS).hexdigest()
    assert (fetch("team/tiny") / "model.safetensors").read_bytes() == WEIGHTS


def test_a_model_that_the_disk_has_no_room_for(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moment_retrieval.hub.disk_usage", lambda folder: SimpleNamespace(free=len(WEIGHTS)))
    with pytest.raises(MissingModel, match="takes 0.0 GB more, and the disk of .* has 0.0 GB left. Make room"):
        fetch("team/tiny")
    assert hub.downloads == []


def test_a_name_that_the_hub_does_not_know(hub: Hub) -> None:
    with pytest.raises(MissingModel, match="the model 'team/none' cannot be loaded"):
        fetch("team/none")


def test_whether_it_can_be_reached(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_unreachable() == ""
    hub.shutdown()
    hub.server_close()
    assert why_unreachable() == f"{hub.url} does not answer (Connection refused)"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert why_unreachable() == "access to it is off on this server (HF_HUB_OFFLINE)"


def test_what_a_folder_must_contain(tmp_path: Path) -> None:
    for name, missing in (("config.json", "no config.json"), ("model.safetensors", "no weights")):
        with pytest.raises(MissingModel, match=missing):
            check_folder(tmp_path)
        (tmp_path / name).write_text("{}")
    check_folder(tmp_path)
