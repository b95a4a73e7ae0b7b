"""Exams through the services, for tests that need sat ones."""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.models import Membership, Project, User
from annotation.models import Moment, Query
from judging.models import Exam, ExamAttempt, KnownPair
from judging.qualification.selectors.exam_attempts import OpenAttempt, attempt_by_id
from judging.qualification.services.exam_attempts import attempt_grade, attempt_hand_in, attempt_start
from judging.qualification.services.exams import exam_close, exam_create
from tests.conftest import Messages
from tests.factories import (
    NOW,
    ExamAttemptFactory,
    ExamFactory,
    ExamGradeFactory,
    MembershipFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    annotator,
    lead,
)

SEED = 20260101
EVERYBODY = range(1_000_000)  # whoever is not done when a round is closed
GradeOf = Callable[[KnownPair], int]


def examinee(project: Project, status: str = "exam", **values: Any) -> User:
    """An annotator at this step of the way who has confirmed the guideline."""
    user: User = annotator(project, **values)
    Membership.objects.filter(user=user).update(status=status)
    return user


def newcomer(project: Project, status: str = "candidate") -> User:
    """An annotator at this step who has confirmed nothing."""
    return MembershipFactory(project=project, status=status, confirmed=False).user  # type: ignore[no-any-return]


def status_of(user: User) -> str:
    return Membership.objects.get(user=user).status


def cohort_exam(project: Project | None = None, *, queries: int = 2, depth: int = 2, **values: Any) -> Exam:
    """An open exam of a first cohort, its pairs in the order of their ids by query and rank."""
    project = project or ProjectFactory()
    exam: Exam = ExamFactory(project=project, queries=queries, depth=depth, seed=SEED, **values)
    pairs_add(project, queries=queries, depth=depth, source="exam", exam=exam)
    return exam


def closed_exam(project: Project, truths: Sequence[Sequence[float]], **values: Any) -> Exam:
    """A cohort's exam that nobody here sat: one query for each row of truths."""
    fields = {"state": "closed", "seed": SEED, "queries": len(truths), "depth": len(truths[0]), **values}
    exam: Exam = ExamFactory(project=project, **fields)
    for row in truths:
        pairs_add(project, queries=1, depth=len(row), source="exam", exam=exam, truths=row)
    return exam


