"""Opening batches, deciding their pairs, and the lead's word on a second one."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Moment
from core.models import AuditEvent
from judging.exceptions import AlreadyReviewed, NothingBeyond, NotReviewable
from judging.guidelines.services import policy_publish
from judging.models import Assignment, Batch, BatchReview
from judging.review.selectors import review_queue
from judging.review.services import batch_review
from judging.work.services import batches
from judging.work.services.batches import (
    batch_advance,
    batch_create,
    batch_extend,
    batches_extend,
    batches_open,
    batches_sweep,
)
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    FlagFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    lead,
    triggers_asleep,
)
from tests.judging.play import give, give_back, grade, judge, judge_round, outcomes, pairs_of, take

pytestmark = pytest.mark.django_db


def finished_batch(*, beyond: int = 0, **values: object) -> Batch:
    """A first batch with its pairs settled at relevance 2, and so many candidates for a second one."""
    batch = BatchFactory(**values)
    candidates(batch.query, range(21, 21 + beyond))
    judge_round(batch, [2] * 40, [2] * 40)
    assert batch.state == Batch.State.DONE
    return batch


def candidates(query: object, ranks: range) -> None:
    for rank in ranks:
        CandidateFactory(query=query, rank=rank)


class TestOpen:
    def test_twenty_then_the_rest_then_none(self) -> None:
        query = QueryFactory()
        candidates(query, range(1, 24))
        first, second = batch_create(query=query, number=1), batch_create(query=query, number=2)
        assert first is not None and second is not None
        assert [pair.candidate.rank for pair in pairs_of(first)] == list(range(1, 21))
        assert [pair.candidate.rank for pair in pairs_of(second)] == [21, 22, 23]
        assert (first.round, first.state, first.project) == (1, "open", query.project)
        assert (first.free_slots, first.begun) == (2, False)
        assert batch_create(query=query, number=1) == first

    def test_a_moment_without_preview_is_never_handed_out(self) -> None:
        query = QueryFactory()
        candidates(query, range(1, 21))
        assert batch_create(query=query, number=2) is None
        Moment.objects.update(preview="", preview_state="missing")
        assert batch_create(query=query, number=1) is None
        assert batches_open(project_id=query.project_id) == 0
        Moment.objects.filter(candidates__rank__in=[1, 3]).update(preview="a.gif", preview_state="ready")
        batch = batch_create(query=query, number=1)
        assert batch is not None
        assert [pair.candidate.rank for pair in pairs_of(batch)] == [1, 3]

    def test_each_query_with_candidates_once(self) -> None:
        project = ProjectFactory()
        ready = [QueryFactory(project=project) for _ in range(2)]
        for query in ready:
            candidates(query, range(1, 3))
        QueryFactory(project=project)  # not ranked yet
        candidates(QueryFactory(), range(1, 2))  # elsewhere
        assert batches_open(project_id=project.pk) == 2
        assert batches_open(project_id=project.pk) == 0
        assert set(project.batches.values_list("query", flat=True)) == {query.pk for query in ready}


class TestAdvance:
    def test_escalated_pairs_go_to_two_others(self) -> None:
        batch = BatchFactory(pairs=3)
        judge_round(batch, [0, 3, 0], [4, 3, 2])
        assert outcomes(batch) == [("escalated", None), ("settled", 3), ("escalated", None)]
        assert (batch.state, batch.round, batch.free_slots, batch.begun) == ("open", 2, 2, False)
        judge_round(batch, [2, 4], [1, 4])
        assert outcomes(batch) == [("settled", 2), ("settled", 3), ("dropped", None)]
        assert [pair.reason for pair in pairs_of(batch)] == ["", "", "no_consensus"]
        assert batch.state == "done"
        judges = [set(pair.judgments.values_list("annotator", flat=True)) for pair in pairs_of(batch)]
        assert [len(people) for people in judges] == [4, 2, 4]

    def test_one_of_two_finished_decides_nothing(self) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("open", None)] * 2
        judge(batch, [1, 4])
        batch_advance(batch_id=batch.pk)
        judge(batch, [4])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("settled", 1), ("escalated", None)]

    def test_a_decided_pair_is_not_decided_again(self) -> None:
        batch = BatchFactory()
        judge_round(batch, [0, 3], [1, 3])
        assert (batch.state, outcomes(batch)) == ("done", [("settled", 1), ("settled", 3)])
        done_at = batch.done_at
        assert done_at is not None
        batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        assert batch.done_at == done_at

    @pytest.mark.parametrize("second_round", [False, True])
    def test_complete_pairs_are_decided_though_the_rest_waits(self, second_round: bool, messages: Messages) -> None:
        """Two people hold the batch together, grade the best pair only and give the rest back."""
        batch = BatchFactory()
        if second_round:
            judge_round(batch, [0, 0], [4, 4])
        both = [take(batch), take(batch)]
        for assignment, value in zip(both, (3, 4), strict=True):
            grade(assignment, [value])
        with messages():
            for assignment in both:
                give_back(assignment)
        assert outcomes(batch) == [("settled", 4), ("escalated" if second_round else "open", None)]

    def test_withdrawn_pairs_count_as_done(self) -> None:
        batch = BatchFactory()
        batch.pairs.filter(candidate__rank=1).update(state="withdrawn", reason="withdrawn_by_lead")
        judge_round(batch, [1], [1])
        assert (batch.state, outcomes(batch)) == ("done", [("withdrawn", None), ("settled", 1)])

    def test_as_few_writes_as_there_are_outcomes(self) -> None:
        batch = BatchFactory(pairs=20)
        judge(batch, [0, 2, 4, 0] * 5)
        judge(batch, [0, 3, 4, 4] * 5)
        with CaptureQueriesContext(connection) as capture:
            batch_advance(batch_id=batch.pk)
        writes = [query["sql"] for query in capture if query["sql"].startswith(("UPDATE", "INSERT", "DELETE"))]
        assert outcomes(batch) == [("settled", 0), ("settled", 3), ("settled", 4), ("escalated", None)] * 5
        assert len(writes) == 4 + 1  # and the batch itself
        with CaptureQueriesContext(connection) as capture:
            batch_advance(batch_id=batch.pk)
        assert not any(query["sql"].startswith(("UPDATE", "INSERT", "DELETE")) for query in capture)

    def test_it_puts_the_free_slots_right(self) -> None:
        batch = BatchFactory()
        take(batch)
        for claimed in (0, 2):
            Batch.objects.update(free_slots=claimed)
            batch_advance(batch_id=batch.pk)
            batch.refresh_from_db()
            assert batch.free_slots == 1

    def test_flags_that_a_lost_message_left_withdraw(self) -> None:
        """Both flags are final; nobody has looked since."""
        batch = BatchFactory()
        first, second = pairs_of(batch)
        for slot in (1, 2):
            assignment = AssignmentFactory(batch=batch, slot=slot)
            FlagFactory(assignment=assignment, pair=first)
            give(assignment, second, slot)
        Assignment.objects.update(state="finished", ended_at=NOW)
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("withdrawn", None), ("settled", 2)]

    def test_flags_of_open_assignments_or_withdrawn_do_not(self) -> None:
        batch = BatchFactory(pairs=1)
        one, other = (AssignmentFactory(batch=batch, slot=slot) for slot in (1, 2))
        FlagFactory(assignment=one, withdrawn_at=NOW)
        FlagFactory(assignment=one)
        FlagFactory(assignment=other)
        Assignment.objects.filter(pk=one.pk).update(state="returned", ended_at=NOW)
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("open", None)]

    def test_a_settled_pair_stays_whatever_was_flagged(self) -> None:
        batch = BatchFactory()
        judge_round(batch, [1, 0], [1, 4])
        settled = pairs_of(batch)[0]
        with triggers_asleep():
            for assignment in Assignment.objects.all():
                FlagFactory(assignment=assignment, pair=settled)
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("settled", 1), ("escalated", None)]


class TestReview:
    @pytest.mark.parametrize(("extend", "decision"), [(True, "extend"), (False, "close")])
    def test_a_decision_is_saved_once_and_acted_on(self, extend: bool, decision: str, messages: Messages) -> None:
        batch = finished_batch(pairs=20, beyond=3)
        person = lead(batch.project)
        with messages():
            review = batch_review(batch=batch, extend=extend, lead=person, reason="because")
        assert (review.decision, review.suggestion, review.reason) == (decision, "extend", "because")
        assert (review.decided_by, review.decided_at is not None) == (person, True)
        event = AuditEvent.objects.get(action=f"batch.{decision}")
        assert (event.project, event.actor, event.subject) == (batch.project, person, batch.uuid)
        assert event.data == {"query": batch.query.text, "suggestion": "extend", "reason": "because"}
        assert not review_queue(batch.project).exists()
        ranks = [pair.candidate.rank for second in batch.query.batches.filter(number=2) for pair in pairs_of(second)]
        assert ranks == ([21, 22, 23] if extend else [])
        with messages() as task_messages:
            assert batch_review(batch=batch, extend=extend, lead=person) == review
        assert (task_messages, AuditEvent.objects.filter(action=f"batch.{decision}").count()) == ([], 1)

    @pytest.mark.parametrize("first", [True, False])
    def test_another_decision_reads_who_decided(self, first: bool) -> None:
        batch = finished_batch(beyond=1)
        person = lead(batch.project)
        batch_review(batch=batch, extend=first, lead=person)
        message = f"{person.username} {'extended' if first else 'closed'} this query a moment ago."
        other = lead(batch.project)
        for extend, who in ((True, other), (False, other), (not first, person)):
            with pytest.raises(AlreadyReviewed) as refusal:
                batch_review(batch=batch, extend=extend, lead=who)
            assert (refusal.value.status, str(refusal.value)) == (409, message)
        assert BatchReview.objects.get().decision == ("extend" if first else "close")

    @pytest.mark.parametrize("preview_state", ["none", "missing", "failed"])
    def test_extending_needs_candidates_that_can_be_judged(self, preview_state: str) -> None:
        batch = finished_batch()
        if preview_state != "none":
            error = "black" if preview_state == "failed" else ""
            moment = {"preview_state": preview_state, "preview": "", "preview_error": error}
            CandidateFactory(query=batch.query, rank=21, **{f"moment__{name}": value for name, value in moment.items()})
        with pytest.raises(NothingBeyond, match="can only be closed"):
            batch_review(batch=batch, extend=True, lead=lead(batch.project))
        review = batch_review(batch=batch, extend=False, lead=lead(batch.project))
        assert (review.decision, review.suggestion) == ("close", "close")

    @pytest.mark.parametrize("values", [{}, {"number": 2, "state": "done"}])
    def test_an_open_or_a_second_batch_is_refused(self, values: dict[str, object]) -> None:
        batch = BatchFactory(**values)
        with pytest.raises(NotReviewable):
            batch_review(batch=batch, extend=True, lead=lead(batch.project))

    def test_the_queue_holds_finished_first_batches_oldest_first(self) -> None:
        project = ProjectFactory()
        later, sooner = (BatchFactory(query__project=project, state="done", done_at=NOW + n * MINUTES) for n in (2, 1))
        BatchFactory(query__project=project)
        BatchFactory(query__project=project, number=2, state="done")
        BatchFactory(query__project=project, query__is_placeholder=True, state="done")
        BatchFactory(state="done")
        assert list(review_queue(project)) == [sooner, later]


class TestAutomaticExtension:
    @pytest.mark.parametrize(("from_mean", "decision"), [(2.0, "extend"), (2.5, "close")])
    def test_the_rule_decides_when_it_is_turned_on(self, from_mean: float, decision: str, messages: Messages) -> None:
        batch = BatchFactory(pairs=20)
        candidates(batch.query, range(21, 23))
        policy_publish(project=batch.project, actor=None, extend_automatically=True, extend_from_mean=from_mean)
        with messages():
            judge_round(batch, [2] * 20, [2] * 20)
        review = BatchReview.objects.get(batch=batch)
        assert (review.decision, review.suggestion, review.decided_by) == (decision, decision, None)
        assert review.reason.startswith("Automatic. The last 5 settled pairs average 2.00")
        assert batch.query.batches.filter(number=2).exists() == (decision == "extend")
        assert AuditEvent.objects.get(action=f"batch.{decision}").actor is None
        with pytest.raises(AlreadyReviewed, match="The automatic rule"):
            batch_review(batch=batch, extend=True, lead=lead(batch.project))

    @pytest.mark.parametrize(("number", "is_on"), [(1, False), (2, True)])
    def test_it_is_off_by_default_and_for_first_batches(self, number: int, is_on: bool) -> None:
        batch = BatchFactory(number=number)
        if is_on:
            policy_publish(project=batch.project, actor=None, extend_automatically=True)
        judge_round(batch, [2, 2], [2, 2])
        assert (batch.state, BatchReview.objects.exists()) == ("done", False)


class TestExtend:
    @pytest.mark.parametrize(("extend", "n_batches"), [(True, 1), (False, 0)])
    def test_once_where_a_lead_extended_it(self, extend: bool, n_batches: int) -> None:
        batch = finished_batch(pairs=20, beyond=1)
        batch_review(batch=batch, extend=extend, lead=lead(batch.project))
        batches_sweep()
        assert batch_extend(batch_id=batch.pk) == batch_extend(batch_id=batch.pk)
        assert batch.query.batches.filter(number=2).count() == n_batches

    def test_the_sweep_leaves_what_cannot_be_opened_yet(self) -> None:
        batch = finished_batch()
        BatchReview.objects.create(batch=batch, decision="extend", suggestion="extend")
        moment = MomentFactory(preview_state="missing", preview="")
        CandidateFactory(query=batch.query, rank=21, moment=moment)
        with CaptureQueriesContext(connection) as capture:
            batches_extend(project_id=batch.project_id)
        assert len(capture) == 1
        Moment.objects.filter(pk=moment.pk).update(preview_state="ready", preview="a.gif")
        batches_extend(project_id=batch.project_id)
        assert Batch.objects.filter(query=batch.query, number=2).count() == 1

    def test_many_are_opened_some_at_a_time(self, messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "EXTENDED_AT_ONCE", 2)
        for batch in [finished_batch(beyond=1) for _ in range(5)]:
            BatchReview.objects.create(batch=batch, decision="extend", suggestion="extend")
        batches_extend()  # nothing is sent
        assert Batch.objects.filter(number=2).count() == 2
        with messages():
            batches_extend()
        assert Batch.objects.filter(number=2).count() == 5


class TestSweep:
    """In these tests nothing is sent, as if every message had been lost."""

    def test_rounds_that_can_be_decided(self) -> None:
        batch = BatchFactory()
        judge(batch, [0, 1])
        judge(batch, [4, 1])
        batches_sweep()
        assert outcomes(batch) == [("escalated", None), ("settled", 1)]
        judge(batch, [4])
        judge(batch, [3])
        batches_sweep()
        assert outcomes(batch) == [("settled", 4), ("settled", 1)]
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_a_round_graded_in_part_waits_while_somebody_holds_the_rest(self) -> None:
        batch = BatchFactory()
        for assignment in [take(batch), take(batch)]:
            grade(assignment, [3])
            give_back(assignment)
        holder = take(batch)
        batches_sweep()
        assert outcomes(batch) == [("open", None)] * 2
        give_back(holder)
        batches_sweep()
        assert outcomes(batch) == [("settled", 3), ("open", None)]
