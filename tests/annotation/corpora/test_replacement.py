"""Another file for a video: of which length, what is made anew, what stays, and who may give it."""

import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
from pytest_django import Settings

from accounts.models import Project
from annotation.corpora.services.replacement import replacement_check
from annotation.corpora.services.video_uploads import video_upload_read
from annotation.corpora.services.videos import VideoRefused
from annotation.models import Moment, Subtitle, Video
from annotation.previews import services as previews
from annotation.previews.process import Source
from core.models import AuditEvent
from tests.annotation.corpora.uploader import PIECE, Uploader, whole
from tests.conftest import Messages
from tests.factories import MomentFactory, VideoFactory, admin, lead
from tests.media import padded

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_pieces(settings: Settings, tmp_path: Path) -> None:
    """Files lie in a folder, where previews are cut from them."""
    settings.VIDEO_PIECE_BYTES = PIECE
    disk = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path / "media")}}
    settings.STORAGES = {**settings.STORAGES, "default": disk}


@pytest.fixture
def video(project: Project, clip: bytes) -> Video:
    """A video with its file, a subtitle, and moments with and without a preview."""
    row: Video = VideoFactory(corpus=project.dataset.corpus, name="film", duration_s=4, fps=6)
    row.file.save("film.mp4", ContentFile(clip), save=False)
    row.sha256 = sha256(clip).hexdigest()
    row.save()
    Subtitle.objects.create(video=row, start_s=1, end_s=2, text="Hello.")
    MomentFactory(video=row, start_s=1, end_s=2)
    MomentFactory(video=row, start_s=2, end_s=3, preview="", preview_state="failed", preview_error="It broke.")
    return row


def film(folder: Path, *, frames: int) -> bytes:
    """Return another video of so many frames, six a second."""
    path = folder / f"{frames}.mp4"
    source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=6", "-frames:v", str(frames)]
    encode = ["-c:v", "libx264", "-pix_fmt", "yuv420p", str(path)]
    subprocess.run([get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *source, *encode], check=True, timeout=600)
    return path.read_bytes()


def replaced_by(data: bytes, video: Video, project: Project, messages: Messages) -> Any:
    row = whole(data, project=project, name="film", replaces=video)
    with messages():
        video_upload_read(upload_id=row.pk)
    row.refresh_from_db()
    return row


def test_what_was_made_of_the_old_file_is_made_anew(
    video: Video, project: Project, tmp_path: Path, messages: Messages
) -> None:
    old, moment = video.file.name, video.moments.get(preview_state="ready")
    uploader, data = Uploader(project), film(tmp_path, frames=25)  # one more than before
    assert uploader.begin("Other name.MP4", len(data), replaces=str(video.uuid)).status_code == 201
    uploader.send_all(data, messages)
    video.refresh_from_db()
    assert (video.name, video.duration_s, video.sha256) == ("film", 4, sha256(data).hexdigest())
    assert video.file.read() == data and not default_storage.exists(old)
    assert (video.poster_state, video.playback_state) == ("ready", "not_needed")
    assert video.subtitles.count() == 1
    rows = {row.pk: row for row in Moment.objects.all()}
    assert {(row.preview_state, row.preview_is_old, row.preview_error) for row in rows.values()} == {
        ("ready", False, "")
    }
    assert rows[moment.pk].preview.name != moment.preview.name and not default_storage.exists(moment.preview.name)
    event = AuditEvent.objects.get(action="video.replace")
    assert (event.subject, event.data["sha256"], event.data["previews"]) == (video.uuid, video.sha256, 1)
    page = uploader.client.get(reverse("annotation:video-replace", args=[project.uuid, video.uuid])).content.decode()
    assert '<span class="state done">replaced</span>' in page


def test_the_old_preview_stays_where_no_new_one_can_be_cut(
    video: Video, project: Project, tmp_path: Path, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    [moment] = video.moments.filter(preview_state="ready")

    def failing(path: Path, spans: Any) -> Any:
        return [previews.CutFailure(index, "It is dark.") for index in range(len(spans))]

    monkeypatch.setattr(previews, "cut_previews", failing)
    assert replaced_by(film(tmp_path, frames=24), video, project, messages).state == "done"
    row = Moment.objects.get(pk=moment.pk)
    assert (row.preview_state, row.preview.name, row.preview_is_old) == ("ready", moment.preview.name, False)
    assert row.preview_error == "The preview is of the earlier file. It is dark."


def test_other_lengths_and_files_that_are_here_are_refused(
    video: Video, project: Project, clip: bytes, tmp_path: Path, messages: Messages
) -> None:
    VideoFactory(corpus=project.dataset.corpus, name="other", sha256=sha256(padded(clip, 1)).hexdigest())
    errors = [
        replaced_by(data, video, project, messages).error
        for data in (clip, padded(clip, 1), film(tmp_path, frames=26), b"no film" * 300)
    ]
    assert errors[0].startswith("This is the very file that it has already.")
    assert errors[1].startswith("This is the very file that the video other has already.")
    assert errors[2].startswith("This file is 4.333 s long and film is 4.000 s: they differ by 0.333 s")
    assert errors[3] == "The file is corrupt or not a video."
    assert Video.objects.get(pk=video.pk).file.name == video.file.name
    assert not Moment.objects.filter(preview_is_old=True).exists()


def test_leads_replace_and_nobody_else(video: Video, project: Project) -> None:
    other = VideoFactory(name="film")
    manager = admin(project)
    assert Uploader(project, manager).begin(replaces=str(video.uuid)).status_code == 403
    for uuid in (str(other.uuid), "film"):  # of another corpus; no UUID
        assert Uploader(project, lead(project)).begin(replaces=uuid).status_code == 422
    other.corpus = project.dataset.corpus
    other.name = "without file"
    other.save()
    answer = Uploader(project).begin(replaces=str(other.uuid))
    assert (answer.status_code, answer.json()["code"]) == (422, "video_refused")


frames = st.integers(25, 2500)
rates = st.one_of(st.none(), st.sampled_from([12.5, 23.976, 25.0, 29.97, 60.0]))


@given(frames, st.integers(-3, 3), rates, rates)
def test_a_replacement_differs_by_one_frame_at_most(n: int, more: int, old: float | None, new: float | None) -> None:
    """By a frame of the slower of both files, or of 25 a second where neither says."""
    frame = 1 / min([rate for rate in (old, new) if rate] or [25.0])
    video = Video(name="film", file="videos/a.mp4", duration_s=n * frame, fps=old)
    source = Source(Path("b.mp4"), 0, (n + more) * frame, 64, 48, new)
    if abs(more) <= 1:
        replacement_check(video=video, source=source)
    else:
        with pytest.raises(VideoRefused):
            replacement_check(video=video, source=source)
