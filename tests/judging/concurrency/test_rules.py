"""Rules change at the instant at which somebody takes a batch, or batches are opened by them."""

from functools import partial

import pytest

from judging.exceptions import NotPossibleNow
from judging.models import Batch
from judging.projects import services
from judging.projects.services import rules_change
from judging.work.rules import rules_of
from judging.work.services import batches
from tests.factories import BatchFactory, CandidateFactory, ProjectFactory, annotator, lead
from tests.judging.concurrency.meeting import ABOUT_TO_WRITE, Meet, taking

pytestmark = pytest.mark.django_db(transaction=True)
CHANGING = (services, "audit_record")  # all is written, nothing is committed


def test_who_takes_a_batch_meanwhile_finds_none(meet: Meet) -> None:
    batch = BatchFactory()
    project = batch.project
    change = partial(rules_change, project=project, actor=lead(project), values={"judges": 3})
    n_batches, assignment = meet(CHANGING, change, taking(batch, annotator(project)))
    assert (n_batches, assignment) == (1, None)
    assert not Batch.objects.exists()


def test_rules_stay_where_somebody_is_taking_a_batch(meet: Meet) -> None:
    batch = BatchFactory()
    project = batch.project

    def change() -> str:
        try:
            return str(rules_change(project=project, actor=lead(project), values={"judges": 3}))
        except NotPossibleNow as error:
            return str(error)

    assignment, answer = meet(ABOUT_TO_WRITE, taking(batch, annotator(project)), change)
    assert assignment.batch == batch and "Somebody has begun to judge" in answer
    project.refresh_from_db()
    assert project.judges == 2


def test_two_leads_change_other_values_at_once(meet: Meet) -> None:
    project = ProjectFactory()
    one, other = (
        partial(rules_change, project=project, actor=lead(project), values=values)
        for values in ({"judges": 3}, {"batch_size": 10})
    )
    meet(CHANGING, one, other)
    project.refresh_from_db()
    assert (project.judges, project.batch_size) == (3, 10)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_batch_that_is_opened_meanwhile_has_the_rules_of_its_project(meet: Meet, is_first: bool) -> None:
    """It is opened by the new rules, or it was there and is taken back."""
    query = CandidateFactory().query
    project = query.project
    change = partial(rules_change, project=project, actor=lead(project), values={"judges": 3})
    opening = partial(batches.batch_create, query=query, number=1)
    if is_first:
        assert meet((batches, "_batch_open"), opening, change)[1] == 1
        assert not Batch.objects.exists()
    else:
        meet(CHANGING, change, opening)
        assert rules_of(Batch.objects.get()).judges == 3
