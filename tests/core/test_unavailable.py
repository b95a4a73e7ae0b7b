"""Missing parts are reported in words: to pages, to htmx and to programs."""

import errno
from collections.abc import Iterator
from unittest.mock import Mock

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.db import InterfaceError, OperationalError
from django.test import Client

from core.error_pages import DATABASE, FULL_DISK, outage_of
from core.exceptions import NotPossible, StorageFull
from core.storage.folder import FolderMedia
from tests.factories import UserFactory


def disk_full() -> OperationalError:
    error = OperationalError("could not extend file")
    error.__cause__ = psycopg.errors.DiskFull()
    return error


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (OperationalError("the connection is closed"), DATABASE),
        (InterfaceError("connection already closed"), DATABASE),
        (disk_full(), FULL_DISK),
        (OSError(errno.ENOSPC, "No space left on device"), FULL_DISK),
        (StorageFull(), FULL_DISK),
        (OSError(errno.EACCES, "Permission denied"), None),
        (NotPossible("Not now."), None),
        (ValueError("a fault of ours"), None),
        (None, None),
    ],
    ids=repr,
)
def test_errors_say_what_is_lacking(error: Exception | None, outage: object) -> None:
    assert outage_of(error) == outage


@pytest.fixture
def client(db: None) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(UserFactory())
    return client


def test_a_page_htmx_and_a_program_get_the_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.sessions.SessionStore.load", Mock(side_effect=OperationalError("secret host")))
    page = client.get("/")
    assert (page.status_code, page["Retry-After"], page["Cache-Control"]) == (503, "10", "no-store")
    assert DATABASE.message in page.text and "secret host" not in page.text
    part = client.get("/", headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Retarget"]) == (503, "main")
    assert DATABASE.message in part.text and "<!doctype" not in part.text
    response = client.get("/api/v1/projects/")
    assert (response.status_code, response.json()) == (503, {"code": "database_away", "message": DATABASE.message})


class Large(ContentFile):  # type: ignore[type-arg]
    """A file of which the disk takes the first piece."""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_file_and_what_is_there(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = FolderMedia(location=str(tmp_path))
    with pytest.raises(StorageFull):
        folder.save("a/file.zip", Large(b""))
    assert not folder.exists("a/file.zip")
    folder.save("file.zip", ContentFile(b"whole"))
    full = Mock(side_effect=OSError(errno.ENOSPC, "full"))
    monkeypatch.setattr("django.core.files.storage.FileSystemStorage._save", full)
    with pytest.raises(StorageFull):
        folder._save("file.zip", ContentFile(b"another"))
    assert folder.open("file.zip").read() == b"whole"
