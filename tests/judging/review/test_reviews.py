"""Decisions about first batches: taken back, accepted together, left to the rule."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import Project, User
from core.models import AuditEvent
from judging.exceptions import NothingBeyond, NotPossibleNow, ReviewStands
from judging.guidelines.services import policy_publish
from judging.models import Assignment, Batch, BatchReview, ReviewUndone
from judging.review.selectors import (
    last_reviews,
    outlooks,
    queue_behind,
    review_may_be_undone,
    review_queue,
    second_batch_sizes,
)
from judging.review.services import batch_review, review_undo, reviews_accept, reviews_decide, reviews_sweep
from judging.work.services.batches import batch_extend, batches_extend
from judging.work.services.pairs import pair_withdraw
from tests.conftest import Messages
from tests.factories import NOW, BatchFactory, CandidateFactory, ProjectFactory, QueryFactory, annotator, lead
from tests.judging.growing import Growing
from tests.judging.play import give_back, take, waiting

pytestmark = pytest.mark.django_db


def queue(project: Project) -> list[Batch]:
    return list(review_queue(project))


class TestQueue:
    def test_a_trigger_says_what_waits_whoever_writes(self, project: Project) -> None:
        batch = BatchFactory(query__project=project)
        assert queue(project) == []
        Batch.objects.filter(pk=batch.pk).update(state="done", done_at=NOW)
        assert queue(project) == [batch]
        review = BatchReview.objects.create(batch=batch, decision="close", suggestion="close")
        assert queue(project) == []
        review.delete()
        assert queue(project) == [batch]
        Batch.objects.filter(pk=batch.pk).update(awaits_review=False)
        assert queue(project) == [batch]

    def test_what_lies_behind_a_batch(self, project: Project) -> None:
        first, second, third = (waiting(project) for _ in range(3))
        Batch.objects.filter(pk=first.pk).update(done_at=NOW - timedelta(days=1))
        first.refresh_from_db()
        assert queue(project) == [first, second, third]
        assert list(queue_behind(project, first)) == [second, third]
        assert list(queue_behind(project, third)) == []


class TestUndo:
    def test_a_closed_query_waits_again(self, project: Project) -> None:
        batch, person, other = waiting(project), lead(project), lead(project)
        review = batch_review(batch=batch, extend=False, lead=person, reason="enough")
        review_undo(batch=batch, lead=other)
        assert (queue(project), BatchReview.objects.count()) == ([batch], 0)
        row = ReviewUndone.objects.get()
        assert (row.decision, row.suggestion, row.reason) == ("close", "close", "enough")
        assert (row.decided_by, row.decided_at, row.undone_by) == (person, review.decided_at, other)
        event = AuditEvent.objects.get(action="batch.review_undo")
        assert (event.actor, event.subject, event.data["was"]) == (other, batch.uuid, "close")

    def test_an_extension_goes_with_its_second_batch(self, project: Project) -> None:
        batch, person = waiting(project, beyond=2), lead(project)
        for _ in range(2):
            second = self.extended(batch, person)
            assert second.pairs.count() == 2
            review_undo(batch=batch, lead=person)
            assert list(batch.query.batches.all()) == [batch]
        batch_review(batch=batch, extend=True, lead=person)
        review_undo(batch=batch, lead=person)
        batches_extend()
        assert (batch_extend(batch_id=batch.pk), list(batch.query.batches.all())) == (None, [batch])

    def extended(self, batch: Batch, person: User) -> Batch:
        batch_review(batch=batch, extend=True, lead=person)
        second = batch_extend(batch_id=batch.pk)
        assert second is not None
        return second

    @pytest.mark.parametrize("leaves", [False, True])
    def test_it_stands_once_somebody_sat_at_the_second_batch(self, project: Project, leaves: bool) -> None:
        batch, person = waiting(project), lead(project)
        assignment = take(self.extended(batch, person), annotator(project))
        if leaves:
            give_back(assignment)
        assert not review_may_be_undone(BatchReview.objects.get())
        with pytest.raises(ReviewStands, match="has been begun"):
            review_undo(batch=batch, lead=person)
        assert (BatchReview.objects.count(), Assignment.objects.count()) == (1, 1)

    def test_it_stands_once_a_lead_has_withdrawn_a_pair_of_it(self, project: Project) -> None:
        batch, person = waiting(project), lead(project)
        pair_withdraw(pair=self.extended(batch, person).pairs.get(), lead=person, reason="black")
        with pytest.raises(ReviewStands):
            review_undo(batch=batch, lead=person)

    def test_it_stands_once_a_pool_has_taken_what_closing_left_out(self) -> None:
        scenario = Growing(moments=24, candidates=range(22))
        scenario.close()
        review = BatchReview.objects.get()
        assert last_reviews(scenario.project, scenario.lead, 1) == [review]
        (pooled,) = scenario.open(scenario.plan(scenario.rows("run", [21])))
        assert scenario.indexes_of(pooled) == [21]
        assert not review_may_be_undone(review)
        assert last_reviews(scenario.project, scenario.lead, 1) == []
        with pytest.raises(ReviewStands, match="A pool has taken"):
            review_undo(batch=scenario.batch, lead=scenario.lead)
        assert BatchReview.objects.get() == review

    def test_it_goes_though_a_pool_has_added_others(self) -> None:
        scenario = Growing(moments=24, candidates=range(22))
        scenario.close()
        scenario.open(scenario.plan(scenario.rows("run", [30])))
        review_undo(batch=scenario.batch, lead=scenario.lead)
        batch_review(batch=scenario.batch, extend=True, lead=scenario.lead)
        second = batch_extend(batch_id=scenario.batch.pk)
        assert second is not None and scenario.indexes_of(second) == [20, 21]

    def test_there_is_nothing_to_take_back(self, project: Project) -> None:
        with pytest.raises(NotPossibleNow, match="no decision"):
            review_undo(batch=waiting(project), lead=lead(project))


def test_pooled_candidates_make_no_second_batch() -> None:
    scenario = Growing(moments=24, candidates=range(20))
    scenario.close()
    (pooled,) = scenario.open(scenario.plan(scenario.rows("run", [30])))
    assert pooled.pairs.get().candidate.rank == 21
    assert second_batch_sizes([scenario.batch]) == {scenario.batch.pk: 0}
    review_undo(batch=scenario.batch, lead=scenario.lead)
    with pytest.raises(NothingBeyond):
        batch_review(batch=scenario.batch, extend=True, lead=scenario.lead)


class TestAccept:
    def test_each_is_decided_and_written_down(self, project: Project, messages: Messages) -> None:
        high, low, last = waiting(project, 4), waiting(project, 1), waiting(project, 4, beyond=0)
        person = lead(project)
        with messages():
            result = reviews_accept(
                project=project, lead=person, choices={high.uuid: True, low.uuid: False, last.uuid: False}
            )
        assert (result.extended, result.closed, result.decided_before, result.otherwise) == (1, 2, [], 0)
        decided = dict(BatchReview.objects.values_list("batch", "decision"))
        assert decided == {high.pk: "extend", low.pk: "close", last.pk: "close"}
        assert high.query.batches.filter(number=2).exists()
        events = AuditEvent.objects.filter(project=project, actor=person, action__startswith="batch.")
        actions = {high.uuid: "batch.extend", low.uuid: "batch.close", last.uuid: "batch.close"}
        assert {event.subject: event.action for event in events} == actions
        assert all(e.data["reason"].startswith("Accepted with 3 suggestions. The last") for e in events)
        assert not any("automatic" in event.data for event in events)

    def test_only_what_is_chosen_and_of_this_project(self, project: Project) -> None:
        batch, other, elsewhere = waiting(project), waiting(project), waiting(ProjectFactory())
        choices = {batch.uuid: False, elsewhere.uuid: False, uuid4(): False}
        result = reviews_accept(project=project, lead=lead(project), choices=choices)
        assert (result.extended, result.closed, queue(project)) == (0, 1, [other])
        assert BatchReview.objects.get().batch == batch

    def test_what_the_rule_says_otherwise_by_now_is_left(self, project: Project) -> None:
        batch = waiting(project, 2)
        policy_publish(project=project, actor=None, extend_from_mean=3.0)
        result = reviews_accept(project=project, lead=lead(project), choices={batch.uuid: True})
        assert (result.extended, result.closed, result.otherwise, queue(project)) == (0, 0, 1, [batch])

    def test_what_others_decided_stays_and_is_reported(self, project: Project) -> None:
        mine, hers = waiting(project), waiting(project)
        she = lead(project)
        batch_review(batch=hers, extend=False, lead=she)
        result = reviews_accept(project=project, lead=lead(project), choices={mine.uuid: False, hers.uuid: False})
        assert (result.closed, result.decided_before) == (1, [f"1 by {she.username}"])

    def test_as_few_statements_for_many(  # type: ignore[no-untyped-def]
        self, project: Project, django_assert_max_num_queries
    ) -> None:
        decisions = {waiting(project, 4 * (n % 2)).uuid: bool(n % 2) for n in range(12)}
        person = lead(project)
        with django_assert_max_num_queries(10):
            result = reviews_accept(project=project, lead=person, choices=decisions)
        assert (result.extended, result.closed) == (6, 6)


class TestAutomatic:
    def test_turning_it_on_decides_what_waits(self, project: Project, messages: Messages) -> None:
        high, low = waiting(project, 4), waiting(project, 1)
        with messages():
            policy_publish(project=project, actor=lead(project), extend_automatically=True)
        decided = dict(BatchReview.objects.values_list("batch", "decision"))
        assert decided == {high.pk: "extend", low.pk: "close"}
        for event in AuditEvent.objects.filter(action__startswith="batch."):
            assert (event.actor, event.data["automatic"]) == (None, True)
            assert event.data["reason"].startswith("Automatic. The last 2 settled pairs average")
        assert high.query.batches.filter(number=2).exists()

    def test_another_value_wakes_nobody_and_off_nothing_is_decided(self, project: Project, messages: Messages) -> None:
        batch = waiting(project)
        with messages() as callbacks:
            policy_publish(project=project, actor=None, lease_minutes=21)
            policy_publish(project=ProjectFactory(), actor=None, extend_automatically=False)
        assert (callbacks, reviews_decide(project_id=project.pk), queue(project)) == ([], 0, [batch])

    def test_the_sweep_finds_what_a_lost_message_left(self, project: Project) -> None:
        waiting(project)
        elsewhere = waiting(ProjectFactory())
        policy_publish(project=project, actor=None, extend_automatically=True)
        reviews_sweep()
        assert (queue(project), queue(elsewhere.project)) == ([], [elsewhere])

    def test_what_a_lead_took_back_is_left_to_the_leads(self, project: Project) -> None:
        batch = waiting(project)
        policy_publish(project=project, actor=None, extend_automatically=True)
        reviews_sweep()
        review_undo(batch=batch, lead=lead(project))
        assert (reviews_decide(project_id=project.pk), queue(project)) == (0, [batch])


def test_outlooks_in_as_few_statements_for_many(  # type: ignore[no-untyped-def]
    project: Project, django_assert_num_queries
) -> None:
    batches = [waiting(project, relevance, beyond=beyond) for relevance, beyond in ((4, 2), (1, 3), (4, 0))]
    CandidateFactory(query=QueryFactory(project=project), rank=21)
    with django_assert_num_queries(2):
        outlook_by_batch = outlooks(batches, from_mean=2.0)
    suggestions = [
        (outlook_by_batch[batch.pk].suggestion.extend, outlook_by_batch[batch.pk].beyond) for batch in batches
    ]
    assert suggestions == [(True, 2), (False, 3), (False, 0)]
