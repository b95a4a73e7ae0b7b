"""Too few annotators: the pages say how many more are needed, before pairs wait and while they do."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Project
from judging.models import Assignment, Batch
from judging.people.selectors import Shortage, shortage_of
from judging.work.selectors.assignments import work_waits
from judging.work.services.assignments import assignments_sweep
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    FlagFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
    lead,
)
from tests.judging.play import judge_round
from tests.judging.views.acts import logged_in, url

pytestmark = pytest.mark.django_db
MORE = "2 more annotators are needed for 1 pair."


def member_set(assignment: Assignment, **values: str) -> None:
    assignment.project.memberships.filter(user=assignment.annotator).update(**values)


def account_close(assignment: Assignment) -> None:
    assignment.annotator.is_active = False
    assignment.annotator.save()


def lapse(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(state="lapsed", ended_at=timezone.now())


def hand_out(assignment: Assignment, *slots: int, graded: bool = False) -> None:
    """Give slots of the batch to others, who know it then as well; they have graded its pair or are at it."""
    lapse(assignment)
    for slot in slots:
        other = AssignmentFactory(batch=assignment.batch, slot=slot)
        if graded:
            JudgmentFactory(assignment=other)
            Assignment.objects.filter(pk=other.pk).update(state="finished", ended_at=timezone.now())


# What happened to the one pair of a batch after somebody let it lapse, and whether they may go on with it.
RETURNS: dict[str, tuple[Callable[[Assignment], object], bool]] = {
    "nothing": (lambda own: None, True),
    "they are suspended": (lambda own: member_set(own, status="suspended"), False),
    "they are in training": (lambda own: member_set(own, status="training"), False),
    "their account is closed": (account_close, False),
    "they graded it": (lambda own: JudgmentFactory(assignment=own), False),
    "they flagged it": (lambda own: FlagFactory(assignment=own), False),
    "they took their flag back": (lambda own: FlagFactory(assignment=own, withdrawn_at=timezone.now()), True),
    "one slot is assigned": (lambda own: hand_out(own, 2), True),
    "both slots are assigned": (lambda own: hand_out(own, 1, 2), False),
    "one slot is graded": (lambda own: hand_out(own, 2, graded=True), True),
    "both slots are graded": (lambda own: hand_out(own, 1, 2, graded=True), False),
    "it was escalated": (lambda own: own.batch.pairs.update(state="escalated") and Batch.objects.update(round=2), True),
}


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def stuck(project: Project) -> Batch:
    """Two people differ by four on one of two pairs, and nobody else is there."""
    batch = BatchFactory(query__project=project)
    judge_round(batch, [0, 2], [4, 2])
    batch.refresh_from_db()
    assert (batch.round, batch.free_slots) == (2, 2)
    return batch  # type: ignore[no-any-return]


def test_pairs_that_everybody_has_seen_wait_for_somebody_else(project: Project, stuck: Batch) -> None:
    assert shortage_of(project) == Shortage(annotators=2, pairs=1, qualified=2, in_training=0, needed=4)
    leading, page = logged_in(lead(project)), url("people", project)
    MembershipFactory(project=project, status="training")
    assert shortage_of(project) == Shortage(annotators=2, pairs=1, qualified=2, in_training=1, needed=4)
    assert "Invite 2 people" in leading.get(page).text
    MembershipFactory(project=project, status="training")
    assert "They judge once they are qualified" in leading.get(page).text
    third = annotator(project)
    assert shortage_of(project) is None, "the third can go on, and the fourth is in training"
    third.is_active = False
    third.save()
    assert shortage_of(project).pairs == 1  # type: ignore[union-attr]


def test_while_one_pair_can_be_judged_nothing_waits(project: Project, stuck: Batch) -> None:
    BatchFactory(query__project=project)
    assert shortage_of(project) == Shortage(annotators=2, pairs=0, qualified=2, in_training=0, needed=4)


def test_who_ran_out_of_time_may_go_on(project: Project) -> None:
    """A batch that two people were assigned before is not waiting as long as one of them may take it again."""
    batch = BatchFactory(query__project=project)
    for slot in (1, 2):
        AssignmentFactory(
            batch=batch, slot=slot, annotator=annotator(project), expires_at=timezone.now() - timedelta(minutes=1)
        )
    assignments_sweep(now=timezone.now() + timedelta(hours=1))
    batch.refresh_from_db()
    assert batch.free_slots == 2
    assert shortage_of(project) == Shortage(annotators=2, pairs=0, qualified=2, in_training=0, needed=4)


@pytest.mark.parametrize("case", RETURNS)
def test_the_statement_says_of_all_what_taking_would_say_of_each(project: Project, case: str) -> None:
    batch = BatchFactory(query__project=project, pairs=1)
    own = AssignmentFactory(batch=batch, annotator=annotator(project))
    happens, can_return = RETURNS[case]
    happens(own)
    lapse(own)
    Batch.objects.update(free_slots=1)  # where the count lags behind, too
    qualified = project.memberships.filter(status="qualified", user__is_active=True).values_list("user", flat=True)
    assert any(work_waits(project_id=project.pk, annotator_id=user) for user in qualified) == can_return
    shortage = shortage_of(project)
    assert shortage is not None
    assert shortage.pairs == (0 if can_return else 1)


@pytest.mark.parametrize("people", [2, 20])
def test_one_statement_however_many_have_seen_the_pair(project: Project, stuck: Batch, people: int) -> None:
    for person in (annotator(project) for _ in range(people - 2)):
        assignment = AssignmentFactory(batch=stuck, annotator=person)
        FlagFactory(assignment=assignment)
        lapse(assignment)
    Batch.objects.update(free_slots=2)
    with CaptureQueriesContext(connection) as statements:
        assert shortage_of(project) == Shortage(annotators=2, pairs=1, qualified=people, in_training=0, needed=4)
    assert len(statements) == 1


def test_paused_batches_and_judged_projects_need_nobody(project: Project, stuck: Batch) -> None:
    Batch.objects.update(is_paused=True)
    assert shortage_of(project).pairs == 0  # type: ignore[union-attr]
    Batch.objects.update(state="done", done_at=timezone.now())
    assert shortage_of(project) is None


def test_a_project_with_queries_is_warned_before(project: Project) -> None:
    assert shortage_of(project) is None, "there is nothing to judge yet"
    QueryFactory(project=project)
    assert shortage_of(project) == Shortage(annotators=4, pairs=0, qualified=0, in_training=0, needed=4)
    for status in ("qualified", "qualified", "exam"):
        MembershipFactory(project=project, status=status)
    assert shortage_of(project) == Shortage(annotators=1, pairs=0, qualified=2, in_training=1, needed=4)
    MembershipFactory(project=project, status="left")
    assert shortage_of(project) is not None
    annotator(project)
    assert shortage_of(project) is None


@pytest.mark.parametrize("page", ["overview", "review-queue", "people"])
def test_the_pages_say_so_and_lead_to_the_invitation(client: Client, project: Project, stuck: Batch, page: str) -> None:
    client.force_login(lead(project))
    text = client.get(url(page, project)).text
    assert MORE in text and url("people", project) + "#invite" in text
    assert "At this pace" not in text and (page != "overview" or "pairs wait for annotators" in text)
    for _ in range(2):
        annotator(project)
    assert "more annotators" not in client.get(url(page, project)).text
