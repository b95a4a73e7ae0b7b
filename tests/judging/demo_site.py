"""The demo project in an empty database, and a walk over all its pages."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.test import Client, TestCase, override_settings
from django.urls import Resolver404, resolve

from accounts.models import Project, User
from annotation.models import Candidate, Caption, Moment, PoolEntry, Pooling, Query, TrainSet, Video
from annotation.previews import services
from annotation.previews.cutting import Preview
from judging.demo import services as demo_services
from judging.demo.services import YES_OR_NO_NAME, demo_seed
from judging.models import Assignment, Batch, BatchReview, Flag, Judgment, Pair, Release
from models_runner.models import (
    EconomyStudy,
    Experiment,
    FeatureSet,
    GroundTruth,
    Run,
    Training,
    TruthRun,
    TruthScore,
)
from tests.conftest import hash_with
from tests.factories import GIF

SEED = 20260101


def seeded(videos: int = 2) -> Project:
    project = demo_seed(videos=videos, seed=SEED)
    assert project is not None
    return project


def ready(patch: pytest.MonkeyPatch, clip: Path, files: FileSystemStorage) -> Project:
    """Seed the demo and deliver every message, as `make run` does.

    Nothing is drawn, embedded or cut: every episode is the same clip, every preview is one pixel. It has as many videos
    as the demo that results are shipped for.
    """
    folders = {"FEATURES_ROOT": files.base_location, "EXPERIMENTS_ROOT": files.base_location}
    with override_settings(**folders), TestCase.captureOnCommitCallbacks(execute=True):
        hash_with(patch)
        patch.setattr(demo_services, "video_path", lambda episode: clip)
        patch.setattr(services, "cut_previews", fake_cut)
        patch.setattr(Video._meta.get_field("file"), "storage", files)
        return seeded(settings.DEMO_VIDEOS)


def fake_cut(path: Path, spans: Sequence[object]) -> list[Preview]:
    white = GIF.replace(b"\0\0\0\xff\xff\xff", b"\xff\xff\xff\0\0\0")  # a dark one lets posters look into the file
    return [Preview(index, white, 1, 1) for index in range(len(spans))]


def everything() -> list[object]:
    tables = (
        *(Project, Video, Moment, Query, Candidate, Caption, Batch, Pair, Assignment, Judgment, Flag, BatchReview),
        *(Release, Run, FeatureSet, Experiment, Training, EconomyStudy, Pooling, PoolEntry, TrainSet),
        *(GroundTruth, TruthRun, TruthScore),
    )
    return [list(model.objects.order_by("pk").values_list()) for model in tables]  # type: ignore[attr-defined]


LINK = re.compile(r'<a [^>]*href="([^"#]+)')
LOADED = re.compile(r'<[^>]* hx-get="([^"]*)"[^>]* hx-trigger="[^"]*\b(?:load|revealed|intersect|every)\b')  # by itself
VISITS = 2  # of one kind of page, each of another object
LEFT = {"account_logout", "logout"}


def pages_of(username: str) -> Iterator[tuple[str, str, str]]:
    """Yield route, address and HTML of every page that the links lead this person to, from the first one on, and of the
    parts that such pages load: of each route some objects and every name, without filters, sortings and pages. The tiny
    second project is left out."""
    second = str(Project.objects.get(name=YES_OR_NO_NAME).uuid)
    browser = Client()
    browser.force_login(User.objects.get(username=username))
    visits: Counter[tuple[str, ...]] = Counter()
    waiting, addresses = ["/"], {"/"}
    while waiting:
        address = waiting.pop(0)
        match = resolve(address)
        route = match.view_name
        names = [value for value in match.kwargs.values() if isinstance(value, str)]  # as of a figure
        visits[route, *names] += 1
        if visits[route, *names] > VISITS or route in LEFT:
            continue
        response = browser.get(address, follow=True)
        assert response.status_code in (200, 403), (username, address, response.status_code)  # the help links to all
        if response.status_code == 403 or response.streaming or not response["Content-Type"].startswith("text/html"):
            continue
        page, address = response.content.decode(), response.request["PATH_INFO"]  # it may have led on
        yield route, address, page
        for part in LOADED.findall(page):
            yield route, address, _part(browser, urljoin(address, html.unescape(part)))
        for link in LINK.findall(page):
            url = urlsplit(urljoin(address, html.unescape(link)))
            if not url.netloc and url.path not in addresses and second not in url.path and _is_route(url.path):
                addresses.add(url.path)
                waiting.append(url.path)


def _part(browser: Client, address: str) -> str:
    response = browser.get(address, headers={"HX-Request": "true"})
    assert response.status_code in (200, 204), (address, response.status_code)
    return response.content.decode()


def _is_route(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:  # static files
        return False
    return True
