"""Posters: the middle frame, another where that is dark; made by tasks, stored, and what stands there until then."""

import re
from io import BytesIO
from pathlib import Path
from typing import IO
from uuid import uuid4

import pytest
from django.core.files import File
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from PIL import Image

from accounts.models import Project
from annotation.corpora.services.videos import video_add
from annotation.models import Moment, Video
from annotation.previews import posters, process
from annotation.previews.cutting import Preview
from annotation.previews.posters import LARGEST, poster_of_preview, poster_of_video
from annotation.previews.process import VideoUnreadable, encode_gif, open_source
from annotation.previews.services import (
    moment_make_poster,
    posters_sweep,
    preview_replace,
    video_cut_previews,
    video_make_poster,
)
from core.files import IMMUTABLE
from tests.annotation.previews.clips import make_video
from tests.conftest import Messages
from tests.factories import CorpusFactory, MembershipFactory, MomentFactory, VideoFactory, annotator, lead
from tests.media import names_in

BLACK, WHITE, RED, BLUE = (0, 0, 0), (250, 250, 250), (220, 20, 20), (20, 20, 220)
Colour = tuple[int, int, int]
TASK = "annotation.tasks.video_make_poster"
EMPTY_FRAME = ("image/svg+xml", "no-store")


def gif_of(*colours: Colour, size: tuple[int, int] = (64, 36)) -> BytesIO:
    return BytesIO(encode_gif([Image.new("RGB", size, colour) for colour in colours]))


def colour_of(poster: bytes | None) -> Colour:
    assert poster is not None
    with Image.open(BytesIO(poster)) as image:
        assert image.format == "JPEG"
        pixel = image.convert("RGB").resize((1, 1)).getpixel((0, 0))
    return min(
        (BLACK, WHITE, RED, BLUE), key=lambda colour: sum(abs(a - b) for a, b in zip(colour, pixel, strict=True))
    )


class TestOfPreview:
    def test_the_middle_frame(self) -> None:
        assert colour_of(poster_of_preview(gif_of(RED, RED, BLUE, RED, RED))) == BLUE

    def test_another_where_the_middle_is_dark(self) -> None:
        assert colour_of(poster_of_preview(gif_of(RED, RED, RED, BLACK, BLACK, BLACK, BLACK, BLACK))) == RED

    def test_the_brightest_where_all_are_dark(self) -> None:
        assert colour_of(poster_of_preview(gif_of(BLACK, (9, 9, 9), BLACK))) == BLACK

    def test_one_frame_and_none(self) -> None:
        assert colour_of(poster_of_preview(gif_of(WHITE))) == WHITE
        assert poster_of_preview(BytesIO(b"GIF89a, and no more")) is None

    def test_it_is_small(self) -> None:
        poster = poster_of_preview(gif_of(RED, size=(1600, 900)))
        assert poster is not None
        with Image.open(BytesIO(poster)) as image:
            assert image.size == LARGEST


