"""Folders of the server: which may be looked at, what is added, what is named, and how it goes on."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Project
from annotation.corpora.services import video_folders
from annotation.corpora.services.video_folders import folder_cancel, folder_resume, folder_start, video_folder_add
from annotation.models import Video, VideoFolder
from core.exceptions import NotPossible
from tests.conftest import Messages
from tests.factories import lead
from tests.media import padded

pytestmark = pytest.mark.django_db
SRT = "1\n00:00:01,000 --> 00:00:02,000\nHello.\n"


class Killed(BaseException):
    """Error our code never catches."""


@pytest.fixture
def folder(tmp_path: Path, settings: Settings, clip: bytes) -> Path:
    """Two videos, one with subtitles, and beside them what is none or leads out of the root."""
    folder = tmp_path / "videos" / "films"
    folder.mkdir(parents=True)
    for number, name in enumerate(("a.mp4", "c.MP4")):
        (folder / name).write_bytes(padded(clip, number))
    (folder / "a.srt").write_text(SRT)
    (folder / "b.mp4").write_bytes(b"no film")
    (tmp_path / "secret.mp4").write_bytes(clip)
    (tmp_path / "secret.srt").write_text(SRT)
    (folder / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    (folder / "d.mp4").write_bytes(padded(clip, 3))
    (folder / "d.srt").symlink_to(tmp_path / "secret.srt")
    (folder / "out").symlink_to(tmp_path)
    (folder / "more").mkdir()
    (folder / "notes.txt").write_text("x")
    settings.VIDEO_FOLDERS = [tmp_path / "videos", tmp_path / "not there"]
    return folder


def start(project: Project, relative: str = "films") -> VideoFolder:
    return folder_start(project=project, root=0, relative=relative, actor=lead(project))


def test_what_cannot_be_added_is_named_and_the_rest_goes_on(
    folder: Path, project: Project, messages: Messages, client: Client
) -> None:
    client.force_login(lead(project))
    url = reverse("annotation:video-folders", args=[project.uuid])
    page = client.get(f"{url}?root=0&folder=films").content.decode()
    assert "5 videos here" in page and ">more</a>" in page and ">out</a>" not in page and "notes.txt" not in page
    with messages():
        answer = client.post(
            reverse("annotation:video-folder-start", args=[project.uuid]), {"root": 0, "folder": "films"}
        )
    assert answer["Location"] == url
    row = VideoFolder.objects.get()
    assert (row.state, row.n_done, row.n_files, row.n_added, row.n_problems, row.n_present) == ("done", 5, 5, 2, 3, 0)
    assert row.problems == [
        ["b.mp4", "The file is corrupt or not a video."],
        ["d.mp4", "Its subtitles, d.srt, are a link that leads out of the folders that may be read."],
        ["link.mp4", "It is a link that leads out of the folders that may be read."],
    ]
    assert {video.name: video.subtitles.count() for video in Video.objects.all()} == {"a": 1, "c": 0}
    assert "5 of 5 files: 2 added, 0 here before, 3 not added." in client.get(url).content.decode()
    (folder / "d.srt").unlink()
    with messages():
        again = start(project)
    again.refresh_from_db()
    assert (again.n_added, again.n_present, again.n_problems) == (1, 2, 2)


def test_it_goes_on_behind_the_last_file(
    folder: Path, project: Project, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between a video and the record of it, then cancelled, then resumed."""
    row, move = start(project), video_folders.FOLDERS.move

    def killed(row: Any, **values: Any) -> None:
        if values.get("last_name") == "a.mp4":
            raise Killed
        move(row, **values)

    with monkeypatch.context() as patch:
        patch.setattr(video_folders.FOLDERS, "move", killed)
        with pytest.raises(Killed):
            video_folder_add(folder_id=row.pk)
    assert Video.objects.count() == 1
    with pytest.raises(NotPossible, match="already"):
        start(project)
    folder_cancel(folder=row, actor=row.started_by)
    video_folder_add(folder_id=row.pk)
    assert Video.objects.count() == 1
    with messages():
        folder_resume(folder=row, actor=row.started_by)
    row.refresh_from_db()
    assert (row.state, row.n_done, row.n_added, row.n_present) == ("done", 5, 1, 1)
    with pytest.raises(NotPossible, match="failed or was cancelled"):
        folder_resume(folder=row, actor=row.started_by)


@pytest.mark.parametrize("relative", ["..", "films/out", "films/../..", "/etc", "films/none", "films/a.mp4", "films\0"])
def test_nothing_outside_the_root_is_looked_at(folder: Path, project: Project, client: Client, relative: str) -> None:
    with pytest.raises(NotPossible):
        start(project, relative)
    client.force_login(lead(project))
    answer = client.get(reverse("annotation:video-folders", args=[project.uuid]), {"root": 0, "folder": relative})
    assert "secret" not in answer.content.decode() and "videos here" not in answer.content.decode()


def test_without_room_or_videos_nothing_begins(
    folder: Path, project: Project, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotPossible, match="holds no file of"):
        start(project, "films/more")
    monkeypatch.setattr(video_folders, "room", lambda: 2**30)
    with pytest.raises(NotPossible, match="Make room, or choose a smaller folder"):
        start(project)
    assert not VideoFolder.objects.exists()
    client.force_login(lead(project))
    corpus = reverse("annotation:corpus", args=[project.uuid])
    assert "Add a folder of the server" in client.get(corpus).content.decode()
    settings.VIDEO_FOLDERS = []
    assert "Add a folder of the server" not in client.get(corpus).content.decode()
    with pytest.raises(NotPossible, match="no such folder on this server"):
        start(project)


def test_a_folder_that_is_gone_fails_in_words(folder: Path, project: Project, messages: Messages) -> None:
    row = start(project)
    shutil.rmtree(folder)
    video_folder_add(folder_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == (
        "failed",
        f"The folder {folder} is not there any more, or may not be read any more.",
    )
