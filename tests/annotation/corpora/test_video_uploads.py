"""Videos that come from a browser in pieces: the protocol, who may, what breaks off, and what becomes of the file."""

import re
import subprocess
from collections import Counter
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
from pytest_django import Settings

from accounts.models import Project
from annotation.corpora.services import video_uploads
from annotation.corpora.services.video_uploads import (
    LIFETIME,
    LOCK,
    UploadExpired,
    video_part_add,
    video_upload_read,
    video_uploads_expire,
)
from annotation.models import Subtitle, Video, VideoPart, VideoUpload
from core import clock
from core.exceptions import StorageUnavailable
from core.jobs import sweep_all
from tests.annotation.corpora.uploader import PIECE, Uploader, whole
from tests.conftest import Messages
from tests.factories import (
    CorpusFactory,
    MomentFactory,
    ProjectFactory,
    UserFactory,
    VideoFactory,
    VideoUploadFactory,
    annotator,
    lead,
)
from tests.locks import locked_elsewhere
from tests.media import names_in, padded

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_pieces(settings: Settings) -> None:
    settings.VIDEO_PIECE_BYTES = PIECE


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """Pieces of other tests, which rolled back, are none of ours."""
    for name in names_in("video_parts"):
        default_storage.delete(f"video_parts/{name}")


@pytest.fixture
def uploader(project: Project) -> Uploader:
    return Uploader(project)


def refusal(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]  # type: ignore[attr-defined]


