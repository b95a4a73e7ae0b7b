"""The page of a video: player, moments, captions, candidates, subtitles; and finding videos on the corpus page."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Project
from annotation.models import Subtitle
from tests.factories import CandidateFactory, CaptionFactory, MomentFactory, VideoFactory, lead

pytestmark = pytest.mark.django_db


def page(client: Client, project: Project, name: str, *args: object, query: str = "") -> str:
    client.force_login(lead(project))
    answer = client.get(reverse(f"annotation:{name}", args=[project.uuid, *args]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_what_is_known_of_it(client: Client, project: Project) -> None:
    video = VideoFactory(corpus=project.dataset.corpus, duration_s=61.5)
    late, early = (MomentFactory(video=video, start_s=start, end_s=start + 4) for start in (30, 2))
    CaptionFactory(moment=late, text="A man waves.", provider="rules", description__text="Ross waves.")
    CandidateFactory(moment=late, rank=7, query__project=project, query__text="Somebody waves.")
    CandidateFactory(moment=early, query__text="A query of another project.")
    Subtitle.objects.create(video=video, start_s=1, end_s=2, text="Hello <there>")
    text = page(client, project, "video", video.uuid)
    assert text.index(f'id="moment-{early.preview_uuid}"') < text.index(f'id="moment-{late.preview_uuid}"')
    for words in ("A man waves.", "Ross waves.", "Somebody waves.", "rank 7", "Hello &lt;there&gt;", "61.50 s"):
        assert words in text
    assert "another project" not in text
    assert "The video itself is not here" in text


def test_an_unknown_one(client: Client, project: Project) -> None:
    client.force_login(lead(project))
    url = reverse("annotation:video", args=[project.uuid, VideoFactory().uuid])
    assert client.get(url).status_code == 404


def test_one_of_which_nothing_is_known(client: Client, project: Project) -> None:
    video = VideoFactory(corpus=project.dataset.corpus)
    assert "Nothing is known of it yet" in page(client, project, "video", video.uuid)


def test_videos_are_found_by_name_and_caption(client: Client, project: Project) -> None:
    kitchen, roof = (VideoFactory(corpus=project.dataset.corpus, name=name) for name in ("kitchen", "roof"))
    CaptionFactory(moment__video=roof, text="A man repairs tiles.")
    for words, match, other in (("kitch", kitchen, roof), ("TILES", roof, kitchen)):
        text = page(client, project, "corpus", query=f"?q={words}")
        assert f"{match.name}</a>" in text
        assert f"{other.name}</a>" not in text
    assert "No video found" in page(client, project, "corpus", query="?q=zzz")


def statements(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        client.get(url)
    return len(captured)


def test_statements_do_not_grow(client: Client, project: Project) -> None:
    video = VideoFactory(corpus=project.dataset.corpus)
    CaptionFactory(moment__video=video)
    client.force_login(lead(project))
    pages = ("corpus", [project.uuid]), ("video", [project.uuid, video.uuid])
    urls = [reverse(f"annotation:{name}", args=args) for name, args in pages]
    client.get(urls[0])
    before = [statements(client, url) for url in urls]
    for start in range(10, 19):
        CaptionFactory(moment__video=video, moment__start_s=start, moment__end_s=start + 1)
        CaptionFactory(moment__video__corpus=project.dataset.corpus)
    assert [statements(client, url) for url in urls] == before
