"""Files of subtitles that come by browser or program: which video they go to, what they replace, what is refused."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Project
from annotation.corpora.importers.base import BadLine, Given, SubtitleRecord
from annotation.corpora.importers.subtitles import read_srt
from annotation.models import Video
from core.models import AuditEvent
from tests.factories import VideoFactory, VideoUploadFactory, lead

pytestmark = pytest.mark.django_db
SRT = "1\n00:00:01,000 --> 00:00:03,000\nHello.\n\n2\n00:00:02,000 --> 00:00:70,000\n<i>Over</i> it.\n"
VTT = "\ufeffWEBVTT - a film\nKind: captions\n\nNOTE made by hand\n\nintro\n00:01.000 --> 00:02.500 line:0\nHello.\n"


def post(client: Client, project: Project, name: str, content: str | bytes, **headers: str) -> Any:
    client.force_login(lead(project))
    data = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile(name, data)
    return client.post(reverse("annotation:subtitles", args=[project.uuid]), {"file": file}, headers=headers)


def by_script(client: Client, project: Project, name: str, content: str | bytes) -> tuple[int, str]:
    answer = post(client, project, name, content, accept="application/json")
    return answer.status_code, answer.json()["message"]


def lines_of(video: Video) -> list[tuple[float, float, str]]:
    return list(video.subtitles.order_by("start_s", "pk").values_list("start_s", "end_s", "text"))


@pytest.fixture
def video(project: Project) -> Video:
    return VideoFactory(corpus=project.dataset.corpus, name="film", duration_s=60)  # type: ignore[no-any-return]


def test_lines_that_overlap_are_added_and_then_replaced(client: Client, project: Project, video: Video) -> None:
    VideoFactory(name="film")  # of another corpus
    assert by_script(client, project, "film.SRT", SRT) == (200, "2 subtitles of film added.")
    assert lines_of(video) == [(1, 3, "Hello."), (2, 60, "Over it.")]
    answer = post(client, project, "film.vtt", VTT)
    assert answer["Location"] == reverse("annotation:corpus", args=[project.uuid])
    assert "1 subtitle of film replaces the 2 that it had." in client.get(answer["Location"]).content.decode()
    assert lines_of(video) == [(1, 2.5, "Hello.")]
    facts = AuditEvent.objects.filter(action="corpus.subtitles").latest("pk").data
    assert facts == {"video": "film", "subtitles": 1, "replaced": 2}


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ("00:00:05,000 --> 00:00:04,000", "time starts at 5 s, not before its end at 4 s"),
        ("-00:00:01,000 --> 00:00:04,000", "time starts at -1 s, before the video"),
        ("00:00:5 --> 00:00:04,000", "00:00:5 is not a time"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_written(
    client: Client, project: Project, video: Video, times: str, reason: str
) -> None:
    by_script(client, project, "film.vtt", VTT)
    status, message = by_script(client, project, "film.srt", f"{SRT}\n3\n{times}\nBack.\n")
    assert status == 422
    assert message.startswith("film.srt, line 9: ") and reason in message.replace("'", "")
    assert message.endswith("The subtitles of film stay as they were.")
    assert lines_of(video) == [(1, 2.5, "Hello.")]


def test_files_without_their_video_or_without_lines(client: Client, project: Project, video: Video) -> None:
    assert by_script(client, project, "movie.srt", SRT) == (
        422,
        "The corpus has no video movie. Upload that first, or name the file of subtitles after its video.",
    )
    VideoUploadFactory(project=project, corpus=project.dataset.corpus, name="movie")
    assert by_script(client, project, "movie.srt", SRT)[0] == 409
    assert by_script(client, project, "film.srt", "\n\n")[0] == 422
    assert by_script(client, project, "film.srt", "Grüße".encode("latin-1"))[1].startswith("film.srt is not written in")
    assert by_script(client, project, "film.txt", SRT)[0] == 422
    assert not lines_of(video)


def test_programs_get_counts(client: Client, project: Project, video: Video) -> None:
    client.force_login(lead(project))
    url = reverse("api:subtitles", args=[project.uuid])
    answer = client.post(url, {"file": SimpleUploadedFile("film.srt", SRT.encode())})
    assert (answer.status_code, answer.json()) == (200, {"video": str(video.uuid), "added": 2, "replaced": 0})
    answer = client.post(url, {"file": SimpleUploadedFile("movie.srt", SRT.encode())})
    assert (answer.status_code, answer.json()["code"]) == (422, "video_refused")


seconds = st.integers(-90, 90)


def clock(value: int) -> str:
    return f"{'-' if value < 0 else ''}00:{abs(value) // 60:02}:{abs(value) % 60:02}.000"


@given(st.lists(st.tuples(seconds, seconds), max_size=5))
def test_each_line_gives_a_row_or_a_fault(spans: list[tuple[int, int]]) -> None:
    """Whatever the times: each line becomes a record within its video, or a fault with its number."""
    blocks = [f"{clock(start)} --> {clock(end)}\nHello.\n" for start, end in spans]
    text = "\n".join(["WEBVTT\n", *blocks])
    items = list(read_srt(text.splitlines(keepends=True), Given({"film": (60.0, 0)}, clip=True, stem="film")))
    assert len(items) == len(spans)
    for number, (item, (start, end)) in enumerate(zip(items, spans, strict=True)):
        is_good = 0 <= start < min(end, 60)
        assert isinstance(item, SubtitleRecord if is_good else BadLine)
        assert item.line == 3 + 3 * number  # type: ignore[union-attr]
        if isinstance(item, SubtitleRecord):
            assert (item.start_s, item.end_s) == (start, min(end, 60))