class TestProtocol:
    def test_what_the_site_speaks(self, uploader: Uploader) -> None:
        answer = uploader.client.options(reverse("annotation:uploads", args=[uploader.project.uuid]))
        assert (answer.status_code, answer["Tus-Version"]) == (204, "1.0.0")
        assert answer["Tus-Extension"] == "creation,expiration,termination"
        assert answer["Tus-Max-Size"] == str(4000 * 2**20)
        assert refusal(uploader.begin(**{"Tus-Resumable": "0.2.2"})) == (412, "This site speaks tus 1.0.0.")

    def test_pieces_become_a_video_with_its_length_and_frame_rate(
        self, uploader: Uploader, clip: bytes, messages: Messages
    ) -> None:
        answer = uploader.begin("My film.MP4", len(clip))
        assert (answer.status_code, answer["Location"], answer["Upload-Offset"]) == (201, uploader.url(), "0")
        assert answer["Upload-Expires"].endswith("GMT")
        uploader.send_all(clip, messages)
        row, video = VideoUpload.objects.get(), Video.objects.get()
        assert (row.state, row.video, row.error) == ("done", video, "")
        assert (video.name, video.corpus, video.index, video.index_is_given) == ("My film", row.corpus, 0, False)
        assert (round(video.duration_s, 2), video.fps) == (4.0, 6.0)
        assert video.file.name.endswith(".mp4") and video.file.read() == clip
        assert names_in("video_parts") == set() and not VideoPart.objects.exists()
        answer = uploader.head()
        assert (answer.status_code, answer["Upload-Offset"], answer["Upload-Length"]) == (200, *[str(len(clip))] * 2)
        page = uploader.client.get(reverse("annotation:corpus", args=[uploader.project.uuid])).content.decode()
        assert "4.00 s, 6 frames a second" in page and "The videos have no moments yet" in page

    def test_a_piece_at_another_offset_changes_nothing(self, uploader: Uploader) -> None:
        uploader.begin(size=100)
        assert uploader.send(b"x" * 40, 0).status_code == 204
        for offset in (0, 39, 41, 100):
            message = f"film.mp4 goes on at byte 40, not at {offset}."
            assert refusal(uploader.send(b"x", offset)) == (409, message)
        assert uploader.head()["Upload-Offset"] == "40"
        assert len(names_in("video_parts")) == VideoPart.objects.count() == 1

    def test_of_two_writers_one_waits(self, uploader: Uploader) -> None:
        uploader.begin()
        with locked_elsewhere(LOCK, VideoUpload.objects.get().pk):
            assert uploader.send(b"x" * 40, 0).status_code == 423
        assert uploader.head()["Upload-Offset"] == "0"
        assert uploader.send(b"x" * 40, 0).status_code == 204

    def test_what_overtakes_a_piece_costs_the_piece(self) -> None:
        """Its upload is discarded, or goes on, between the look at it and the record of the piece."""
        for change in ({"offset": 5}, {"offset": 100, "state": "failed", "error": "x"}):
            row = VideoUploadFactory()
            body = iter([b"late", b""])

            def read(size: int, row: Any = row, change: Any = change, body: Any = body) -> bytes:
                VideoUpload.objects.filter(pk=row.pk).update(**change)
                return next(body)  # type: ignore[no-any-return]

            with pytest.raises(UploadExpired):
                video_part_add(upload=row, offset=0, read=read)
        assert names_in("video_parts") == set() and not VideoPart.objects.exists()

    def test_what_came_before_the_connection_broke_counts(
        self, uploader: Uploader, clip: bytes, messages: Messages
    ) -> None:
        uploader.begin(size=len(clip))
        body = BytesIO(clip[:300])

        def read(size: int) -> bytes:
            if piece := body.read(100):
                return piece
            raise OSError("the client is gone")

        video_part_add(upload=VideoUpload.objects.get(), offset=0, read=read)
        assert uploader.head()["Upload-Offset"] == "300"
        uploader.send_all(clip, messages, begin=300)
        assert Video.objects.get().file.read() == clip

    def test_a_body_is_read_a_little_at_a_time(self, uploader: Uploader) -> None:
        sizes: list[int] = []

        def read(size: int) -> bytes:
            sizes.append(size)
            return b"x" * 10 if len(sizes) < 4 else b""

        video_part_add(upload=VideoUploadFactory(), offset=0, read=read)
        assert max(sizes) <= 2**16

    def test_more_than_was_announced_or_than_a_piece_may_have(self, uploader: Uploader) -> None:
        uploader.begin(size=100)
        assert uploader.send(b"x" * 101, 0).status_code == 413
        uploader.begin("long.mp4", size=5000)
        assert uploader.send(b"x" * (PIECE + 1), 0).status_code == 413
        assert uploader.head()["Upload-Offset"] == "0"
        assert names_in("video_parts") == set()

    def test_a_piece_of_nothing_changes_nothing(self, uploader: Uploader) -> None:
        uploader.begin()
        assert uploader.send(b"", 0)["Upload-Offset"] == "0"
        assert not VideoPart.objects.exists()

    @pytest.mark.parametrize("size", ["", "x", "-1", "1.5", "9" * 19, "١"])
    def test_a_size_that_is_none(self, uploader: Uploader, size: str) -> None:
        assert uploader.begin(size=size).status_code == 400

    def test_headers_that_say_nothing(self, uploader: Uploader) -> None:
        assert uploader.begin(**{"Upload-Metadata": "filename ???"}).status_code == 400
        assert uploader.begin(**{"Upload-Metadata": ","}).status_code == 400
        uploader.begin()
        assert uploader.send(b"x", 0, content_type="text/plain").status_code == 415
        assert uploader.client.put(uploader.url()).status_code == 405
        assert uploader.client.put(reverse("annotation:uploads", args=[uploader.project.uuid])).status_code == 405

    def test_a_get_leads_to_the_page(self, uploader: Uploader) -> None:
        uploader.begin()
        page = reverse("annotation:corpus", args=[uploader.project.uuid])
        for url in (uploader.url(), reverse("annotation:uploads", args=[uploader.project.uuid])):
            assert uploader.client.get(url).headers["Location"] == page

    def test_it_is_discarded(self, uploader: Uploader) -> None:
        uploader.begin()
        uploader.send(b"x" * 40, 0)
        url, row = uploader.url(), VideoUpload.objects.get()
        assert len(names_in("video_parts")) == 1
        assert uploader.client.delete(url).status_code == 204
        assert not VideoUpload.objects.filter(pk=row.pk).exists()
        assert uploader.client.head(url).status_code == uploader.client.delete(url).status_code == 404

    def test_what_is_being_read_is_not_discarded(self, uploader: Uploader) -> None:
        row = VideoUploadFactory(project=uploader.project, offset=100, state="reading")
        assert refusal(uploader.client.delete(uploader.url())) == (
            409,
            f"{row} is being read; wait until that is done.",
        )
        assert refusal(uploader.send(b"x", 100))[0] == 409


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("notes.txt", "notes.txt is no video by its name; choose files of mp4, webm, mkv, avi, mov or m4v."),
            ("film", "film is no video by its name"),
            ("", "is no video by its name"),
            (f"{'a' * 201}.mp4", "The file cannot give the video its name. A name has 1 to 200 characters."),
            ("a\nb.mp4", "one line without control characters. Rename the file."),
        ],
    )
    def test_names(self, uploader: Uploader, name: str, words: str) -> None:
        status, message = refusal(uploader.begin(name))
        assert status == 422 and words in message

    def test_folders_are_no_part_of_a_name(self, uploader: Uploader) -> None:
        for name in ("../../etc/one.mp4", r"C:\films\two.mp4"):
            assert uploader.begin(name).status_code == 201
        assert list(VideoUpload.objects.order_by("pk").values_list("name", flat=True)) == ["one", "two"]

    def test_sizes(self, uploader: Uploader, settings: Settings) -> None:
        assert refusal(uploader.begin(size=0)) == (422, "film.mp4 is empty. Choose another file.")
        settings.VIDEO_MAX_MB = 3
        status, message = refusal(uploader.begin(size=3 * 2**20 + 1))
        assert status == 413 and "has 3 MB, and a video may have 3" in message and "manage.py add_videos" in message
        assert uploader.begin(size=3 * 2**20).status_code == 201

    def test_unfinished_uploads_of_a_corpus_have_a_quota(self, uploader: Uploader, settings: Settings) -> None:
        settings.VIDEO_UPLOAD_QUOTA_MB = 2
        assert uploader.begin("a.mp4", size=2**20).status_code == 201
        status, message = refusal(uploader.begin("b.mp4", size=2**20 + 1))
        assert status == 413 and "take 1 of 2 MB; finish or discard some of them first." in message
        elsewhere = ProjectFactory()
        assert Uploader(elsewhere).begin("b.mp4", size=2**20 + 1).status_code == 201
        uploader.client.delete(reverse("annotation:upload", args=[VideoUpload.objects.get(name="a").uuid]))
        assert uploader.begin("b.mp4", size=2 * 2**20).status_code == 201

    def test_one_file_of_a_name_at_a_time_and_none_that_is_there(self, uploader: Uploader, project: Project) -> None:
        corpus = project.dataset.corpus
        VideoFactory(corpus=corpus, name="there", file="videos/x.mp4")
        status, message = refusal(uploader.begin("there.mp4"))
        assert status == 422 and message.startswith("The corpus has the file of there already")
        assert uploader.begin("film.mp4").status_code == 201
        status, message = refusal(Uploader(ProjectFactory(corpus=corpus)).begin("film.webm"))
        assert status == 422 and "is on its way already. Choose the same file to go on with it" in message

    def test_historic_judgments_take_none(self) -> None:
        assert Uploader(ProjectFactory(corpus__is_placeholder=True)).begin().status_code == 422

    def test_only_leads_and_admins_of_the_project(self, uploader: Uploader, project: Project) -> None:
        uploader.begin()
        url = uploader.url()
        stranger, judge = Uploader(project, lead(ProjectFactory())), Uploader(project, annotator(project))
        for person, status in ((stranger, 404), (judge, 403), (Uploader(project, UserFactory()), 404)):
            answers = [person.begin("other.mp4"), person.send(b"x", 0, url=url)]
            answers += [person.client.head(url), person.client.delete(url)]
            assert [answer.status_code for answer in answers] == [status] * 4
        anonymous = Client()
        for method in ("HEAD", "PATCH", "DELETE"):
            assert anonymous.generic(method, url).headers["Location"] == f"/login/?next={url}"
        row = VideoUpload.objects.get()
        assert (row.offset, row.state) == (0, "uploading")

    def test_every_request_that_writes_takes_its_token(self, project: Project) -> None:
        strict = Uploader(project, enforce_csrf_checks=True)
        VideoUploadFactory(project=project)
        assert strict.begin().status_code == 403
        assert strict.send(b"x", 0).status_code == 403
        assert strict.client.delete(strict.url()).status_code == 403
        assert strict.head().status_code == 200
        assert VideoUpload.objects.get().offset == 0


