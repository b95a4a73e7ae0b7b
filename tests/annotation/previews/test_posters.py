"""Posters: the middle frame, another where that is dark, and what is served where there is none."""

from io import BytesIO
from pathlib import Path

import pytest
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.test import Client
from django.urls import reverse
from PIL import Image

from accounts.models import Project
from annotation.models import Moment, Video
from annotation.previews.posters import LARGEST, poster_of_preview, poster_of_video
from annotation.previews.process import VideoUnreadable, encode_gif
from tests.annotation.previews.clips import make_video
from tests.factories import MembershipFactory, MomentFactory, VideoFactory, annotator, lead

BLACK, WHITE, RED, BLUE = (0, 0, 0), (250, 250, 250), (220, 20, 20), (20, 20, 220)
Colour = tuple[int, int, int]


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

    def test_of_a_part(self, darkening: Path) -> None:
        assert colour_of(poster_of_video(darkening, (3.0, 5.0))) == BLACK
        assert colour_of(poster_of_video(darkening, (0.0, 1.0))) == WHITE
        assert colour_of(poster_of_video(darkening, (5.0, 500.0))) == BLACK

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
        return answer.headers["Content-Type"], answer.content

    def moment(self, video: Video, start: float, colour: Colour) -> Moment:
        row: Moment = MomentFactory(video=video, start_s=start, end_s=start + 2)
        row.preview.save("x.gif", ContentFile(gif_of(colour).read()))
        return row

    def test_of_the_moment_in_the_middle(self, client: Client, project: Project) -> None:
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=60)
        for start, colour in ((0, RED), (29, BLUE), (50, WHITE)):
            self.moment(video, start, colour)
        client.force_login(lead(project))
        kind, poster = self.poster(client, video)
        assert (kind, colour_of(poster)) == ("image/jpeg", BLUE)

    def test_of_the_file_and_of_a_part_of_it(
        self, client: Client, project: Project, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Video._meta.get_field("file"), "storage", FileSystemStorage(tmp_path))
        video = VideoFactory(corpus=project.dataset.corpus, duration_s=6)
        with tiny.open("rb") as content:
            video.file.save("v.mp4", File(content))
        client.force_login(lead(project))
        whole = self.poster(client, video)
        part = self.poster(client, video, "?at=0.50,1.50")
        assert whole[0] == part[0] == "image/jpeg"
        assert whole[1] != part[1]
        assert self.poster(client, video, "?at=nan,inf") == whole

    def test_an_empty_frame_where_nothing_can_be_shown(self, client: Client, project: Project) -> None:
        client.force_login(lead(project))
        kind, picture = self.poster(client, VideoFactory(corpus=project.dataset.corpus))
        assert kind == "image/svg+xml"
        assert picture.startswith(b"<svg")

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
