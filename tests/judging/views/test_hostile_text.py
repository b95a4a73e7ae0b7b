"""Whatever people write, pages show it as text: every page of every app."""

from datetime import date
from typing import Any

import pytest
from django.http import HttpResponse

from accounts.models import Identity, StandingChange
from annotation.models import CastMember
from core.models import Job
from judging.models import HoursCorrection, ReleaseWords
from tests.factories import PoolSourceFactory
from tests.hostile import HTML, INJECTED, spoil
from tests.judging.views.doors import DOORS, HELD, World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
LEAST = 25  # columns that the world fills
NUMBERS = {"studied"}  # what they name says nothing in words


def test_no_page_takes_what_people_write_for_markup() -> None:
    world = World()
    doors = [door for door in DOORS + HELD if door[3] == "get" and door[1] not in NUMBERS]
    for door in doors:
        world.url(door)  # it makes what it names
    written(world)
    spoilt = spoil()
    assert len(spoilt) >= LEAST, sorted(spoilt)
    wrong: list[str] = []
    for door in doors:
        answer = world.request(door, world.people["lead" if "lead" in door[2] else max(door[2])])
        wrong += [f"{door[0]}: {what}" for what in wrong_with(answer)]
    assert wrong == []


def written(world: World) -> None:
    """Rows in which people say something, where the world has none."""
    project, lead, person = world.project, world.people["lead"], world.people["annotator"]
    assert world.flagged and world.drawn and world.question and world.training and world.features
    for user in [*world.people.values()]:
        Identity.objects.get_or_create(user=user, defaults={"name": "x", "email": f"{user.pk}@example.org"})
    ReleaseWords.objects.get_or_create(project=project)
    PoolSourceFactory(pooling=world.pooling, name="system")
    Job.objects.create(project=project, kind="preview", title="Cutting previews", done=3, total=9)
    CastMember.objects.create(corpus=project.dataset.corpus, name="Ada", gender="F", kind="name", noun="woman")
    StandingChange.objects.create(membership=world.member, to_standing="suspended", reason="x", actor=lead)
    HoursCorrection.objects.create(
        project=project, annotator=person, day=date(2026, 3, 1), seconds=60, reason="x", made_by=lead
    )


def wrong_with(answer: Any) -> list[str]:
    if answer.status_code >= 500:
        return [f"status {answer.status_code}"]
    content = text_of(answer)
    if not answer.headers["Content-Type"].startswith(("text/html", "image/svg")):
        return []
    found = [INJECTED for place in (f"<i {INJECTED}", f"<script {INJECTED}", f"<svg {INJECTED}") if place in content]
    return found + [word for word in ('href="javascript:', HTML) if word in content]


def text_of(answer: HttpResponse) -> str:
    chunks = answer.streaming_content if answer.streaming else [answer.content]  # type: ignore[attr-defined]
    return b"".join(chunks).decode(errors="replace")
