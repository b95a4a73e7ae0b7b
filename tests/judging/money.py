"""Time spent, for tests of hours and pay."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from accounts.models import Project, User
from judging.guidelines.services import policy_publish
from judging.models import GoldGrade, Judgment, KnownPair, Policy, Sitting, SittingGrade
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    JudgmentFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    triggers_asleep,
)

NUMBERS: Iterator[int] = count()


def project_in(zone: str = "UTC", **values: Any) -> Project:
    """A project whose first policy has been in force for ever."""
    new_project: Project = ProjectFactory()
    Policy.objects.filter(project=new_project).update(
        time_zone=zone, created_at=datetime(2020, 1, 1, tzinfo=UTC), **values
    )
    return new_project


def policy_from(project: Project, day: datetime, **values: Any) -> Policy:
    """A version in force from this instant on."""
    policy = policy_publish(project=project, actor=None, **values)
    Policy.objects.filter(pk=policy.pk).update(created_at=day)
    return policy


def local(text: str, zone: str = "UTC", *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def judged(project: Project, person: User, at: datetime, seconds: float | None, **values: Any) -> Judgment:
    """One judgment given then; ``seconds`` None for one of a file."""
    pilot = values.pop("pilot", False)
    batch = BatchFactory(query=QueryFactory(project=project), pairs=1, is_pilot=pilot)
    if seconds is None:
        judgment = Judgment.objects.create(
            pair=batch.pairs.get(), annotator=person, round=1, seat=1, grade=2, source="imported"
        )
    else:
        assignment = AssignmentFactory(batch=batch, annotator=person)
        judgment = JudgmentFactory(assignment=assignment, active_ms=round(seconds * 1000), **values)
        type(assignment).objects.filter(pk=assignment.pk).update(state="finished", ended_at=at)
    with transaction.atomic(), triggers_asleep():
        Judgment.objects.filter(pk=judgment.pk).update(created_at=at)
    return judgment


def gold_graded(project: Project, person: User, at: datetime, seconds: float) -> GoldGrade:
    pair = BatchFactory(query=QueryFactory(project=project), pairs=1).pairs.get()
    assignment = AssignmentFactory(batch=pair.batch, annotator=person, pair_ids=[pair.pk], gold_ids=[pair.pk])
    gold_grade = GoldGrade.objects.create(
        pair=pair,
        assignment=assignment,
        annotator=person,
        grade=3,
        truth=3,
        position=1,
        active_ms=round(seconds * 1000),
        source="person",
        guideline=project.guidelines.latest("version"),
        policy=project.policies.latest("version"),
        created_at=at,
    )
    type(assignment).objects.filter(pk=assignment.pk).update(state="finished", ended_at=at)
    return gold_grade


def trained(project: Project, person: User, at: datetime, seconds: float) -> SittingGrade:
    """A grade of the tutorial."""
    pair = KnownPair.objects.create(
        project=project,
        query=QueryFactory(project=project, split="train"),
        moment=MomentFactory(video__corpus=project.dataset.corpus),
        source="lead",
        truth=2,
        tutorial_position=1 + next(NUMBERS),
    )
    attempt = Sitting.objects.create(project=project, annotator=person, purpose="tutorial", seed=1, known_ids=[pair.pk])
    graded = SittingGrade.objects.create(
        sitting=attempt,
        known_pair=pair,
        annotator=person,
        grade=2,
        position=1,
        active_ms=round(seconds * 1000),
        guideline=project.guidelines.latest("version"),
    )
    Sitting.objects.filter(pk=attempt.pk).update(state="done", ended_at=at)
    with transaction.atomic(), triggers_asleep():
        SittingGrade.objects.filter(pk=graded.pk).update(created_at=at)
    return graded
