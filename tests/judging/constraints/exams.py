"""Pairs of known truth, exams, exam attempts and their grades."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from judging.models import Exam, ExamAttempt, ExamGrade, KnownPair
from tests.factories import (
    NOW,
    ExamAttemptFactory,
    ExamFactory,
    ExamGradeFactory,
    KnownPairFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
)
from tests.judging.constraints.writes import More, Prepare, Refused, Write, adding, change, deletion, twice


def graded_again() -> Write:
    """A second grade of the same attempt; the other rule about first grades is out of the way for a later try."""
    first = later_grade()
    return lambda: ExamGradeFactory(exam_attempt=first.exam_attempt, try_number=1)


def first_grade_again() -> Write:
    """In another exam attempt."""
    first = ExamGradeFactory()
    ExamAttempt.objects.filter(pk=first.exam_attempt_id).update(state="missed", ended_at=NOW)
    again = ExamAttemptFactory(
        exam=first.exam_attempt.exam, annotator=first.annotator, known_ids=first.exam_attempt.known_ids
    )
    return lambda: ExamGradeFactory(exam_attempt=again)


def later_grade() -> ExamGrade:
    first = ExamGradeFactory()
    ExamAttempt.objects.filter(pk=first.exam_attempt_id).update(state="feedback")
    return ExamGradeFactory(exam_attempt=first.exam_attempt, try_number=1)  # type: ignore[no-any-return]


def unrequested_grade(**other: Callable[[Any], object]) -> Prepare:
    """A grade that differs from what the attempt asks for."""

    def prepare() -> Write:
        attempt = ExamAttemptFactory()
        values = {name: value(attempt) for name, value in other.items()}
        return lambda: ExamGradeFactory(exam_attempt=attempt, **values)

    return prepare


def grade_in_state(state: str, *, try_number: int = 0, exam: str = "open") -> Prepare:
    def prepare() -> Write:
        ended = NOW if state in ("done", "missed") else None
        exam_attempt = ExamAttemptFactory(state=state, ended_at=ended)
        Exam.objects.filter(pk=exam_attempt.exam_id).update(state=exam, closed_at=NOW if exam == "closed" else None)
        return lambda: ExamGradeFactory(exam_attempt=exam_attempt, try_number=try_number)

    return prepare


def changed_after_handing_in() -> Write:
    attempt_grade = ExamGradeFactory()
    ExamAttempt.objects.filter(pk=attempt_grade.exam_attempt_id).update(state="waiting")
    return lambda: ExamGrade.objects.filter(pk=attempt_grade.pk).update(grade=0)


def anchor_after(state: str, /, **exam: object) -> Prepare:
    """An anchor once an attempt of the exam is in this state."""

    def prepare() -> Write:
        pair = KnownPairFactory()
        ended = NOW if state in ("done", "missed") else None
        ExamAttemptFactory(exam=pair.exam, known_ids=[pair.pk], state=state, ended_at=ended)
        Exam.objects.filter(pk=pair.exam_id).update(**exam)
        return lambda: KnownPair.objects.filter(pk=pair.pk).update(anchor=2)

    return prepare


closed_exam = partial(ExamFactory, state="closed", closed_at=NOW)
closed_attempt = partial(ExamAttemptFactory, state="done", ended_at=NOW)
known_truth = partial(KnownPairFactory, truth=Decimal("2.5"))
REFUSED: Refused = {
    "exam_number_once_per_project": twice(closed_exam, "project", "number"),
    "exam_one_at_a_time": twice(ExamFactory, "project"),
    "exam_asks_for_something": change(ExamFactory, depth=0),
    "exam_closed_has_its_time": change(ExamFactory, state="closed"),
    "exam_truth_rule_is_of_a_cohort": change(ExamFactory, kind="stored", truth_rule="agreeing"),
    "known_pair_once_per_project": twice(KnownPairFactory, "exam", "query", "moment"),
    "known_pair_anchor_is_a_grade_in_an_exam": change(KnownPairFactory, anchor=10),
    "known_pair_truth_is_a_median": change(KnownPairFactory, truth=Decimal("2.4")),
    "known_pair_says_where_its_truth_is_from": change(KnownPairFactory, source="settled", truth=2),
    "known_pair_of_the_tutorial_has_its_truth": change(KnownPairFactory, tutorial_position=1),
    "exam_attempt_one_at_a_time": twice(ExamAttemptFactory, "exam", "annotator"),
    "exam_attempt_of_an_exam_names_it": change(ExamAttemptFactory, exam=None),
    "exam_attempt_asks_for_something": change(ExamAttemptFactory, known_ids=[]),
    "exam_attempt_ended_has_its_time": change(ExamAttemptFactory, state="done"),
    "exam_attempt_counted_by_a_lead_was_missed": change(closed_attempt, missed_counts=True),
    "exam_attempt_left_out_was_closed": change(ExamAttemptFactory, left_out=True),
    "exam_attempt_shown_before_is_a_part_of_it": change(ExamAttemptFactory, known_ids=[1, 2], shown_before=3),
    "exam_grade_once_per_pair_and_try": graded_again,
    "exam_grade_first_once_per_annotator": first_grade_again,
    "exam_grade_from_0_to_9": change(ExamGradeFactory, grade=10),
}
MORE: More = {
    "exam_one_at_a_time": {
        "an exam that is being prepared is the one at a time too": twice(ExamFactory, "project", state="preparing")
    },
    "exam_truth_rule_is_of_a_cohort": {"a truth rule is one of two": change(ExamFactory, truth_rule="loudest")},
    "known_pair_anchor_is_a_grade_in_an_exam": {
        "a tutorial has no anchor": change(KnownPairFactory, anchor=2, source="lead", exam=None)
    },
    "exam_attempt_counted_by_a_lead_was_missed": {
        "an attempt that is open does not count": change(ExamAttemptFactory, missed_counts=True)
    },
    "exam_attempt_of_an_exam_names_it": {"a tutorial is of no exam": change(ExamAttemptFactory, purpose="tutorial")},
    "exam_attempt_ended_has_its_time": {"an attempt that goes on has no end": change(ExamAttemptFactory, ended_at=NOW)},
    "known_pair_truth_is_a_median": {"no truth above 9": change(KnownPairFactory, truth=Decimal("9.5"))},
    "comes before anybody hands in": {
        "no anchor once somebody has handed in": anchor_after("waiting"),
        "no anchor once somebody has missed it": anchor_after("missed"),
        "no anchor in a closed exam": anchor_after("open", state="closed", closed_at=NOW),
        "no anchor where the truth is stored": anchor_after("open", kind="stored"),
        "a known pair is not made with an anchor too late": adding(KnownPairFactory, exam=closed_exam, anchor=2),
    },
    "does not ask for known pair": {
        "no first grade in an attempt that was handed in": grade_in_state("waiting"),
        "no first grade in a missed exam attempt": grade_in_state("missed"),
        "no first grade in a feedback round": grade_in_state("feedback"),
        "no first grade once the exam is closed": grade_in_state("open", exam="closed"),
        "no later grade before feedback": grade_in_state("open", try_number=1),
        "no later grade once all is done": grade_in_state("done", try_number=1),
        "no grade in an attempt of somebody else": unrequested_grade(
            annotator=lambda attempt: annotator(attempt.project)
        ),
        "no grade for a pair that the attempt does not hold": unrequested_grade(
            known_pair_id=lambda attempt: KnownPairFactory(exam=attempt.exam).pk
        ),
        "no grade for a known pair in another place": unrequested_grade(position=lambda attempt: 2),
        "first grades are final once handed in": changed_after_handing_in,
        "a grade of an attempt keeps its try": change(ExamGradeFactory, try_number=1),
    },
    "of known pair .* is beyond its scale": {
        "a truth is of the scale": change(KnownPairFactory, truth=Decimal("4.5")),
        "a known pair is not made with a truth beyond the scale": adding(KnownPairFactory, truth=5),
        "an anchor is of the scale": change(KnownPairFactory, anchor=5),
        "a grade of an attempt is of the scale": adding(ExamGradeFactory, exam_attempt=ExamAttemptFactory, grade=5),
        "a grade of an attempt stays within the scale": change(ExamGradeFactory, grade=5),
    },
    "are kept as they are": {"grades of an attempt stay": deletion(ExamGradeFactory)},
    "is final": {
        "a truth is final": change(known_truth, truth=3),
        "a truth is not taken back": change(known_truth, truth=None),
        "a known pair stays of its exam": change(known_truth, exam=lambda: ExamFactory(project=ProjectFactory())),
        "a known pair stays of its query": change(known_truth, query=QueryFactory),
    },
}
TRIGGERS = {
    *("known_pair_anchor_is_beforehand", "known_pair_truth_is_final", "known_grade_is_of_the_scale"),
    *("exam_grade_is_asked_for", "exam_grade_is_kept", "exam_grade_is_of_the_scale"),
}
