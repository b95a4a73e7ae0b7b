"""Finishing a batch, giving it back, and what flags do when they end."""

import pytest

from judging.exceptions import AssignmentIncomplete, LeaseLost
from judging.models import Assignment, Pair
from judging.work.services.assignments import assignments_sweep
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import flag_withdraw
from tests.conftest import Messages
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, MembershipFactory, ProjectFactory, annotator
from tests.judging.play import (
    finish,
    flag,
    give,
    give_back,
    grade,
    judge,
    judge_round,
    outcomes,
    pairs_by_rank,
    pairs_of,
    take,
)
from tests.judging.work.acts import LATE, State, batches, free_slots_of, state_of, turns

pytestmark = pytest.mark.django_db


class TestFinish:
    @pytest.mark.parametrize(("grades", "words"), [([], "2 pairs still need"), ([1], "One pair still needs")])
    def test_incomplete_is_refused(self, grades: list[int], words: str) -> None:
        assignment = AssignmentFactory()
        grade(assignment, grades)
        with pytest.raises(AssignmentIncomplete, match=words):
            finish(assignment)
        assert state_of(assignment) == State.OPEN

    def test_a_second_press_changes_nothing(self, messages: Messages) -> None:
        assignment = judge(BatchFactory(pairs=1), [1])
        with messages() as task_messages:
            assert finish(assignment, now=NOW + MINUTES) is False
        assignment.refresh_from_db()
        assert (assignment.ended_at, task_messages) == (NOW, [])

    def test_too_late(self) -> None:
        assignment = AssignmentFactory()
        grade(assignment, [1, 1])
        with pytest.raises(LeaseLost):
            finish(assignment, now=LATE)
        assignments_sweep(now=LATE)
        assert finish(assignment) is False
        assert state_of(assignment) == State.LAPSED

    def test_withdrawn_and_flagged_pairs_need_no_grade(self) -> None:
        assignment = AssignmentFactory(batch__pairs=3)
        graded, withdrawn, flagged = pairs_of(assignment.batch)
        give(assignment, graded, 1)
        Pair.objects.filter(pk=withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        flag(assignment, flagged)
        flag_withdraw(annotator=assignment.annotator, pair_uuid=flagged.uuid, now=NOW)
        with pytest.raises(AssignmentIncomplete, match="One pair"):
            finish(assignment)
        flag(assignment, flagged)
        assert finish(assignment)
        assert state_of(assignment) == State.FINISHED

    def test_only_what_one_holds_in_this_project(self) -> None:
        assignment, elsewhere = AssignmentFactory(), ProjectFactory()
        grade(assignment, [1, 1])
        MembershipFactory(project=elsewhere, user=assignment.annotator)
        elsewhere_too = AssignmentFactory(batch__query__project=elsewhere, annotator=assignment.annotator)
        grade(elsewhere_too, [1])
        assert finish(assignment)
        assert (state_of(assignment), state_of(elsewhere_too)) == (State.FINISHED, State.OPEN)


class TestFlagged:
    """Outcomes of a pair that somebody cannot judge, once their assignment has ended."""

    def end_with_flag(self, assignment: Assignment) -> None:
        """Flag the first pair of the batch, grade the rest 2 and finish."""
        flagged, *rest = pairs_by_rank(assignment)
        flag(assignment, flagged)
        for pair in rest:
            give(assignment, pair, 2)
        finish(assignment)

    def test_one_flag_needs_a_third_person_for_that_slot(self, messages: Messages) -> None:
        batch = BatchFactory()
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
            grade(second, [3, 2])
            finish(second)
        assert (outcomes(batch)[0], free_slots_of(batch)) == (("open", None), 1)
        assert turns(batch.project, [first.annotator, second.annotator]) == [None, None]
        third = take(batch)
        assert (third.slot, pairs_by_rank(third)) == (first.slot, pairs_of(batch)[:1])
        with messages():
            grade(third, [3])
            finish(third)
        assert outcomes(batch) == [("settled", 3), ("settled", 2)]

    @pytest.mark.parametrize("round_number", [1, 2])
    def test_two_flags_withdraw(self, round_number: int, messages: Messages) -> None:
        batch = BatchFactory()
        if round_number == 2:
            judge_round(batch, [0, 2], [4, 2])
        before = outcomes(batch)[0]
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
        assert outcomes(batch)[0] == before
        with messages():
            self.end_with_flag(second)
        assert outcomes(batch) == [("withdrawn", None), ("settled", 2)]
        assert pairs_of(batch)[0].reason == "flagged_twice"
        batch.refresh_from_db()
        assert (batch.state, batch.free_slots) == ("done", 0)

    def test_a_flag_counts_when_its_assignment_has_ended(self) -> None:
        batch = BatchFactory()
        assignments = [take(batch), take(batch)]
        for assignment in assignments:
            flag(assignment, pairs_of(batch)[0])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch)[0] == ("open", None)
        give_back(assignments[0])
        assert outcomes(batch)[0] == ("open", None)
        assignments_sweep(now=LATE)
        assert outcomes(batch) == [("withdrawn", None), ("open", None)]
        assert free_slots_of(batch) == 2

    def test_two_who_flag_the_same_slot_withdraw_it_while_a_third_holds_the_other(self, messages: Messages) -> None:
        """Whoever holds the pair then needs no grade for it, and the batch closes with them."""
        batch = BatchFactory(pairs=1)
        third = take(batch)
        self.end_with_flag(take(batch))
        self.end_with_flag(take(batch))
        assert outcomes(batch) == [("withdrawn", None)]
        with messages():
            assert finish(third)
        batch.refresh_from_db()
        assert batch.state == "done"


class TestReturn:
    def test_grades_are_final_and_the_rest_is_free_at_once(self) -> None:
        batch = BatchFactory()
        assignment = take(batch)
        grade(assignment, [1])
        assert give_back(assignment, now=NOW + MINUTES)
        assignment.refresh_from_db()
        assert (assignment.state, assignment.ended_at) == (State.RETURNED, NOW + MINUTES)
        full, rest = take(batch), take(batch)
        assert (full.slot, pairs_by_rank(full)) == (2, pairs_of(batch))
        assert (rest.slot, pairs_by_rank(rest)) == (assignment.slot, pairs_of(batch)[1:])
        with pytest.raises(LeaseLost, match="given this batch back"):
            give(assignment, pairs_of(batch)[0], 4)

    def test_it_comes_last_for_that_person_but_first_for_others(self) -> None:
        project = ProjectFactory()
        person = annotator(project)
        first, second = batches(project, 2)
        given_back = take(first, person)
        grade(given_back, [1])
        give_back(given_back)
        other = take(first)
        assert other.slot == 2
        judge(second, [1, 1], person)
        again = take(first, person)
        assert (again.slot, pairs_by_rank(again)) == (given_back.slot, pairs_of(first)[1:])
