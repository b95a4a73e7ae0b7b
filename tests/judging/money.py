"""Time spent, for tests of hours and pay."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from accounts.models import Project, User
from judging.guidelines.services import policy_publish
from judging.models import (
    ClipAssignment,
    ExamAttempt,
    ExamGrade,
    GoldGrade,
    Judgment,
    Policy,
    QueryCheck,
    WritingRound,
    WrittenQuery,
)
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    ClipAssignmentFactory,
    ExamAttemptFactory,
    ExamGradeFactory,
    GoldGradeFactory,
    JudgmentFactory,
    ProjectFactory,
    QueryCheckFactory,
    QueryFactory,
    WritingClipFactory,
    WritingRoundFactory,
    WrittenQueryFactory,
    triggers_asleep,
)
from tests.judging.settings import drawn_pair

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
            pair=batch.pairs.get(), annotator=person, round=1, slot=1, grade=2, source="imported"
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
    times = {"active_ms": round(seconds * 1000), "created_at": at}
    gold_grade: GoldGrade = GoldGradeFactory(assignment=assignment, pair=pair, **times)
    type(assignment).objects.filter(pk=assignment.pk).update(state="finished", ended_at=at)
    return gold_grade


def trained(project: Project, person: User, at: datetime, seconds: float) -> ExamGrade:
    """A grade of the tutorial."""
    pair = drawn_pair(project, truth=2, tutorial_position=1 + next(NUMBERS))
    attempt = ExamAttemptFactory(project=project, annotator=person, exam=None, purpose="tutorial", known_ids=[pair.pk])
    graded: ExamGrade = ExamGradeFactory(exam_attempt=attempt, grade=2, active_ms=round(seconds * 1000))
    ExamAttempt.objects.filter(pk=attempt.pk).update(state="done", ended_at=at)
    with transaction.atomic(), triggers_asleep():
        ExamGrade.objects.filter(pk=graded.pk).update(created_at=at)
    return graded


def wrote(project: Project, person: User, at: datetime, seconds: float | None, **values: Any) -> WrittenQuery:
    """One query that a writer submitted then; ``seconds`` None where nobody measured it."""
    assignment = ClipAssignmentFactory(clip=WritingClipFactory(round=_round_of(project)), writer=person)
    time = None if seconds is None else round(seconds * 1000)
    query: WrittenQuery = WrittenQueryFactory(assignment=assignment, active_ms=time)
    ClipAssignment.objects.filter(pk=assignment.pk).update(state="finished", ended_at=at, n_queries=1)
    with transaction.atomic(), triggers_asleep():
        WrittenQuery.objects.filter(pk=query.pk).update(created_at=at, **values)
    return query


def query_checked(query: WrittenQuery, person: User, at: datetime, seconds: float, **values: Any) -> QueryCheck:
    """A decision of a checker then: a rejection, by which its state stays as it is."""
    check: QueryCheck = QueryCheckFactory(query=query, checker=person, active_ms=round(seconds * 1000), **values)
    with transaction.atomic(), triggers_asleep():
        QueryCheck.objects.filter(pk=check.pk).update(created_at=at)
    return check


def found_nothing(project: Project, person: User, at: datetime, seconds: float) -> ClipAssignment:
    """A clip in which a writer found nothing more."""
    assignment = ClipAssignmentFactory(clip=WritingClipFactory(round=_round_of(project)), writer=person)
    times = {"ended_at": at, "empty_at": at, "empty_ms": round(seconds * 1000)}
    ClipAssignment.objects.filter(pk=assignment.pk).update(state="exhausted", **times)
    return assignment  # type: ignore[no-any-return]


def _round_of(project: Project) -> WritingRound:
    return project.writing_rounds.first() or WritingRoundFactory(project=project)
