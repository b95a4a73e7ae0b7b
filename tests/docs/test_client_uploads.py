"""The client's uploads of videos against a running site: one that broke off goes on, from the page as well."""

import os
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import Project
from accounts.services.credentials import token_create
from annotation.models import VideoUpload
from moment_retrieval.client import ApiError, Client
from tests.factories import ProjectFactory, VideoUploadFactory, lead

pytestmark = pytest.mark.django_db(transaction=True)
MODIFIED_MS = 1_700_000_000_123  # of the file


@pytest.fixture
def project() -> Project:
    return ProjectFactory()


@pytest.fixture
def client(live_server: LiveServer, project: Project, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("moment_retrieval.client.data.PIECE", 1000)
    monkeypatch.setattr("moment_retrieval.client.time.sleep", lambda seconds: None)
    token = token_create(user=lead(project), name="upload", scopes=["read", "manage"])
    return Client(live_server.url, token, tries=1)


@pytest.fixture
def film(tmp_path: Path, clip: bytes) -> Path:
    path = tmp_path / "My film.MP4"
    path.write_bytes(clip)
    os.utime(path, ns=(0, MODIFIED_MS * 10**6 + 456_789))
    return path


class Network:
    """Breaks at a piece; counts the pieces that it carries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.offsets: list[int] = []
        self.breaks_at: int | None = None
        send = Client.video_piece

        def video_piece(client: Client, upload: str, piece: bytes, *, offset: int) -> None:
            if offset == self.breaks_at:
                raise ApiError(0, "unreachable", "The cable is out.")
            self.offsets.append(offset)
            send(client, upload, piece, offset=offset)

        monkeypatch.setattr(Client, "video_piece", video_piece)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    return Network(monkeypatch)


def test_a_second_call_goes_on_where_the_first_broke_off(
    client: Client, project: Project, film: Path, network: Network
) -> None:
    network.breaks_at = 2000
    with pytest.raises(ApiError, match="The cable is out"):
        client.video_send(str(project.uuid), film)
    row = VideoUpload.objects.get()
    assert (row.offset, row.state, row.modified_ms) == (2000, "uploading", MODIFIED_MS)
    network.breaks_at = None
    upload = client.video_send(str(project.uuid), film)
    assert (upload["uuid"], upload["offset"]) == (str(row.uuid), film.stat().st_size)
    assert network.offsets == list(range(0, film.stat().st_size, 1000))  # each piece once
    assert VideoUpload.objects.get().state == "done"


def begun(project: Project, film: Path, **values: Any) -> VideoUpload:
    """Return an upload that the page began, of the same file but for ``values``."""
    about = {"name": film.stem, "suffix": ".mp4", "size": film.stat().st_size, "modified_ms": MODIFIED_MS}
    return VideoUploadFactory(project=project, **about | values)


def test_what_the_page_began_goes_on(client: Client, project: Project, film: Path, network: Network) -> None:
    row = begun(project, film)
    assert client.video_send(str(project.uuid), film)["uuid"] == str(row.uuid)


def test_what_is_there_as_a_whole_is_not_sent_again(
    client: Client, project: Project, film: Path, network: Network
) -> None:
    """As when the answer to the last piece was lost."""
    row = begun(project, film, offset=film.stat().st_size, state="reading")
    assert client.video_send(str(project.uuid), film)["uuid"] == str(row.uuid)
    assert network.offsets == []


def test_a_file_that_has_changed_is_not_mixed_with_what_is_there(
    client: Client, project: Project, film: Path, network: Network
) -> None:
    row = begun(project, film, modified_ms=MODIFIED_MS - 1)
    with pytest.raises(ApiError, match="has changed since its upload began") as refusal:
        client.video_send(str(project.uuid), film)
    assert refusal.value.code == "changed" and str(row.uuid) in refusal.value.message
    assert network.offsets == []


@pytest.mark.parametrize("values", [{"name": "Another film"}, {"name": "Ours", "size": 999_999}])
def test_another_file_is_begun_anew(
    values: dict[str, Any], client: Client, project: Project, film: Path, network: Network
) -> None:
    row = begun(project, film, **values)
    assert client.video_send(str(project.uuid), film)["uuid"] != str(row.uuid)


def test_another_size_under_the_same_name_is_refused(
    client: Client, project: Project, film: Path, network: Network
) -> None:
    begun(project, film, size=999_999)
    with pytest.raises(ApiError, match="on its way already"):
        client.video_send(str(project.uuid), film)
