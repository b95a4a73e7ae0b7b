"""The page of the corpus."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from tests.factories import MomentFactory, VideoFactory, lead

pytestmark = pytest.mark.django_db


def page(client: Client, project: Project, query: str = "") -> str:
    client.force_login(lead(project))
    return client.get(reverse("annotation:corpus", args=[project.uuid]) + query).content.decode()


def test_counts_by_video(client: Client, project: Project) -> None:
    video = VideoFactory(corpus=project.dataset.corpus, index=8, duration_s=61.5)
    MomentFactory(video=video, start_s=1)
    MomentFactory(video=video, start_s=2, uncut=True)
    MomentFactory(video=video, start_s=3, preview_state="failed", preview_error="It is damaged.")
    MomentFactory()
    text = page(client, project)
    row = re.search(rf"<td>{video.name}</td>(.*?)</tr>", text)
    assert row is not None
    assert re.findall(r"<td[^>]*>([^<]*)</td>", row[1]) == ["8", "61.50", "3", "1", "1", "–"]
    assert f"{video.name} 3.00-4.25 s: It is damaged." in text


def test_empty_and_many(client: Client, project: Project) -> None:
    assert "No video yet" in page(client, project)
    for _ in range(51):
        VideoFactory(corpus=project.dataset.corpus)
    assert "2 of 2" in page(client, project, "?page=2")
