"""An assignment is ended, or a batch decided, twice at the same instant."""

from functools import partial

import pytest

from judging.exceptions import AlreadyReviewed, LeaseLost, ReviewStands
from judging.models import Assignment, BatchReview, Flag
from judging.review import services
from judging.work.services import assignments, batches, judgments
from judging.work.services.judgments import Answer
from tests.factories import (
    MINUTES,
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    ProjectFactory,
    annotator,
    lead,
)
from tests.judging.concurrency.meeting import (
    AROUND_THE_END,
    CHOSEN,
    ENDED,
    LOOKED_FOR,
    CallSite,
    Meet,
    Work,
    state_of,
    sweeping,
    taking,
)
from tests.judging.play import finish, flag, give, give_back, grade, judge, outcomes, pairs_of, take

pytestmark = pytest.mark.django_db(transaction=True)


class TestFinish:
    @pytest.fixture
    def graded_assignment(self) -> Assignment:
        """A fully graded assignment; its lease ends 20 minutes from NOW."""
        assignment: Assignment = AssignmentFactory()
        grade(assignment, [1, 1])
        return assignment

    def finishing(self, assignment: Assignment) -> Work:
        return partial(finish, assignment, now=NOW + 19 * MINUTES)

    @AROUND_THE_END
    def test_a_sweep_meets_a_finish(self, meet: Meet, graded_assignment: Assignment, call_site: CallSite) -> None:
        assert meet(call_site, self.finishing(graded_assignment), sweeping) == [True, 0]
        graded_assignment.refresh_from_db()
        assert (graded_assignment.state, graded_assignment.ended_at) == ("finished", NOW + 19 * MINUTES)

    @AROUND_THE_END
    def test_a_finish_meets_a_sweep(self, meet: Meet, graded_assignment: Assignment, call_site: CallSite) -> None:
        ended, refusal = meet(call_site, sweeping, self.finishing(graded_assignment))
        assert (ended, type(refusal)) == (1, LeaseLost)
        graded_assignment.refresh_from_db()
        assert (graded_assignment.state, graded_assignment.ended_at) == ("lapsed", NOW + 20 * MINUTES)

    @AROUND_THE_END
    def test_two_sweeps(self, meet: Meet, graded_assignment: Assignment, call_site: CallSite) -> None:
        assert meet(call_site, sweeping, sweeping) == [1, 0]

    @AROUND_THE_END
    def test_two_presses(self, meet: Meet, monkeypatch: pytest.MonkeyPatch, call_site: CallSite) -> None:
        """The second is told that there was nothing to finish, and one message is sent."""
        batch = BatchFactory()
        judge(batch, [1, 1])
        assignment = take(batch)
        grade(assignment, [1, 1])
        messages: list[object] = []
        monkeypatch.setattr(assignments, "send_on_commit", lambda *message: messages.append(message))
        assert meet(call_site, self.finishing(assignment), self.finishing(assignment)) == [True, False]
        assert len(messages) == 1

    def test_one_finishes_what_another_tab_gives_back(self, meet: Meet, graded_assignment: Assignment) -> None:
        returned, refusal = meet(ENDED, partial(give_back, graded_assignment), self.finishing(graded_assignment))
        assert (returned, type(refusal), state_of(graded_assignment)) == (True, LeaseLost, "returned")

    def test_a_flag_does_not_slip_into_what_was_finished(self, meet: Meet, graded_assignment: Assignment) -> None:
        flagging = partial(flag, graded_assignment, pairs_of(graded_assignment.batch)[0])
        finished, refusal = meet(ENDED, self.finishing(graded_assignment), flagging)
        assert (finished, type(refusal), Flag.objects.exists()) == (True, LeaseLost, False)

    def test_a_flag_just_before_finishing_counts(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        flagged, other = pairs_of(assignment.batch)
        give(assignment, other, 1)
        target = (judgments, "_lease_renew")
        answer, finished = meet(target, partial(flag, assignment, flagged), partial(finish, assignment))
        assert (type(answer), finished, state_of(assignment)) == (Answer, True, "finished")

    def test_two_who_flagged_the_same_pair_finish_at_once(self, meet: Meet) -> None:
        """Whoever is second sees the other's flag: the pair is withdrawn."""
        batch = BatchFactory()
        both = [take(batch), take(batch)]
        flagged, other = pairs_of(batch)
        for assignment in both:
            flag(assignment, flagged)
            give(assignment, other, 2)
        assert meet(ENDED, *(partial(finish, assignment) for assignment in both)) == [True, True]
        assert outcomes(batch)[0] == ("withdrawn", None)
        batches.batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_two_who_finish_at_once_wake_the_task(self, meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each alone would leave it to the other."""
        batch = BatchFactory()
        both = [take(batch), take(batch)]
        for assignment in both:
            grade(assignment, [1, 1])
        messages: list[object] = []
        monkeypatch.setattr(assignments, "send_on_commit", lambda *message: messages.append(message))
        assert meet(ENDED, *(partial(finish, assignment) for assignment in both)) == [True, True]
        assert messages == [(batches.ADVANCE_TASK, batch.pk)]


class TestDecide:
    def test_one_batch_twice(self, meet: Meet) -> None:
        batch = BatchFactory()
        for slot, grades in ((1, [0, 2]), (2, [4, 2])):
            grade(AssignmentFactory(batch=batch, slot=slot), grades)
        Assignment.objects.update(state="finished", ended_at=NOW)
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assert meet((batches, "_pairs_decide"), advance, advance) == [None, None]
        assert outcomes(batch) == [("escalated", None), ("settled", 2)]
        batch.refresh_from_db()
        assert (batch.state, batch.round) == ("open", 2)

    def test_automatic_review_is_written_once(self, meet: Meet) -> None:
        batch = BatchFactory()
        batch.project.policies.update(extend_automatically=True)
        for slot in (1, 2):
            grade(AssignmentFactory(batch=batch, slot=slot), [1, 1])
        Assignment.objects.update(state="finished", ended_at=NOW)
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assert meet((services, "outlook_of"), advance, advance) == [None, None]
        assert BatchReview.objects.count() == batch.project.audit_events.count() == 1

    def test_two_leads_disagree(self, meet: Meet) -> None:
        batch = BatchFactory(state="done")
        CandidateFactory(query=batch.query, rank=21)
        one, other = lead(batch.project), lead(batch.project)
        first, second = (
            partial(services.batch_review, batch=batch, extend=extend, lead=person)
            for extend, person in ((True, one), (False, other))
        )
        review, refusal = meet((services, "outlook_of"), first, second)
        assert (review.decision, type(refusal)) == ("extend", AlreadyReviewed)
        assert str(refusal).startswith(f"{one.username} extended this query")
        assert BatchReview.objects.count() == 1

    def test_taking_back_meets_the_opening_of_the_second_batch(self, meet: Meet) -> None:
        """It waits for it, and takes the batch with it: none is left without a decision."""
        batch = BatchFactory(state="done")
        CandidateFactory(query=batch.query, rank=21)
        person = lead(batch.project)
        services.batch_review(batch=batch, extend=True, lead=person)
        opening = partial(batches.batch_extend, batch_id=batch.pk)
        undoing = partial(services.review_undo, batch=batch, lead=person)
        second_batch, undone = meet((batches, "batch_create"), opening, undoing)
        assert (second_batch.number, undone.decision) == (2, "extend")
        assert [b.awaits_review for b in batch.query.batches.all()] == [True]

    @pytest.mark.parametrize("call_site", [CHOSEN, LOOKED_FOR], ids=["chosen", "looked for"])
    def test_taking_back_meets_somebody_who_sits_down(self, meet: Meet, call_site: CallSite) -> None:
        """Either they sit and the decision stands, or they are handed nothing."""
        batch = BatchFactory(state="done")
        CandidateFactory(query=batch.query, rank=21)
        person = lead(batch.project)
        services.batch_review(batch=batch, extend=True, lead=person)
        second = batches.batch_extend(batch_id=batch.pk)
        assert second is not None
        undoing = partial(services.review_undo, batch=batch, lead=person)
        assignment, undone = meet(call_site, taking(second, annotator(batch.project)), undoing)
        if assignment is None:
            assert (undone.decision, batch.query.batches.count()) == ("extend", 1)
        else:
            assert (assignment.batch_id, type(undone)) == (second.pk, ReviewStands)

    def test_two_leads_accept_the_same_suggestions(self, meet: Meet) -> None:
        project = ProjectFactory()
        decisions = {BatchFactory(query__project=project, state="done").uuid: False for _ in range(3)}
        one, other = lead(project), lead(project)
        first, second = (
            partial(services.reviews_accept, project=project, lead=person, choices=decisions) for person in (one, other)
        )
        mine, theirs = meet((services, "_reviews_write"), first, second)
        assert (mine.closed, theirs.closed, theirs.decided_before) == (3, 0, [f"3 by {one.username}"])
        assert BatchReview.objects.count() == 3

    def test_a_second_batch_is_opened_once(self, meet: Meet) -> None:
        query = CandidateFactory(rank=21).query
        opening = partial(batches.batch_create, query=query, number=2)
        first, second = meet((batches.Pair.objects, "bulk_create"), opening, opening)
        assert first == second
        assert query.batches.get().pairs.count() == 1