class TestExpiry:
    def test_a_day_after_its_last_piece_the_part_goes(self, uploader: Uploader, messages: Messages) -> None:
        uploader.begin()
        uploader.send(b"x" * 40, 0)
        last = VideoUpload.objects.get().expires_at
        with messages():
            sweep_all(now=last - timedelta(seconds=1))
        assert VideoUpload.objects.count() == 1
        VideoUploadFactory(project=uploader.project, offset=100, state="reading")  # a task has it
        with messages():
            assert video_uploads_expire(last + timedelta(days=9)) == 1
        assert VideoUpload.objects.get().state == "reading"
        assert names_in("video_parts") == set()
        assert video_uploads_expire(last + timedelta(days=9)) == 0

    def test_each_piece_gives_it_another_day(self, uploader: Uploader) -> None:
        uploader.begin()
        VideoUpload.objects.update(expires_at=clock.now() + timedelta(minutes=1))
        uploader.send(b"x" * 40, 0)
        assert VideoUpload.objects.get().expires_at > clock.now() + LIFETIME - timedelta(minutes=1)

    def test_what_has_expired_takes_no_piece_before_the_sweep(self, uploader: Uploader) -> None:
        uploader.begin()
        VideoUpload.objects.update(expires_at=clock.now())
        status, message = refusal(uploader.send(b"x", 0))
        assert status == 410 and "Choose the file again to begin anew." in message

    def test_what_is_over_is_listed_for_a_day(self, project: Project) -> None:
        video = VideoFactory(corpus=project.dataset.corpus)
        VideoUploadFactory(project=project, offset=100, state="done", video=video)
        VideoUploadFactory(project=project, offset=100, state="failed", error="It is a song.")
        assert video_uploads_expire(clock.now() + LIFETIME + timedelta(minutes=1)) == 2


