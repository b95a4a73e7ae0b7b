"""Who and what a load needs: a project judged for months with plenty to judge, its people, and a release to score on.

Imports models: Django must be set up, and speak to the site that is meant.
"""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.urls import reverse

from accounts.models import Membership, Project, User
from accounts.services.credentials import token_create
from benchmarks import seeding
from benchmarks.annotator import PASSWORD
from benchmarks.lead_pages import queue_fill
from benchmarks.populate import populate
from judging.models import OwnGrade
from tests.judging.world import HandMade
from tests.models_runner.acts import GOOD, ready_release, run_json

HISTORY = 220  # annotators who judged before; those of the load are others
WAITING = 300  # queries that a lead may decide


@dataclass(frozen=True)
class LoadWorld:
    """``told`` is what the locust file is given."""

    project: Project
    annotators: list[User]
    told: dict[str, Any]

    def recorded(self) -> int:
        """Grades that the annotators of the load have given, gold among them."""
        return OwnGrade.objects.filter(annotator__in=self.annotators).count()


def history_make(*, pairs: int) -> Project:
    """An empty database is filled; three judgments for each pair, as people judge."""
    written = populate(pairs=pairs, judgments=3 * pairs, annotators=HISTORY)
    queue_fill(min(WAITING, pairs // 100))
    return Project.objects.get(uuid=written.project)


def small_make(*, queries: int) -> Project:
    """For a site that holds other rows already."""
    return seeding.project_seed(annotators=0, queries=queries).project


def world_make(project: Project, *, annotators: int, leads: int, uploads: bool) -> LoadWorld:
    first = (project.memberships.order_by("-number").values_list("number", flat=True).first() or 0) + 1
    names = {number: f"load-{uuid4().hex[:8]}" for number in range(first, first + annotators)}
    people = list(seeding._annotators(project, names).values())
    told = {
        "password": PASSWORD,
        "annotators": [person.username for person in people],
        "leads": [leader(project).username for _ in range(leads)],
        "upload": upload_place() if uploads else None,
        **{name: reverse(f"judging:{page}", args=[project.uuid]) for name, page in PAGES.items()},
    }
    return LoadWorld(project, people, told)


PAGES = {"desk": "desk", "heartbeat": "heartbeat", "overview": "overview", "review": "review-queue"}


def leader(project: Project) -> User:
    user = User.objects.create_user(f"load-lead-{uuid4().hex[:8]}", PASSWORD)
    Membership.objects.create(project=project, user=user, role=Membership.Role.LEAD)
    return user


def upload_place() -> dict[str, str]:
    """A small project with a release, and the token of somebody who may bring as many runs as they like."""
    with transaction.atomic():  # a worker that saw half of it would go on with it
        made = HandMade()
    for row in (made.project, made.corpus):
        row.name = f"{row.name} {uuid4().hex[:8]}"  # another load may follow
        row.save(update_fields=["name"])
    ready_release(made.project)
    return {
        "path": reverse("api:runs", args=[made.project.uuid]),
        "token": token_create(user=made.lead, name="load"),
        "content": run_json({10: GOOD}).decode(),
    }
