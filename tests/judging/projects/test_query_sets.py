"""Query sets: what goes first, and what rests."""

import pytest

from accounts.models import Project
from annotation.models import NamedQuerySet
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.models import Batch
from judging.projects.services import query_set_change, query_set_create
from judging.work.services.assignments import assignment_take
from judging.work.services.batches import batch_create
from tests.factories import NOW, BatchFactory, CandidateFactory, ProjectFactory, QueryFactory, annotator, lead
from tests.judging.play import finish, grade, take

pytestmark = pytest.mark.django_db


def batch_of(project: Project, **values: object) -> Batch:
    batch: Batch = BatchFactory(query=QueryFactory(project=project, **values))
    return batch


def set_of(*batches: Batch, name: str = "a set") -> NamedQuerySet:
    project = batches[0].project
    queries = project.queries.filter(pk__in=[batch.query_id for batch in batches])
    return query_set_create(project=project, name=name, queries=queries, actor=lead(project))


def offered(project: Project) -> Batch | None:
    assignment = assignment_take(project=project, annotator=annotator(project), now=NOW)
    return assignment.batch if assignment else None


def test_nobody_is_handed_a_paused_set_until_it_goes_on() -> None:
    project = ProjectFactory()
    batch = batch_of(project)
    paused = set_of(batch)
    query_set_change(query_set=paused, actor=None, is_paused=True)
    assert offered(project) is None
    query_set_change(query_set=paused, actor=None, is_paused=False)
    assert offered(project) == batch


def test_what_somebody_holds_is_finished_though_its_set_rests() -> None:
    batch = batch_of(ProjectFactory())
    assignment = take(batch)
    query_set_change(query_set=set_of(batch), actor=None, is_paused=True)
    assert assignment_take(project=batch.project, annotator=assignment.annotator, now=NOW) == assignment
    grade(assignment, [1, 2])
    assert finish(assignment)


def test_batches_that_open_later_follow_their_set() -> None:
    query = CandidateFactory(query__query_set__priority=0, query__query_set=None).query
    query_set = query_set_create(project=query.project, name="s", queries=query.project.queries.all(), actor=None)
    query_set_change(query_set=query_set, actor=None, priority=1, is_paused=True)
    new_batch = batch_create(query=query, number=1)
    assert new_batch is not None
    assert (new_batch.priority, new_batch.is_paused) == (1, True)


def test_batches_are_pilots_with_their_set_second_ones_too() -> None:
    batch = batch_of(ProjectFactory())
    CandidateFactory(query=batch.query, rank=21)
    query_set = set_of(batch)
    query_set_change(query_set=query_set, actor=None, is_pilot=True)
    second = batch_create(query=batch.query, number=2)
    assert second is not None
    assert list(batch.query.batches.values_list("is_pilot", flat=True)) == [True, True]
    query_set_change(query_set=query_set, actor=None, priority=1)
    assert second.query.batches.filter(is_pilot=True).count() == 2
    query_set_change(query_set=query_set, actor=None, is_pilot=False)
    assert not second.query.batches.filter(is_pilot=True).exists()
    events = AuditEvent.objects.filter(subject=query_set.uuid).order_by("id").values_list("action", "data__pilot")
    change = "query_set.change"
    assert list(events) == [("query_set.create", None), (change, True), (change, True), (change, False)]


def test_a_query_leaves_the_set_it_was_in_with_its_pause() -> None:
    batch = batch_of(ProjectFactory())
    query_set_change(query_set=set_of(batch, name="old"), actor=None, priority=1, is_paused=True)
    new = set_of(batch, name="new")
    batch.refresh_from_db()
    assert (batch.query.query_set, batch.priority, batch.is_paused) == (new, 0, False)


def test_neither_a_bad_name_nor_an_empty_set() -> None:
    batch = batch_of(ProjectFactory())
    for name in ("", "  ", "x" * 101):
        with pytest.raises(NotPossible):
            set_of(batch, name=name)
    with pytest.raises(NotPossible, match="No query fits"):
        query_set_create(project=batch.project, name="empty", queries=batch.project.queries.none(), actor=None)
    assert not NamedQuerySet.objects.exists()


def test_the_name_of_a_set_that_is_there_adds_to_it() -> None:
    project = ProjectFactory()
    one, two = batch_of(project), batch_of(project)
    query_set = set_of(one)
    query_set_change(query_set=query_set, actor=None, priority=1)
    assert set_of(two) == query_set
    two.refresh_from_db()
    assert (query_set.queries.count(), two.priority) == (2, 1)