class TestReading:
    def test_what_is_no_video_is_refused_in_words(self, project: Project, messages: Messages) -> None:
        row = whole(b"no film" * 300, project=project)
        videos = names_in("videos")
        with messages():
            video_upload_read(upload_id=row.pk)
        row.refresh_from_db()
        assert (row.state, row.error) == ("failed", "The file is corrupt or not a video.")
        assert names_in("video_parts") == set() and names_in("videos") == videos and not Video.objects.exists()
        uploader = Uploader(project)
        assert uploader.client.head(uploader.url()).status_code == 410
        page = uploader.client.get(reverse("annotation:corpus", args=[project.uuid])).content.decode()
        assert "The file is corrupt or not a video." in page
        assert uploader.begin(row.file_name).status_code == 201  # a new try takes its place
        assert VideoUpload.objects.get().state == "uploading"

    def test_a_video_that_the_corpus_knows_gets_its_file_and_its_moments_are_cut(
        self, project: Project, clip: bytes, messages: Messages, settings: Settings, tmp_path: Path
    ) -> None:
        settings.STORAGES = {**settings.STORAGES, "default": on_disk(tmp_path)}
        video = VideoFactory(corpus=project.dataset.corpus, name="film", duration_s=4.9, index=7)
        moment = MomentFactory(video=video, start_s=1, end_s=2, uncut=True)
        missing = MomentFactory(video=video, start_s=2, end_s=3, preview="", preview_state="failed", preview_error="x")
        row = whole(clip, project=project, name="film")
        with messages():
            video_upload_read(upload_id=row.pk)
        row.refresh_from_db()
        video.refresh_from_db()
        assert (row.state, row.video, video.duration_s, video.index, video.fps) == ("done", video, 4.9, 7, 6.0)
        for row in (moment, missing):
            row.refresh_from_db()
            assert (row.preview_state, row.preview_error) == ("ready", "")

    def test_another_length_is_another_video(self, project: Project, clip: bytes, messages: Messages) -> None:
        VideoFactory(corpus=project.dataset.corpus, name="film", duration_s=5.1)
        row = whole(clip, project=project, name="film")
        with messages():
            video_upload_read(upload_id=row.pk)
        row.refresh_from_db()
        assert row.state == "failed"
        assert row.error.startswith("This file is 4.00 s long, but film is 5.10 s long in the corpus.")

    def test_a_file_replaces_one_that_could_not_be_cut(self, project: Project, clip: bytes, messages: Messages) -> None:
        video = VideoFactory(corpus=project.dataset.corpus, name="film", duration_s=4)
        video.file.name = default_storage.save("videos/old.mp4", BytesIO(b"broken"))  # type: ignore[arg-type]
        video.poster.name, video.poster_state = default_storage.save("posters/old.jpg", BytesIO(b"JPEG")), "ready"  # type: ignore[arg-type]
        video.save()
        MomentFactory(video=video, preview="", preview_state="failed", preview_error="x")
        row = whole(clip, project=project, name="film")
        with messages():
            video_upload_read(upload_id=row.pk)
        assert not default_storage.exists(video.file.name) and not default_storage.exists(video.poster.name)
        row = Video.objects.get()
        assert (row.file.read(), row.poster_state) == (clip, "ready")
        assert row.poster_version and row.poster_version != video.poster_version

    def test_subtitles_come_with_the_file_unless_the_video_has_some(
        self, project: Project, tmp_path: Path, clip: bytes, messages: Messages
    ) -> None:
        film = with_subtitles(tmp_path, clip)
        for name in ("new", "known"):
            row = whole(film, project=project, name=name, suffix=".mkv")
            if name == "known":
                video = VideoFactory(corpus=project.dataset.corpus, name=name, duration_s=4)
                video.subtitles.create(start_s=1, end_s=2, text="Imported.")
            with messages():
                video_upload_read(upload_id=row.pk)
            row.refresh_from_db()
            assert (row.state, row.error, row.subtitles) == ("done", "", 2 if name == "new" else 0)
        lines = Subtitle.objects.filter(video__name="new").order_by("pk").values_list("start_s", "end_s", "text")
        assert list(lines) == [(0.5, 1.5, "Good morning, Ross."), (2.0, 4.0, "Late.")]
        assert [line.text for line in Subtitle.objects.filter(video__name="known")] == ["Imported."]

    def test_a_lost_piece_is_reported(self, project: Project, clip: bytes, messages: Messages) -> None:
        for of_storage in (True, False):
            row = whole(clip, project=project)
            part = row.parts.latest("pk")
            part.file.delete(save=False) if of_storage else part.delete()
            with messages():
                video_upload_read(upload_id=row.pk)
            row.refresh_from_db()
            assert row.state == "failed" and row.error.endswith("Upload the file again.")

    def test_a_fault_of_ours_is_reported_in_other_words(
        self, project: Project, clip: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = whole(clip, project=project)
        videos, posters = names_in("videos"), names_in("posters")

        def fail(**values: object) -> None:
            raise RuntimeError("/srv/secret")

        monkeypatch.setattr(video_uploads, "video_store", fail)
        with pytest.raises(RuntimeError):
            video_upload_read(upload_id=row.pk)
        row.refresh_from_db()
        assert row.state == "failed" and row.error.startswith("The site could not read this file.")
        assert (names_in("videos"), names_in("posters")) == (videos, posters)

    def test_a_storage_that_does_not_answer_is_waited_for(
        self, project: Project, clip: bytes, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = whole(clip, project=project)
        with monkeypatch.context() as patch:
            patch.setattr(default_storage, "save", refuse)
            with pytest.raises(StorageUnavailable):
                video_upload_read(upload_id=row.pk)
        row.refresh_from_db()
        assert row.state == "reading"
        with messages():
            sweep_all(now=row.moved_at + timedelta(minutes=5))
        row.refresh_from_db()
        assert row.state == "done"

    def test_two_names_at_once_get_an_index_each(self, project: Project, clip: bytes, messages: Messages) -> None:
        VideoFactory(corpus=project.dataset.corpus, index=41)
        for row in [whole(padded(clip, number), project=project) for number in range(2)]:
            with messages():
                video_upload_read(upload_id=row.pk)
        assert list(project.dataset.corpus.videos.order_by("pk").values_list("index", flat=True)) == [41, 42, 43]


def refuse(*args: object, **values: object) -> None:
    raise StorageUnavailable


def on_disk(folder: Path) -> dict[str, Any]:
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(folder)}}


