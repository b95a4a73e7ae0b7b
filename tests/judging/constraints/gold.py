"""Grades for pairs of known truth, asked among others."""

from collections.abc import Callable
from typing import Any

from django.db.models import F

from judging.models import Assignment
from tests.factories import AssignmentFactory, BatchFactory, GoldGradeFactory, annotator
from tests.judging.constraints.writes import More, Prepare, Refused, Write, adding, change, deletion


def ask_again() -> Write:
    """The same person is asked the same pair by a later assignment."""
    first = GoldGradeFactory()
    Assignment.objects.filter(pk=first.assignment_id).update(state="finished", ended_at=F("created_at"))
    ids = {"pair_ids": [first.pair_id], "gold_ids": [first.pair_id]}
    again = AssignmentFactory(batch=first.pair.batch, annotator=first.annotator, **ids)
    return lambda: GoldGradeFactory(assignment=again, pair=first.pair)


def unrequested_grade(**other: Callable[[Any], object]) -> Prepare:
    def prepare() -> Write:
        assignment = AssignmentFactory(batch=BatchFactory(pairs=2))
        values = {name: value(assignment) for name, value in other.items()}
        return lambda: GoldGradeFactory(assignment=assignment, pair=assignment.batch.pairs.first(), **values)

    return prepare


REFUSED: Refused = {
    "gold_grade_once_per_pair_and_annotator": ask_again,
    "gold_grade_from_0_to_9": change(GoldGradeFactory, grade=10),
}
MORE: More = {
    "gold_grade_from_0_to_9": {"a truth is a grade": change(GoldGradeFactory, truth=10)},
    "grade .* is beyond its scale": {
        "a gold grade is of the scale": adding(GoldGradeFactory, grade=5),
        "a gold grade stays within the scale": change(GoldGradeFactory, grade=5),
    },
    "does not ask for gold pair": {
        "a gold grade is given on a gold pair only": unrequested_grade(),
        "a gold grade is given by whom it is asked of": unrequested_grade(
            annotator=lambda assignment: annotator(assignment.project)
        ),
    },
    "are kept as they are": {"a gold grade is not deleted": deletion(GoldGradeFactory)},
}
TRIGGERS = {"gold_grade_is_asked_for", "gold_grade_is_kept", "gold_grade_is_of_the_scale"}
