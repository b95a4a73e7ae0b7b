"""Too few annotators: the pages say how many more are needed, before pairs wait and while they do."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Project
from judging.models import Batch
from judging.people.selectors import Shortage, shortage_of
from judging.work.services.assignments import assignments_sweep
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
    lead,
)
from tests.judging.play import judge_round
from tests.judging.views.acts import url

pytestmark = pytest.mark.django_db
MORE = "2 more annotators are needed for 1 pair."


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
    assert shortage_of(project) == Shortage(annotators=2, pairs=1, qualified=2, in_training=0)
    MembershipFactory(project=project, status="training")
    assert shortage_of(project) == Shortage(annotators=2, pairs=1, qualified=2, in_training=1)
    third = annotator(project)
    assert shortage_of(project) is None, "the third can go on, and the fourth is in training"
    third.is_active = False
    third.save()
    assert shortage_of(project).pairs == 1  # type: ignore[union-attr]


def test_while_one_pair_can_be_judged_nothing_waits(project: Project, stuck: Batch) -> None:
    BatchFactory(query__project=project)
    assert shortage_of(project) == Shortage(annotators=2, pairs=0, qualified=2, in_training=0)


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
    assert shortage_of(project) == Shortage(annotators=2, pairs=0, qualified=2, in_training=0)


def test_paused_batches_and_judged_projects_need_nobody(project: Project, stuck: Batch) -> None:
    Batch.objects.update(is_paused=True)
    assert shortage_of(project).pairs == 0  # type: ignore[union-attr]
    Batch.objects.update(state="done", done_at=timezone.now())
    assert shortage_of(project) is None


def test_a_project_with_queries_is_warned_before(project: Project) -> None:
    assert shortage_of(project) is None, "there is nothing to judge yet"
    QueryFactory(project=project)
    assert shortage_of(project) == Shortage(annotators=4, pairs=0, qualified=0, in_training=0)
    for status in ("qualified", "qualified", "exam"):
        MembershipFactory(project=project, status=status)
    assert shortage_of(project) == Shortage(annotators=1, pairs=0, qualified=2, in_training=1)
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