def pairs_add(
    project: Project, *, queries: int, depth: int, truths: Sequence[float] | None = None, **values: Any
) -> list[KnownPair]:
    """Known pairs of new training queries; moments are of one new video."""
    video = VideoFactory(corpus=project.dataset.corpus)
    moments = MomentFactory.build_batch(queries * depth, video=video, preview="previews/none.gif")
    for index, moment in enumerate(moments):
        moment.start_s, moment.end_s = float(index), index + 0.5
    moments = Moment.objects.bulk_create(moments)
    query_rows = [QueryFactory(project=project, split=Query.Split.TRAIN) for _ in range(queries)]
    rows = [
        KnownPair(
            project=project,
            query=query_rows[index // depth],
            moment=moment,
            rank=index % depth + 1,
            truth=None if truths is None else Decimal(str(truths[index % depth])),
            **values,
        )
        for index, moment in enumerate(moments)
    ]
    return KnownPair.objects.bulk_create(rows)


def tutorial(project: Project, truths: Sequence[int] = (4, 0)) -> list[KnownPair]:
    pairs = pairs_add(project, queries=1, depth=len(truths), truths=truths, source="lead")
    for position, pair in enumerate(pairs, start=1):
        pair.tutorial_position = position
        pair.explanation = f"Because of thing {position}."
    KnownPair.objects.bulk_update(pairs, ["tutorial_position", "explanation"])
    return pairs


def start(user: User, project: Project, purpose: str = "exam") -> ExamAttempt:
    return attempt_start(project=project, annotator=user, purpose=purpose)


def give(user: User, pair: KnownPair, grade: int, **more: Any) -> Any:
    return attempt_grade(annotator=user, pair_uuid=pair.uuid, grade=grade, **{"now": NOW, **more})


def pairs_in_order(attempt: ExamAttempt) -> list[KnownPair]:
    """The pairs in the order shown."""
    pairs = KnownPair.objects.in_bulk(attempt.known_ids)
    return [pairs[known_id] for known_id in attempt.known_ids]


def sit(user: User, project: Project, grade_of: GradeOf, *, purpose: str = "exam") -> ExamAttempt:
    """Start, grade every pair, hand in."""
    attempt = start(user, project, purpose)
    for pair in pairs_in_order(attempt):
        give(user, pair, grade_of(pair))
    if purpose == "exam":
        hand_in(attempt)
    attempt.refresh_from_db()
    return attempt


def sit_all(exam: Exam, *grades_of_each: Sequence[int]) -> list[ExamAttempt]:
    """Have a new examinee for each row sit the exam; grades are in the order of the pairs' ids."""
    return [sit(examinee(exam.project), exam.project, by_pair(exam, grades)) for grades in grades_of_each]


def closed_by(exam: Exam, messages: Messages, **values: Any) -> Exam:
    """Close the exam and have its report written."""
    with messages():
        exam_close(exam=exam, actor=lead(exam.project), **values)
    exam.refresh_from_db()
    return exam


def later_exam(truths: Sequence[Sequence[float]], *, queries: int = 1, project: Project | None = None) -> Exam:
    """Open an exam of five pairs a query, drawn from pairs of these truths."""
    project = project or ProjectFactory()
    closed_exam(project, truths)
    return exam_create(project=project, actor=None, kind="stored", queries=queries, depth=5)


def hand_in(attempt: ExamAttempt, now: datetime = NOW) -> OpenAttempt:
    return attempt_hand_in(annotator=attempt.annotator, attempt=attempt.uuid, now=now)


def right(pair: KnownPair) -> int:
    return int(pair.truth or 0)


def opposite(pair: KnownPair) -> int:
    return 4 - right(pair)


def by_pair(exam: Exam, grades: Sequence[int]) -> GradeOf:
    """Grades for the exam's pairs in the order of their ids."""
    of = dict(zip(exam.known_pairs.order_by("pk").values_list("pk", flat=True), grades, strict=True))
    return lambda pair: of[pair.pk]


def regrade(attempt: ExamAttempt) -> None:
    """Give each misaligned pair its truth, rounded down."""
    open_attempt = attempt_by_id(attempt_id=attempt.pk)
    for pair_view in open_attempt.still_misaligned:
        assert pair_view.truth is not None
        attempt_grade(annotator=attempt.annotator, pair_uuid=pair_view.uuid, grade=int(pair_view.truth), now=NOW)
    attempt.refresh_from_db()


def failed(project: Project, messages: Messages) -> ExamAttempt:
    """Somebody's attempt that was graded the wrong way round, and then again until aligned."""
    with messages():
        attempt = sit(examinee(project), project, opposite)
        regrade(attempt)
    attempt.refresh_from_db()
    assert attempt.passed is False
    return attempt


def in_feedback(user: User, project: Project) -> ExamAttempt:
    """The person's attempt of a closed exam whose only pair has come back to them."""
    exam = cohort_exam(project, queries=1, depth=1)
    pair = exam.known_pairs.get()
    attempt: ExamAttempt = ExamAttemptFactory(annotator=user, exam=exam, seed=SEED, known_ids=[pair.pk])
    ExamGradeFactory(exam_attempt=attempt, grade=0)
    Exam.objects.filter(pk=exam.pk).update(state="closed", closed_at=NOW)
    KnownPair.objects.filter(pk=pair.pk).update(truth=4)
    ExamAttempt.objects.filter(pk=attempt.pk).update(state="feedback", graded_at=NOW)
    attempt.refresh_from_db()
    return attempt
