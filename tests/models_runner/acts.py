"""Repeated actions: a release to score on, files of runs, uploads."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Membership, Project, User
from judging.models import Release
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.leaderboard.services.releases import release_receive
from models_runner.leaderboard.services.runs import run_upload, run_work
from models_runner.models import Run
from tests.factories import MembershipFactory
from tests.judging.scenario import HandMade

GOOD: list[list[Any]] = [["alpha", 1.0, 2.5, 3.0], ["alpha", 10.0, 20.25, 2.0], ["beta", 0.0, 3.0, 1.0]]
WRONG: list[list[Any]] = [["beta", 3.0, 30.0, 1.0]]


def ready_release(project: Project) -> Release:
    release = release_build(release_id=release_create(project=project, actor=None).pk)
    release_receive(release_id=release.pk)
    return release


def participant(project: Project) -> Membership:
    return MembershipFactory(project=project, role="participant")  # type: ignore[no-any-return]


def run_json(answers: dict[int, Sequence[Sequence[Any]]]) -> bytes:
    rows = [{"query_id": number, "query": "a query", "predictions": list(rows)} for number, rows in answers.items()]
    return json.dumps(rows).encode()


def uploaded(content: bytes, name: str = "run.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def bring(
    member: Membership, release: Release, content: bytes, *, system: str = "ours", split: str = "val", work: bool = True
) -> Run:
    """An upload, read and scored unless told otherwise."""
    run = run_upload(
        membership=member, release=release, split=split, system=system, file=uploaded(content), team="the team"
    )
    if work:
        run_work(run_id=run.pk)
        run.refresh_from_db()
    return run


def member_of(hand_made: HandMade, person: User) -> Membership:
    return hand_made.project.memberships.get(user=person)


class Site:
    """A project with a release, a participant and its lead."""

    def __init__(self, hand_made: HandMade, release: Release) -> None:
        self.hand_made, self.release, self.project = hand_made, release, hand_made.project
        self.member, self.lead = participant(self.project), member_of(hand_made, hand_made.lead)

    def bring(self, content: bytes, *, by: Membership | None = None, **values: Any) -> Run:
        """An upload of the participant, unless somebody else brings it."""
        return bring(by or self.member, values.pop("release", self.release), content, **values)

    def set_rules(self, *, hides_val: bool = False, **values: Any) -> None:
        leaderboard_change(project=self.project, actor=None, hides_val=hides_val, hides_test=True, **values)
