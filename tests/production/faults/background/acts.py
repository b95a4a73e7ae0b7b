"""Repeated steps of this folder's tests: interrupt, sweep, look at what is stored."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import requests
from celery import current_app
from django.core.files.storage import default_storage
from django.urls import reverse
from PIL import Image

from accounts.models import Project
from tests.factories import admin
from tests.production.faults.latch import Latch
from tests.production.topology import Person, Site
from tests.production.topology.project import PASSWORD, Scenario
from tests.production.topology.site import eventually

KILLED = ("worker", "postgres", "redis")  # storage is killed where files lie in a bucket


def when(there: Callable[[], object]) -> None:
    """Wait for what a test looks at closely; where it passes by, the work is stopped by a latch or paused."""
    eventually(there, every=0.005)


def kill_at(closed: Latch, site: Site, name: str) -> None:
    """kill -9 while work stands at the latch; it stays closed, unless PostgreSQL itself was killed."""
    closed.await_somebody()
    site.kill(name)
    if name in ("worker", "gpu"):
        closed.drop_waiting()


def fresh(row: Any) -> Any:
    """The row as it is in the database now."""
    return type(row).objects.get(pk=row.pk)


def sweep(*tasks: str) -> None:
    """Send what beat sends every half minute or minute, now."""
    for task in tasks:
        current_app.send_task(task, ignore_result=True)


def page_of(site: Site, person: Person, name: str, *args: Any) -> str:
    """Return the page somebody sees now; one that says that the database is away is loaded again."""
    answers: list[requests.Response] = []

    def page_is_loaded() -> bool:
        answers.append(person.get(reverse(name, args=args)))
        return answers[-1].status_code == 200

    eventually(page_is_loaded, every=0.5)
    return answers[-1].text


def lead_of(site: Site, scenario: Scenario) -> Person:
    return scenario.person(site, scenario.lead)


def admin_of(site: Site, project: Project) -> Person:
    user = admin(project)
    user.username = f"{user.username}-{project.uuid}"[:60]
    user.set_password(PASSWORD)
    user.save()
    return site.person(user.username, PASSWORD)


def file_content(name: str) -> bytes:
    with default_storage.open(name) as file:
        return bytes(file.read())


def is_whole_gif(content: bytes) -> bool:
    """Every frame can be decoded, and the file has its end."""
    with Image.open(BytesIO(content)) as picture:
        for number in range(picture.n_frames):  # type: ignore[attr-defined]
            picture.seek(number)
            picture.load()
        return picture.format == "GIF" and content.endswith(b";")