@pytest.fixture(scope="module")
def darkening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of white, then four of black."""
    white = "color=white:size=160x120:rate=10:duration=2"
    both = f"{white}[a];color=black:size=160x120:rate=10:duration=4[b];[a][b]concat"
    return make_video(tmp_path_factory.mktemp("posters") / "darkening.mp4", source=both)


class TestOfVideo:
    def test_a_frame_that_shows_something(self, darkening: Path) -> None:
        assert colour_of(poster_of_video(darkening)) == WHITE

    def test_no_video(self, tmp_path: Path) -> None:
        (tmp_path / "v.mp4").write_bytes(b"no video")
        with pytest.raises(VideoUnreadable):
            poster_of_video(tmp_path / "v.mp4")


@pytest.mark.django_db
class TestAddresses:
    def poster(self, client: Client, video: Video, query: str = "") -> tuple[str, bytes]:
        project = Project.objects.get(dataset__corpus=video.corpus)
        answer = client.get(reverse("annotation:video-poster", args=[project.uuid, video.uuid]) + query)
        assert answer.status_code == 200
        return answer.headers["Content-Type"], answer.getvalue()

    def moment(self, video: Video, start: float, colour: Colour) -> Moment:
        row: Moment = MomentFactory(video=video, start_s=start, end_s=start + 2)
        row.preview.save("x.gif", ContentFile(gif_of(colour).read()))
        return row

    def test_a_video_without_one_gets_it_from_a_task_that_is_scheduled_once(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=60)
        for start, colour in ((0, RED), (29, BLUE), (50, WHITE)):
            self.moment(video, start, colour)
        client.force_login(lead(project))
        with messages(execute=False) as callbacks:
            for _ in range(2):
                kind, picture = self.poster(client, video)
                assert kind == "image/svg+xml" and picture.startswith(b"<svg")
        assert [TASK in str(message) for message in callbacks] == [True]
        assert video_make_poster(video_id=video.pk)
        kind, poster = self.poster(client, video)
        assert (kind, colour_of(poster)) == ("image/jpeg", BLUE)

    def test_no_request_starts_ffmpeg(
        self, client: Client, project: Project, tiny: Path, videos_on_disk: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of a part of the video it shows the moment there; the task alone looks into the file."""
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=6)
        with tiny.open("rb") as content:
            video.file.save("v.mp4", File(content))
        client.force_login(lead(project))
        with monkeypatch.context() as patch:
            patch.setattr(process, "running", None)
            for query in ("", "?at=0.50,1.50", "?at=nan,inf"):
                assert self.poster(client, video, query)[0] == "image/svg+xml"
        assert video_make_poster(video_id=video.pk)
        monkeypatch.setattr(process, "running", None)
        whole = self.poster(client, video)
        assert whole[0] == "image/jpeg"
        assert self.poster(client, video, "?at=0.50,1.50") == self.poster(client, video, "?at=nan,inf") == whole
        moment = self.moment(video, 1, BLUE)
        assert self.poster(client, video, "?at=0.50,1.50") == whole
        assert moment_make_poster(moment_id=moment.pk)
        assert colour_of(self.poster(client, video, "?at=0.50,1.50")[1]) == BLUE
        assert self.poster(client, video, "?at=4.00,5.00") == self.poster(client, video) == whole

    def test_browsers_keep_it_until_it_is_another(
        self, client: Client, project: Project, tiny: Path, tmp_path: Path
    ) -> None:
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=open_source(tiny).duration_s)
        self.moment(video, 0, RED)
        video_make_poster(video_id=video.pk)
        client.force_login(lead(project))
        page = reverse("annotation:corpus", args=[project.uuid])
        address = reverse("annotation:video-poster", args=[project.uuid, video.uuid])
        [old] = re.findall(rf"{address}[?]v=\w+", client.get(page).text)
        assert old in client.get(reverse("annotation:video", args=[project.uuid, video.uuid])).text
        assert client.get(old).headers["Cache-Control"] == IMMUTABLE
        assert client.get(address).headers["Cache-Control"] == "private, no-cache"
        video.moments.update(preview_state="failed", preview_error="It broke.")  # so that the file may be replaced
        (tmp_path / f"{video.name}.mp4").write_bytes(tiny.read_bytes())
        video_add(corpus=video.corpus, path=tmp_path / f"{video.name}.mp4")
        [new] = re.findall(rf"{address}[?]v=\w+", client.get(page).text)
        assert new != old
        assert client.get(old).headers["Cache-Control"] == "private, no-cache"

    def test_an_empty_frame_where_nothing_can_be_shown(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        client.force_login(lead(project))
        video = VideoFactory(corpus=project.dataset.corpus)
        for n_messages in (1, 0):  # a task found nothing: nobody asks again
            with messages() as callbacks:
                kind, picture = self.poster(client, video)
            assert kind == "image/svg+xml" and picture.startswith(b"<svg")
            assert len(callbacks) == n_messages

    def test_a_moment_without_one_gets_it_from_a_task_that_is_scheduled_once(
        self, client: Client, project: Project, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The web process opens no GIF."""
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=6, poster_state="failed")
        moment = self.moment(video, 1, BLUE)
        address = reverse("judging:preview-poster", args=[moment.preview_uuid])
        client.force_login(lead(project))
        with monkeypatch.context() as patch, messages(execute=False) as callbacks:
            patch.setattr(posters, "poster_of_preview", None)
            for _ in range(2):
                answer = client.get(address)
                assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == (
                    "image/svg+xml",
                    "no-store",
                )
                assert self.poster(client, video, "?at=1.00,2.00")[0] == "image/svg+xml"
        assert ["annotation.tasks.moment_make_poster" in str(message) for message in callbacks] == [True]
        assert posters_sweep() == 1
        assert moment_make_poster(moment_id=moment.pk)
        monkeypatch.setattr(posters, "poster_of_preview", None)
        answer = client.get(address)
        assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == ("image/jpeg", IMMUTABLE)
        assert colour_of(answer.getvalue()) == BLUE
        assert colour_of(self.poster(client, video, "?at=1.00,2.00")[1]) == BLUE
        assert posters_sweep() == 0

    def test_a_moment_whose_preview_cannot_be_read_is_tried_once(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        moment.preview.save("x.gif", ContentFile(b"GIF89a, and no more"))
        client.force_login(lead(project))
        for n_messages in (1, 0):
            with messages() as callbacks:
                answer = client.get(reverse("judging:preview-poster", args=[moment.preview_uuid]))
            assert answer.headers["Content-Type"] == "image/svg+xml"
            assert len(callbacks) == n_messages
        moment.refresh_from_db()
        assert (moment.poster.name, moment.poster_state) == ("", "failed")

    def test_who_may_see_them(self, client: Client, project: Project) -> None:
        moment = self.moment(VideoFactory(corpus=project.dataset.corpus), 0, RED)
        of_video = reverse("annotation:video-poster", args=[project.uuid, moment.video.uuid])
        of_moment = reverse("judging:preview-poster", args=[moment.preview_uuid])
        other = VideoFactory()
        for user, statuses in (
            (lead(project), (200, 200)),
            (annotator(project), (403, 404)),  # nobody asked them to judge it
            (MembershipFactory(project=project, roles=["participant"]).user, (403, 404)),
            (MembershipFactory(roles=["lead"]).user, (404, 404)),
        ):
            client.force_login(user)
            assert tuple(client.get(url).status_code for url in (of_video, of_moment)) == statuses
        client.force_login(lead(project))
        assert client.get(reverse("annotation:video-poster", args=[project.uuid, other.uuid])).status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("videos_on_disk")
class TestMade:
    def uploaded(self, tiny: Path, **values: object) -> Video:
        video: Video = VideoFactory(**values)
        video.file.save("v.mp4", ContentFile(tiny.read_bytes()))
        return video

    def test_when_a_file_is_added(self, tiny: Path) -> None:
        video, _ = video_add(corpus=CorpusFactory(), path=tiny)
        assert video.poster_state == "ready"
        with Image.open(video.poster) as image:
            assert image.format == "JPEG"

    def test_when_moments_are_cut(self, tiny: Path, messages: Messages) -> None:
        video = self.uploaded(tiny)
        MomentFactory(video=video, start_s=0, end_s=1, uncut=True)
        assert video_cut_previews(video_id=video.pk) == 1
        video.refresh_from_db()
        assert video.poster_state == "ready" and video.poster.size
        moment = video.moments.get()
        assert moment.poster_state == "ready" and moment.poster.read() == video.poster.read()

    def test_another_preview_brings_another(self, tiny: Path) -> None:
        moment = MomentFactory(start_s=0, end_s=1)
        moment_make_poster(moment_id=moment.pk)
        moment.refresh_from_db()
        old = moment.poster
        preview_replace(moment=moment, preview=Preview(0, gif_of(BLUE).read(), 64, 36), start_s=0, end_s=1)
        moment.refresh_from_db()
        assert moment.poster.name != old.name and colour_of(moment.poster.read()) == BLUE
        late = names_in("previews")
        assert not moment_make_poster(moment_id=moment.pk)
        assert names_in("previews") == late

    def test_one_of_a_preview_that_was_replaced_meanwhile_is_dropped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moment = MomentFactory(start_s=0, end_s=1)
        names, read = names_in("previews"), posters.poster_of_preview

        def overtaken(gif: IO[bytes]) -> bytes | None:
            Moment.objects.update(preview_uuid=uuid4())
            return read(gif)

        monkeypatch.setattr(posters, "poster_of_preview", overtaken)
        assert not moment_make_poster(moment_id=moment.pk)
        moment.refresh_from_db()
        assert (moment.poster.name, moment.poster_state) == ("", "missing")
        assert names_in("previews") == names

    def test_once_and_a_lost_race_leaves_the_winners_file(self, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        video = self.uploaded(tiny)
        names = names_in("posters")
        read = posters.poster_of_video

        def overtaken(path: Path) -> bytes | None:
            with monkeypatch.context() as patch:
                patch.setattr(posters, "poster_of_video", read)
                assert video_make_poster(video_id=video.pk)
            return read(path)

        monkeypatch.setattr(posters, "poster_of_video", overtaken)
        assert not video_make_poster(video_id=video.pk)
        assert not video_make_poster(video_id=video.pk)
        video.refresh_from_db()
        assert names_in("posters") - names == {video.poster.name.removeprefix("posters/")}

    def test_one_of_a_file_that_was_replaced_meanwhile_is_dropped(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        video = self.uploaded(tiny)
        read = posters.poster_of_video

        def overtaken(path: Path) -> bytes | None:
            Video.objects.update(file="videos/another.mp4")
            return read(path)

        monkeypatch.setattr(posters, "poster_of_video", overtaken)
        assert not video_make_poster(video_id=video.pk)
        video.refresh_from_db()
        assert (video.poster.name, video.poster_state) == ("", "missing")

    def test_no_file_no_moment_and_no_video(self, tiny: Path) -> None:
        broken = VideoFactory()
        broken.file.save("v.mp4", ContentFile(b"no video"))
        for video in (broken, VideoFactory(file="videos/lost.mp4"), VideoFactory()):
            assert not video_make_poster(video_id=video.pk)
            video.refresh_from_db()
            assert (video.poster_state, video.poster.name) == ("failed", "")

    @pytest.mark.parametrize(
        ("colours", "has_file", "answer"),
        [
            pytest.param([RED, BLACK, RED], False, RED, id="the middle moment is black"),
            pytest.param([RED, None, BLACK, BLUE, WHITE], False, BLUE, id="the nearest that shows something"),
            pytest.param([BLACK, BLACK, BLACK], True, WHITE, id="the file, where all moments are black"),
            pytest.param([BLACK, BLACK, BLACK], False, BLACK, id="no file"),
            pytest.param([RED] + 6 * [BLACK] + [RED], True, WHITE, id="few moments are looked at"),
        ],
    )
    def test_a_black_moment_is_passed_over(
        self, darkening: Path, colours: list[Colour | None], has_file: bool, answer: Colour
    ) -> None:
        video: Video = VideoFactory(duration_s=2 * len(colours))
        if has_file:
            video.file.save("v.mp4", ContentFile(darkening.read_bytes()))
        for index, colour in enumerate(colours):
            moment = MomentFactory(video=video, start_s=2 * index, end_s=2 * index + 2)
            moment.preview.save("x.gif", ContentFile(gif_of(colour).read() if colour else b"no GIF"))
        assert video_make_poster(video_id=video.pk)
        video.refresh_from_db()
        assert colour_of(video.poster.read()) == answer

    def test_the_brightest_of_dark_moments(self) -> None:
        video: Video = VideoFactory(duration_s=6)
        for index, grey in enumerate((4, 2, 10)):
            moment = MomentFactory(video=video, start_s=2 * index, end_s=2 * index + 2)
            moment.preview.save("x.gif", ContentFile(gif_of((grey, grey, grey)).read()))
        video_make_poster(video_id=video.pk)
        video.refresh_from_db()
        assert posters.brightness_of(video.poster.read()) == pytest.approx(10, abs=1)

    def test_the_sweep_sends_what_was_lost(self, tiny: Path, messages: Messages) -> None:
        requested = self.uploaded(tiny, poster_state="requested")
        self.uploaded(tiny)  # nobody has looked at it
        cut_soon = self.uploaded(tiny, poster_state="requested")  # cutting makes it
        MomentFactory(video=cut_soon, start_s=0, end_s=1, uncut=True)
        with messages():
            assert posters_sweep() == 1
        assert set(Video.objects.filter(poster_state="ready")) == {requested}
        assert posters_sweep() == 0
