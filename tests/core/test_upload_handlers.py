"""Files on their way in lie in the data folder; what is refused or fails goes at once, what a kill left after a day."""

import errno
import gc
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from core.files import LEFT_AFTER_S, ReceivedOnDisk
from tests.factories import ProjectFactory, lead
from tests.judging.api.acts import bearer


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "data" / "receiving"
    return settings.FILE_UPLOAD_TEMP_DIR  # type: ignore[no-any-return]


def receive() -> TemporaryUploadedFile:
    handler = ReceivedOnDisk()
    handler.new_file("file", "run.json", "application/json", None)
    handler.receive_data_chunk(b"[]", 0)
    return handler.file_complete(2)


def test_a_file_lies_in_a_folder_that_is_the_sites_alone(folder: Path) -> None:
    file = receive()
    assert Path(file.temporary_file_path()).parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    file.close()
    assert list(folder.iterdir()) == []


def test_uploads_of_a_day_ago_go_and_running_ones_stay(folder: Path) -> None:
    current = receive()
    old_file = folder / "left.upload.gz"
    old_file.write_bytes(b"half")
    day_ago = time.time() - LEFT_AFTER_S - 60
    os.utime(old_file, (day_ago, day_ago))
    receive().close()
    assert list(folder.iterdir()) == [Path(current.temporary_file_path())]


UPLOADS = ["models_runner:run-new", "api:runs", "annotation:import-new", "judging:judgment-import-new"]
MUCH = b"[]" * 100_000
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="run.json"\r\n\r\n' + MUCH


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """Python's collector would remove some of the files by and by."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.django_db
@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("upload", UPLOADS)
class TestFailed:
    """When an upload is refused or fails nothing of it is left in the folder, before its answer is sent."""

    def send(self, upload: str, client: Client, *names: str, **environ: Any) -> HttpResponse:
        project = ProjectFactory()
        person = lead(project)
        client.force_login(person)
        client.raise_request_exception = False
        path = reverse(upload, args=[project.uuid] if "run" in upload else [])
        form = {name: SimpleUploadedFile(f"{name}.json", MUCH) for name in names}
        if not environ:
            return client.post(path, form, headers=bearer(person))  # type: ignore[return-value]
        return client.generic("POST", path, headers=bearer(person), **environ)  # type: ignore[return-value]

    @pytest.mark.parametrize(("names", "status"), [(["file"], 422), (["file", "second", "third"], 400)])
    def test_a_form_that_is_refused(
        self, upload: str, names: list[str], status: int, folder: Path, client: Client
    ) -> None:
        assert self.send(upload, client, *names).status_code == status
        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize("names", [["file"], ["file", "second"]])
    def test_a_disk_that_is_full_with_the_last_file(
        self, upload: str, names: list[str], folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full_at(names[-1], monkeypatch)
        assert self.send(upload, client, *names).status_code == 507
        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize("reset", [True, False])
    def test_a_client_that_hangs_up(self, upload: str, reset: bool, folder: Path, client: Client) -> None:
        announced = {"CONTENT_TYPE": "multipart/form-data; boundary=b", "CONTENT_LENGTH": str(2 * len(PART))}
        broken = Broken(PART, reset=reset)
        answer = self.send(upload, client, **announced, **{"wsgi.input": broken})
        assert broken.exhausted and answer.status_code >= 400
        assert list(folder.iterdir()) == []


@pytest.mark.django_db
@pytest.mark.parametrize("upload", ["models_runner:run-new", "annotation:import-new", "judging:judgment-import-new"])
@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("", b"", 422),
        ("multipart/form-data; boundary=b", b"", 422),
        ("multipart/form-data; boundary=b", b"--b--\r\n", 422),
        ("multipart/form-data; boundary=b", PART[: -len(MUCH)] + b"\r\n--b--\r\n", 422),  # a file of no bytes
        ("multipart/form-data", PART, 400),
        ("application/json", b"[]", 422),
    ],
)
def test_a_page_refuses_what_is_no_upload(upload: str, kind: str, body: bytes, status: int, client: Client) -> None:
    project = ProjectFactory()
    client.force_login(lead(project))
    client.raise_request_exception = False
    path = reverse(upload, args=[project.uuid] if "run" in upload else [])
    environ: dict[str, Any] = {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    assert client.generic("POST", path, **environ).status_code == status


def full_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes every file but this one, of which it takes the first piece."""

    def write(file: TemporaryUploadedFile, piece: bytes) -> int:
        if file.name == f"{name}.json" and file.tell():
            raise OSError(errno.ENOSPC, "No space left on device")
        n_bytes: int = file.file.write(piece)  # type: ignore[union-attr]
        return n_bytes

    monkeypatch.setattr(TemporaryUploadedFile, "write", write, raising=False)


class Broken(io.BytesIO):
    """The body as the server hands it on: it ends too early, by an error or without one."""

    def __init__(self, content: bytes, *, reset: bool) -> None:
        super().__init__(content)
        self.reset, self.exhausted = reset, False

    def read(self, size: int | None = -1) -> bytes:
        piece = super().read(size)
        if not piece:
            self.exhausted = True
            if self.reset:
                raise ConnectionResetError
        return piece
