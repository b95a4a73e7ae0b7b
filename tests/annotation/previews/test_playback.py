"""The copy that browsers play: made where the file needs one, once, and for the file that is there."""

from pathlib import Path

import av
import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from annotation.models import Video
from annotation.previews import playback
from annotation.previews.playback import video_make_playback
from annotation.previews.process import Source, open_source
from tests.annotation.previews.clips import make_video
from tests.factories import ProjectFactory, VideoFactory, lead
from tests.media import names_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("videos_on_disk")]
SOUND = ("-f", "lavfi", "-i", "sine=duration=3", "-shortest")


@pytest.fixture(scope="module")
def avi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds with sound that browsers do not play, 600 lines high."""
    return make_video(
        tmp_path_factory.mktemp("avi") / "a.avi", *SOUND, source="testsrc=size=800x600:rate=10:duration=3"
    )


def video_of(path: Path, **facts: object) -> Video:
    video: Video = VideoFactory(duration_s=3.0, **facts)
    video.file.save(path.name, ContentFile(path.read_bytes()))
    return video


@pytest.mark.parametrize(
    ("suffix", "codec", "pixels", "sound", "plays"),
    [
        (".mp4", "h264", "yuv420p", "", True),
        (".MOV", "h264", "yuv420p", "aac", True),
        (".mp4", "h264", "yuv420p10le", "aac", False),
        (".mp4", "hevc", "yuv420p", "aac", False),
        (".mp4", "h264", "yuv420p", "ac3", False),
        (".mkv", "h264", "yuv420p", "aac", False),
        (".webm", "vp9", "yuv420p", "opus", True),
        (".webm", "vp9", "yuv420p", "aac", False),
        (".avi", "mpeg4", "yuv420p", "", False),
    ],
)
def test_which_files_every_browser_plays(suffix: str, codec: str, pixels: str, sound: str, plays: bool) -> None:
    source = Source(Path(), 0, 1.0, 2, 2, codec=codec, pixels=pixels, sound_codec=sound)
    assert source.plays_in_browsers(suffix) is plays


def test_the_file_says_what_it_is(tiny: Path, avi: Path) -> None:
    facts = [(one.codec, one.pixels, one.sound_codec) for one in map(open_source, (tiny, avi))]
    assert facts == [("h264", "yuv420p", ""), ("mpeg4", "yuv420p", "mp3float")]


def copy_of(video: Video, folder: Path) -> Path:
    path = folder / "copy.mp4"
    with video.playback.open("rb") as content:
        path.write_bytes(content.read())
    return path


def test_a_copy_is_made_once_and_served(client: Client, avi: Path, tmp_path: Path) -> None:
    project = ProjectFactory()
    video = video_of(avi, corpus=project.dataset.corpus)
    client.force_login(lead(project))
    page = reverse("annotation:video", args=[project.uuid, video.uuid])
    assert "is being made" in client.get(page).content.decode()
    assert video_make_playback(video_id=video.pk)
    assert not video_make_playback(video_id=video.pk)
    video.refresh_from_db()
    copy = copy_of(video, tmp_path)
    with av.open(str(copy)) as container:
        [picture], [sound] = container.streams.video, container.streams.audio
        keys = [float(packet.pts * packet.time_base) for packet in container.demux(picture) if packet.is_keyframe]
    assert (picture.name, picture.height, picture.width, sound.name) == ("h264", 480, 640, "aac")
    assert keys[:3] == pytest.approx([0, 1, 2], abs=0.1)  # a player seeks to any second at once
    source = open_source(copy)
    assert source.plays_in_browsers(".mp4")
    assert source.duration_s == pytest.approx(3.0, abs=0.15)
    content = copy.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    answer = client.get(reverse("annotation:video-file", args=[project.uuid, video.uuid]))
    assert (answer["Content-Type"], b"".join(answer)) == ("video/mp4", content)  # type: ignore[call-overload]
    assert "is being made" not in client.get(page).content.decode()


def test_a_file_that_plays_gets_none(tiny: Path) -> None:
    video = video_of(tiny)
    assert not video_make_playback(video_id=video.pk)
    video.refresh_from_db()
    assert (video.playback_state, video.playable) == ("not_needed", video.file)


def test_a_broken_file_fails(tmp_path: Path) -> None:
    broken = tmp_path / "a.avi"
    broken.write_bytes(b"no film")
    video = video_of(broken)
    assert not video_make_playback(video_id=video.pk)
    video.refresh_from_db()
    assert video.playback_state == "failed"


def test_a_copy_of_a_file_replaced_meanwhile_is_deleted(avi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = video_of(avi)
    real, files = playback.playback_write, names_in("videos")

    def write(source: Source, path: Path) -> bool:
        Video.objects.filter(pk=video.pk).update(file="videos/another.avi")
        return real(source, path)

    monkeypatch.setattr(playback, "playback_write", write)
    assert not video_make_playback(video_id=video.pk)
    video.refresh_from_db()
    assert (video.playback_state, names_in("videos")) == ("requested", files)
