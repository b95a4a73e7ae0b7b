"""Finishing a batch, giving it back, and what flags do when they end."""

import pytest

from judging.exceptions import AssignmentIncomplete, LeaseLost
from judging.models import Assignment, Pair
from judging.work.services.assignments import assignments_sweep
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import flag_withdraw
from tests.conftest import Messages
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, MembershipFactory, ProjectFactory, annotator
from tests.judging.play import asked, finish, flag, give, give_back, grade, judge, judge_round, outcomes, pairs_of, take
from tests.judging.work.acts import LATE, State, batches, free_seats_of, state_of, turns

pytestmark = pytest.mark.django_db


class TestFinish:
    @pytest.mark.parametrize(("given", "words"), [([], "2 pairs still need"), ([1], "One pair still needs")])
    def test_incomplete_is_refused(self, given: list[int], words: str) -> None:
        held = AssignmentFactory()
        grade(held, given)
        with pytest.raises(AssignmentIncomplete, match=words):
            finish(held)
        assert state_of(held) == State.OPEN

    def test_grades_are_final_and_the_batch_is_decided(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=3)
        with messages():
            judge(batch, [1, 0, 3])
        assert outcomes(batch) == [("open", None)] * 3
        with messages():
            judge(batch, [2, 4, 3])
        assert outcomes(batch) == [("settled", 2), ("escalated", None), ("settled", 3)]
        batch.refresh_from_db()
        assert (batch.state, batch.round, batch.free_seats, batch.begun) == ("open", 2, 2, False)

    def test_a_second_press_changes_nothing(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=1)
        held = judge(batch, [1])
        with messages() as sent:
            assert finish(held, now=NOW + MINUTES) is False
        held.refresh_from_db()
        assert (held.ended_at, sent) == (NOW, [])

    def test_too_late(self) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        with pytest.raises(LeaseLost):
            finish(held, now=LATE)
        assignments_sweep(now=LATE)
        assert finish(held) is False
        assert state_of(held) == State.LAPSED

    def test_withdrawn_pairs_need_no_grade(self) -> None:
        held = AssignmentFactory()
        withdrawn = pairs_of(held.batch)[1]
        grade(held, [1])
        Pair.objects.filter(pk=withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        assert finish(held)
        assert state_of(held) == State.FINISHED

    def test_a_flag_stands_for_a_grade(self) -> None:
        held = AssignmentFactory()
        graded, flagged = pairs_of(held.batch)
        give(held, graded, 1)
        flag(held, flagged)
        assert finish(held)

    def test_a_flag_taken_back_asks_for_a_grade_again(self) -> None:
        held = AssignmentFactory()
        graded, flagged = pairs_of(held.batch)
        give(held, graded, 1)
        flag(held, flagged)
        flag_withdraw(annotator=held.annotator, pair_uuid=flagged.uuid, now=NOW)
        with pytest.raises(AssignmentIncomplete, match="One pair"):
            finish(held)

    def test_only_what_one_holds_in_this_project(self) -> None:
        held, elsewhere = AssignmentFactory(), ProjectFactory()
        grade(held, [1, 1])
        MembershipFactory(project=elsewhere, user=held.annotator)
        elsewhere_too = AssignmentFactory(batch__query__project=elsewhere, annotator=held.annotator)
        grade(elsewhere_too, [1])
        assert finish(held)
        assert (state_of(held), state_of(elsewhere_too)) == (State.FINISHED, State.OPEN)


class TestFlagged:
    """What becomes of a pair that somebody cannot judge, once their assignment has ended."""

    def end_with_flag(self, held: Assignment) -> None:
        """Flag the first pair of the batch, grade the rest 2 and finish."""
        flagged, *rest = pairs_of(held.batch)
        flag(held, flagged)
        for pair in rest:
            give(held, pair, 2)
        finish(held)

    def test_one_flag_needs_a_third_person_for_that_seat(self, messages: Messages) -> None:
        batch = BatchFactory()
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
            grade(second, [3, 2])
            finish(second)
        assert (outcomes(batch)[0], free_seats_of(batch)) == (("open", None), 1)
        assert turns(batch.project, [first.annotator, second.annotator]) == [None, None]
        third = take(batch)
        assert (third.seat, asked(third)) == (first.seat, pairs_of(batch)[:1])
        with messages():
            grade(third, [3])
            finish(third)
        assert outcomes(batch) == [("settled", 3), ("settled", 2)]

    def test_two_flags_withdraw(self, messages: Messages) -> None:
        batch = BatchFactory()
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
        assert outcomes(batch)[0] == ("open", None)
        with messages():
            self.end_with_flag(second)
        assert outcomes(batch) == [("withdrawn", None), ("settled", 2)]
        assert pairs_of(batch)[0].reason == "flagged_twice"
        batch.refresh_from_db()
        assert (batch.state, batch.free_seats) == ("done", 0)

    def test_a_flag_counts_when_its_assignment_has_ended(self) -> None:
        batch = BatchFactory()
        held = [take(batch), take(batch)]
        for assignment in held:
            flag(assignment, pairs_of(batch)[0])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch)[0] == ("open", None)
        give_back(held[0])
        assert outcomes(batch)[0] == ("open", None)
        assignments_sweep(now=LATE)
        assert outcomes(batch) == [("withdrawn", None), ("open", None)]
        assert free_seats_of(batch) == 2

    def test_a_flag_taken_back_does_not_count(self) -> None:
        batch = BatchFactory(pairs=1)
        (pair,) = pairs_of(batch)
        self.end_with_flag(take(batch))
        held = take(batch)
        flag(held, pair)
        flag_withdraw(annotator=held.annotator, pair_uuid=pair.uuid, now=NOW)
        give(held, pair, 1)
        finish(held)
        assert outcomes(batch) == [("open", None)]

    def test_two_people_who_flag_the_same_seat_withdraw_it_while_a_third_holds_the_other(
        self, messages: Messages
    ) -> None:
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

    def test_escalated_pairs_are_withdrawn_too(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=1)
        judge_round(batch, [0], [4])
        with messages():
            self.end_with_flag(take(batch))
            self.end_with_flag(take(batch))
        batch.refresh_from_db()
        assert (outcomes(batch), batch.state) == ([("withdrawn", None)], "done")


