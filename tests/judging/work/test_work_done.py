"""An annotator's work, of one project and of today."""

from datetime import timedelta

import pytest

from judging.work.selectors.assignments import work_done
from tests.factories import NOW, BatchFactory, MembershipFactory, annotator
from tests.judging.play import grade, judge, take

pytestmark = pytest.mark.django_db


def test_work_of_one_person_and_project_and_of_today() -> None:
    """Grades count before their batch is finished."""
    here, begun, elsewhere = BatchFactory(pairs=3), BatchFactory(pairs=3), BatchFactory(pairs=2)
    person = annotator(here.project)
    of_here = {"project": here.project, "annotator": person, "since": NOW}
    assert work_done(**of_here) == {"batches": 0, "judgments": 0, "today": 0}
    judge(here, [1, 2, 3], person, now=NOW - timedelta(days=1))
    judge(here, [1, 2, 3])
    for batch in (begun, elsewhere):
        MembershipFactory(project=batch.project, user=person)
    judge(elsewhere, [4, 4], person, now=NOW - timedelta(days=1))
    grade(take(begun, person), [1, 2])
    assert work_done(**of_here) == {"batches": 1, "judgments": 3, "today": 0}
    assert work_done(**{**of_here, "project": begun.project}) == {"batches": 0, "judgments": 2, "today": 2}