def with_subtitles(folder: Path, clip: bytes) -> bytes:
    """The clip as Matroska, with a line within it and one that ends after it."""
    (folder / "clip.mp4").write_bytes(clip)
    text = "1\n00:00:00,500 --> 00:00:01,500\n<i>Good</i> morning,\nRoss.\n\n2\n00:00:02,000 --> 00:00:09,000\nLate.\n"
    (folder / "lines.srt").write_text(text)
    paths = [part for name in ("clip.mp4", "lines.srt") for part in ("-i", str(folder / name))]
    copied = ["-map", "0:v", "-map", "1:s", "-c", "copy", str(folder / "film.mkv")]
    subprocess.run([get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *paths, *copied], check=True, timeout=600)
    return (folder / "film.mkv").read_bytes()


class TestPage:
    def show(self, project: Project, query: str = "") -> str:
        client = Client()
        client.force_login(lead(project))
        return client.get(reverse("annotation:corpus", args=[project.uuid]) + query).content.decode()

    def listed(self, text: str) -> Counter[str]:
        """Return how many uploads of each state a page lists."""
        return Counter(re.findall(r'<li[^>]* data-state="(\w+)"', text))

    def uploads(self, project: Project, number: int) -> None:
        video = VideoFactory(corpus=project.dataset.corpus)
        for _ in range(number):
            VideoUploadFactory(project=project)
            VideoUploadFactory(project=project, state="done", offset=100, video=video)
            VideoUploadFactory(project=project, state="failed", offset=100, error="It is damaged.")

    def test_an_empty_corpus_leads_on(self, project: Project) -> None:
        page = self.show(project)
        assert "No video yet" in page and "video,start,end,description" in page
        assert "needs JavaScript" in page and "manage.py add_videos --corpus" in page
        assert 'hx-trigger="every 2s' not in page

    def test_each_state_says_what_to_do(self, project: Project) -> None:
        VideoUploadFactory(project=project, name="half", offset=45)
        VideoUploadFactory(project=project, name="read", offset=100, state="reading")
        page = self.show(project)
        assert "45 % is here" in page and "Choose the same file again to go on" in page
        assert "being read" in page and 'hx-trigger="every 2s' in page

    def test_ten_of_each_are_listed_all_are_counted_and_those_that_failed_can_be_seen(self, project: Project) -> None:
        self.uploads(project, 30)
        text = self.show(project)
        assert self.listed(text) == {"uploading": 10, "done": 10, "failed": 10}
        assert "30 videos added within a day" in text and "The last 10 are listed." in text
        assert "10 of 30 uploads on their way" in text and "10 of 30 files that were not added" in text
        newest = max(VideoUpload.objects.filter(state="done"), key=lambda row: row.pk)
        assert f"<b>{newest.file_name}</b>" in text
        for only, state in (("failed", "failed"), ("unfinished", "uploading"), ("added", "done")):
            assert f'href="?uploads={only}' in text
            others = {"uploading", "done", "failed"} - {state}
            assert self.listed(self.show(project, f"?uploads={only}")) == {state: 30, **dict.fromkeys(others, 10)}
        assert self.listed(self.show(project, "?uploads=nonsense")) == dict.fromkeys(
            ("uploading", "done", "failed"), 10
        )

    def test_more_of_them_are_listed_to_a_bound(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("annotation.corpora.selectors.UPLOADS_AT_MOST", 20)
        self.uploads(project, 30)
        text = self.show(project, "?uploads=failed")
        assert self.listed(text)["failed"] == 20 and "20 of 30 files that were not added" in text

    def test_few_are_listed_without_a_word_about_more(self, project: Project) -> None:
        self.uploads(project, 2)
        text = self.show(project)
        assert self.listed(text) == {"uploading": 2, "done": 2, "failed": 2}
        assert "2 videos added within a day" in text and "?uploads=" not in text and "are listed" not in text

    def test_what_is_read_and_the_file_that_is_chosen_again_are_always_listed(self, project: Project) -> None:
        read = VideoUploadFactory(project=project, offset=100, state="reading")
        half = VideoUploadFactory(project=project, name="half", offset=45)
        self.uploads(project, 12)
        text = self.show(project)
        assert f">{read.file_name}<" in text and 'hx-trigger="every 2s' in text
        assert "half.mp4" not in text
        assert half.file_name in self.show(project, "?upload=half.mp4")

    def test_the_same_statements_for_one_upload_and_for_thirty(self, project: Project) -> None:
        counts = []
        for number in (1, 29):
            self.uploads(project, number)
            with CaptureQueriesContext(connection) as statements:
                self.show(project)
            counts.append(len(statements))
        assert counts[0] == counts[1]

    def test_of_historic_judgments_takes_no_videos(self) -> None:
        assert "Add videos" not in self.show(ProjectFactory(corpus__is_placeholder=True))


def test_other_projects_over_the_corpus_see_its_uploads() -> None:
    corpus = CorpusFactory()
    projects = [ProjectFactory(corpus=corpus) for _ in range(2)]
    VideoUploadFactory(project=projects[0], name="half", offset=45)
    assert "45 % is here" in TestPage().show(projects[1])