class TestReturn:
    def test_grades_are_final_and_the_rest_is_free_at_once(self) -> None:
        batch = BatchFactory()
        held = take(batch)
        grade(held, [1])
        assert give_back(held, now=NOW + MINUTES)
        held.refresh_from_db()
        assert (held.state, held.ended_at) == (State.RETURNED, NOW + MINUTES)
        full, rest = take(batch), take(batch)
        assert (full.seat, asked(full)) == (2, pairs_of(batch))
        assert (rest.seat, asked(rest)) == (held.seat, pairs_of(batch)[1:])
        with pytest.raises(LeaseLost, match="given this batch back"):
            give(held, pairs_of(batch)[0], 4)

    def test_it_comes_last_for_that_person_but_first_for_others(self) -> None:
        project = ProjectFactory()
        person = annotator(project)
        first, second = batches(project, 2)
        give_back(take(first, person))
        other = take(first, annotator(project))
        assert other.seat == 1
        give_back(other)
        held = take(second, person)
        grade(held, [1, 1])
        finish(held)
        take(first, person)

    def test_what_one_graded_before_giving_it_back_is_not_asked_again(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        held = take(batch, person)
        grade(held, [1])
        give_back(held)
        again = take(batch, person)
        assert (again.seat, asked(again)) == (held.seat, pairs_of(batch)[1:])

    def test_with_everything_graded_it_is_like_finishing(self, messages: Messages) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        held = take(batch)
        grade(held, [1, 1])
        with messages():
            give_back(held)
        assert outcomes(batch) == [("settled", 1)] * 2

    def test_a_second_press_finds_nothing(self) -> None:
        held = AssignmentFactory()
        assert give_back(held)
        assert give_back(held) is False
        assert finish(held) is False
        assert state_of(held) == State.RETURNED
