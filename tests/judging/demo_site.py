"""The demo project in an empty database, and a walk over all its pages."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from django.test import Client
from django.urls import Resolver404, resolve

from accounts.models import Project, User
from annotation.models import Candidate, Caption, Moment, PoolEntry, Pooling, Query, TrainSet, Video
from judging.demo.services import demo_seed
from judging.models import Assignment, Batch, BatchReview, Flag, Judgment, Pair, Release
from models_runner.models import EconomyStudy, Experiment, FeatureSet, Run, Training

SEED = 20260101


def seeded(videos: int = 2) -> Project:
    project = demo_seed(videos=videos, seed=SEED)
    assert project is not None
    return project


def everything() -> list[object]:
    tables = (
        *(Project, Video, Moment, Query, Candidate, Caption, Batch, Pair, Assignment, Judgment, Flag, BatchReview),
        *(Release, Run, FeatureSet, Experiment, Training, EconomyStudy, Pooling, PoolEntry, TrainSet),
    )
    return [list(model.objects.order_by("pk").values_list()) for model in tables]  # type: ignore[attr-defined]


LINK = re.compile(r'<a [^>]*href="([^"#]+)')
VISITS = 2  # of one kind of page, each of another object
LEFT = {"account_logout", "logout"}


def pages_of(username: str) -> Iterator[tuple[str, str]]:
    """Yield route and HTML of every page that the links lead this person to, from the first one on: of each
    route some objects, without its filters, sortings and pages."""
    browser = Client()
    browser.force_login(User.objects.get(username=username))
    visits: Counter[str] = Counter()
    waiting, addresses = ["/"], {"/"}
    while waiting:
        address = waiting.pop(0)
        route = resolve(address).view_name
        visits[route] += 1
        if visits[route] > VISITS or route in LEFT:
            continue
        response = browser.get(address, follow=True)
        assert response.status_code in (200, 403), (username, address, response.status_code)  # the help links to all
        if response.status_code == 403 or response.streaming or not response["Content-Type"].startswith("text/html"):
            continue
        page = response.content.decode()
        yield route, page
        for link in LINK.findall(page):
            url = urlsplit(urljoin(address, html.unescape(link)))
            if not url.netloc and url.path not in addresses and _is_route(url.path):
                addresses.add(url.path)
                waiting.append(url.path)


def _is_route(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:  # static files
        return False
    return True
