"""A grade meets another grade, a flag, or the end of its assignment."""

from functools import partial

import pytest

from judging.exceptions import FormStale, LeaseLost
from judging.models import Flag, Judgment, JudgmentChange
from judging.work.services import assignments, judgments
from judging.work.services.judgments import Answer
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory
from tests.judging.concurrency.meeting import (
    AROUND_THE_END,
    CHANGED,
    ENDED,
    GRADED,
    CallSite,
    Meet,
    state_of,
    submitting,
    sweeping,
)
from tests.judging.play import finish, flag, give, give_back, grade, key_of, next_pair, pairs_in_order, pairs_of

pytestmark = pytest.mark.django_db(transaction=True)


class TestSubmit:
    """One form, or two of one pair, from two tabs at the same instant."""

    def test_the_same_form_twice_is_one_judgment(self, meet: Meet) -> None:
        assignment = AssignmentFactory(batch=BatchFactory(pairs=3))
        key = key_of(assignment, pairs_of(assignment.batch)[0])
        work = submitting(assignment, 1, key=key)
        first, second = meet(GRADED, work, work, until_it_ends=True)
        assert next_pair(first) == next_pair(second) == pairs_in_order(assignment)[1].pk
        assert (Judgment.objects.get().uuid, JudgmentChange.objects.exists()) == (key, False)

    def test_another_grade_is_refused(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        key = key_of(assignment, pairs_of(assignment.batch)[0])
        works = [submitting(assignment, value, key=key) for value in (1, 3)]
        refusal, second = meet(GRADED, *works, until_it_ends=True)
        assert (type(refusal), type(second)) == (FormStale, Answer)
        assert (Judgment.objects.get().grade, JudgmentChange.objects.exists()) == (3, False)

    def test_the_same_change_twice_is_one(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        give(assignment, pair, 1)
        work = submitting(assignment, 3, key=key_of(assignment, pair))
        first, second = meet(CHANGED, work, work)
        assert next_pair(first) == next_pair(second)
        assert list(JudgmentChange.objects.values_list("from_grade", "to_grade")) == [(1, 3)]

    def test_another_change_is_refused(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        give(assignment, pair, 1)
        key = key_of(assignment, pair)
        _, refusal = meet(CHANGED, *(submitting(assignment, value, key=key) for value in (3, 0)))
        assert type(refusal) is FormStale
        assert Judgment.objects.get().grade == 3

    def test_without_keys_the_later_is_a_change_of_the_earlier(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        meet(GRADED, submitting(assignment, 1), submitting(assignment, 3), until_it_ends=True)
        assert Judgment.objects.get().grade == 1
        assert list(JudgmentChange.objects.values_list("from_grade", "to_grade")) == [(3, 1)]

    def test_two_pairs_know_of_each_other(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        second = submitting(assignment, 3, index=1, now=NOW + MINUTES)
        first = submitting(assignment, 1, now=NOW + 2 * MINUTES)
        meet(GRADED, first, second, until_it_ends=True)
        assert list(Judgment.objects.order_by("id").values_list("grade", "previous_grade")) == [(3, None), (1, 3)]

    def test_a_grade_and_a_flag_for_one_pair(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        flagging = partial(flag, assignment, pair, now=NOW + MINUTES)
        refusal, flagged = meet(GRADED, submitting(assignment, 1), flagging, until_it_ends=True)
        assert (type(refusal), type(flagged)) == (FormStale, Answer)
        assert (Judgment.objects.exists(), Flag.objects.count()) == (False, 1)

    def test_the_same_flag_twice_is_one(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        work = partial(flag, assignment, pairs_of(assignment.batch)[0])
        meet((judgments, "_lease_renew"), work, work)
        assert Flag.objects.count() == 1

    def test_a_sweep_between_look_and_write_refuses_the_grade(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        late = submitting(assignment, 1, now=NOW + 19 * MINUTES)
        refusal, ended = meet(GRADED, late, sweeping, until_it_ends=True)
        assert (type(refusal), ended, state_of(assignment)) == (LeaseLost, 1, "lapsed")
        assert not Judgment.objects.exists()

    def test_a_sweep_does_not_take_the_batch_out_of_a_change(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        give(assignment, pairs_of(assignment.batch)[0], 3)
        answer, ended = meet(CHANGED, submitting(assignment, 1, now=NOW + 19 * MINUTES), sweeping)
        assert (type(answer), ended) == (Answer, 0)
        assignment.refresh_from_db()
        assert (assignment.state, assignment.expires_at) == ("open", NOW + 39 * MINUTES)

    @AROUND_THE_END
    def test_no_grade_after_the_sweep(self, meet: Meet, call_site: CallSite) -> None:
        assignment = AssignmentFactory()
        ended, refusal = meet(call_site, sweeping, submitting(assignment, 1, now=NOW + 19 * MINUTES))
        assert (ended, type(refusal)) == (1, LeaseLost)
        assert not Judgment.objects.exists()

    @AROUND_THE_END
    def test_no_grade_after_giving_back(self, meet: Meet, call_site: CallSite) -> None:
        assignment = AssignmentFactory()
        _, refusal = meet(call_site, partial(give_back, assignment), submitting(assignment, 1))
        assert type(refusal) is LeaseLost
        assert not Judgment.objects.exists()

    def test_no_grade_into_what_was_given_back_since_the_look(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        giving_back = partial(give_back, assignment)
        refusal, returned = meet(GRADED, submitting(assignment, 1), giving_back, until_it_ends=True)
        assert (type(refusal), returned, state_of(assignment)) == (LeaseLost, True, "returned")
        assert not Judgment.objects.exists()

    @AROUND_THE_END
    def test_no_change_after_finishing(self, meet: Meet, call_site: CallSite) -> None:
        assignment = AssignmentFactory()
        grade(assignment, [1, 1])
        _, refusal = meet(call_site, partial(finish, assignment), submitting(assignment, 4))
        assert type(refusal) is LeaseLost
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1}

    def test_a_change_just_before_finishing_counts(self, meet: Meet) -> None:
        assignment = AssignmentFactory()
        grade(assignment, [1, 1])
        answer, finished = meet(CHANGED, submitting(assignment, 4), partial(finish, assignment))
        assert (type(answer), finished) == (Answer, True)
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1, 4}

    def test_a_heartbeat_meets_a_sweep(self, meet: Meet) -> None:
        """The slot is gone when the heartbeat arrives; it does not bring it back."""
        assignment = AssignmentFactory()
        beat = partial(
            assignments.assignment_renew,
            project=assignment.project,
            annotator=assignment.annotator,
            now=NOW + 19 * MINUTES,
        )
        ended, refusal = meet(ENDED, sweeping, beat)
        assert (ended, type(refusal), state_of(assignment)) == (1, LeaseLost, "lapsed")
