"""An annotator's work, of one project and of today."""

from datetime import timedelta

import pytest

from accounts.models import Membership, Project, User
from judging.models import Batch
from judging.work.selectors.assignments import work_done
from tests.factories import NOW, BatchFactory, MembershipFactory, annotator
from tests.judging.play import grade, judge, take

pytestmark = pytest.mark.django_db


def work(project: Project, person: User) -> dict[str, int]:
    return work_done(project=project, annotator=person, since=NOW)


def batch_elsewhere(person: User) -> Batch:
    """A batch of another project that the person judges in as well."""
    batch = BatchFactory(pairs=2)
    MembershipFactory(project=batch.project, user=person, role=Membership.Role.ANNOTATOR)
    return batch


def test_nothing_yet() -> None:
    batch = BatchFactory()
    assert work(batch.project, annotator(batch.project)) == {"batches": 0, "judgments": 0, "today": 0}


def test_grades_count_before_their_batch_is_finished() -> None:
    batch = BatchFactory(pairs=3)
    assignment = take(batch)
    grade(assignment, [1, 2])
    assert work(batch.project, assignment.annotator) == {"batches": 0, "judgments": 2, "today": 2}


def test_other_people_and_other_projects_do_not_count() -> None:
    batch = BatchFactory(pairs=3)
    person = annotator(batch.project)
    judge(batch, [1, 2, 3], person)
    judge(batch, [1, 2, 3])
    other = batch_elsewhere(person)
    judge(other, [4, 4], person)
    assert work(batch.project, person) == {"batches": 1, "judgments": 3, "today": 3}
    assert work(other.project, person) == {"batches": 1, "judgments": 2, "today": 2}


def test_today_begins_at_the_time_given() -> None:
    batch = BatchFactory(pairs=2)
    person = annotator(batch.project)
    yesterday = NOW - timedelta(days=1)
    judge(batch, [1, 2], person, now=yesterday)
    judge(batch_elsewhere(person), [3, 3], person, now=yesterday)
    assert work(batch.project, person) == {"batches": 1, "judgments": 2, "today": 0}
