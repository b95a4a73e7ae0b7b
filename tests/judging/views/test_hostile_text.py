"""Whatever people write, pages show it as text: every page of every app."""

from datetime import date
from typing import Any

import pytest
from django.http import HttpResponse

from accounts.models import Identity, StatusChange
from annotation.models import CastMember
from core.models import Job
from judging.models import HoursCorrection, ReleaseWords
from tests.factories import PoolSourceFactory
from tests.hostile import HTML, INJECTED, spoil
from tests.judging.views.endpoints import ENDPOINTS, HOLDER_ENDPOINTS, Site

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
LEAST = 25  # columns that the world fills
NUMBERS = {"studied"}  # what they name says nothing in words


def test_no_page_takes_what_people_write_for_markup() -> None:
    site = Site()
    endpoints = [
        endpoint for endpoint in ENDPOINTS + HOLDER_ENDPOINTS if endpoint[3] == "get" and endpoint[1] not in NUMBERS
    ]
    for endpoint in endpoints:
        site.url(endpoint)  # it makes what it names
    write_rows(site)
    spoilt = spoil()
    assert len(spoilt) >= LEAST, sorted(spoilt)
    wrong: list[str] = []
    for endpoint in endpoints:
        answer = site.request(endpoint, site.people["lead" if "lead" in endpoint[2] else max(endpoint[2])])
        wrong += [f"{endpoint[0]}: {what}" for what in wrong_with(answer)]
    assert wrong == []


def write_rows(site: Site) -> None:
    """Rows in which people say something, where the world has none."""
    project, lead, person = site.project, site.people["lead"], site.people["annotator"]
    assert site.flagged and site.drawn and site.question and site.training and site.features
    for user in [*site.people.values()]:
        Identity.objects.get_or_create(user=user, defaults={"name": "x", "email": f"{user.pk}@example.org"})
    ReleaseWords.objects.get_or_create(project=project)
    PoolSourceFactory(pooling=site.pooling, name="system")
    Job.objects.create(project=project, kind="preview", title="Cutting previews", done=3, total=9)
    CastMember.objects.create(corpus=project.dataset.corpus, name="Ada", gender="F", kind="name", noun="woman")
    StatusChange.objects.create(membership=site.member, to_status="suspended", reason="x", actor=lead)
    HoursCorrection.objects.create(
        project=project, annotator=person, day=date(2026, 3, 1), seconds=60, reason="x", made_by=lead
    )


def wrong_with(answer: Any) -> list[str]:
    if answer.status_code >= 500:
        return [f"status {answer.status_code}"]
    content = text_of(answer)
    if not answer.headers["Content-Type"].startswith(("text/html", "image/svg")):
        return []
    matches = [
        INJECTED for markup in (f"<i {INJECTED}", f"<script {INJECTED}", f"<svg {INJECTED}") if markup in content
    ]
    return matches + [word for word in ('href="javascript:', HTML) if word in content]


def text_of(answer: HttpResponse) -> str:
    chunks = answer.streaming_content if answer.streaming else [answer.content]  # type: ignore[attr-defined]
    return b"".join(chunks).decode(errors="replace")
