"""Giving a grade, changing it, and saying something about it."""

import pytest

from accounts.models import Membership, User
from judging.exceptions import JudgingError, LeaseLost, NotAnnotator, NotAssigned, PairWithdrawn
from judging.guidelines.services import guideline_publish, policy_publish
from judging.models import Assignment, Flag, Judgment, JudgmentChange
from judging.work.rules import form_key
from judging.work.services.judgments import WORDS
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, JudgmentFactory, triggers_asleep
from tests.judging.play import finish, flag, give, grade, grade_of, key_of, next_pair, pairs_in_order, pairs_of, take
from tests.judging.work.acts import State, assignment_with, minute, withdraw

pytestmark = pytest.mark.django_db


class TestSubmit:
    @pytest.mark.parametrize("value", range(5))
    def test_grade_is_saved_with_its_versions(self, value: int) -> None:
        batch = BatchFactory()
        guideline = guideline_publish(project=batch.project, actor=None, body="two", levels=["a"] * 5)
        policy = policy_publish(project=batch.project, actor=None, lease_minutes=30)
        assignment = take(batch)
        give(assignment, pairs_of(batch)[0], value, now=minute(3))
        judgment = Judgment.objects.get()
        assert (judgment.grade, judgment.annotator, judgment.assignment) == (value, assignment.annotator, assignment)
        assert (judgment.round, judgment.seat, judgment.occurrence, judgment.revision) == (1, 1, 0, 0)
        assert (judgment.guideline, judgment.policy, judgment.source) == (guideline, policy, Judgment.Source.PERSON)
        assert (judgment.created_at, guideline.version, policy.version) == (minute(3), 2, 2)

    def test_a_program_is_called_one(self) -> None:
        assignment = AssignmentFactory()
        User.objects.filter(pk=assignment.annotator_id).update(is_simulated=True)
        give(assignment, pairs_of(assignment.batch)[0], 1)
        assert Judgment.objects.get().source == Judgment.Source.SIMULATED

    @pytest.mark.parametrize("value", [-1, 5])
    def test_grade_out_of_range(self, value: int) -> None:
        assignment = AssignmentFactory()
        with pytest.raises(ValueError, match="0 to 4"):
            give(assignment, pairs_of(assignment.batch)[0], value)
        assert not Judgment.objects.exists()

    def test_pair_of_another_batch(self) -> None:
        assignment, other = AssignmentFactory(), BatchFactory()
        with pytest.raises(NotAssigned) as refusal:
            give(assignment, pairs_of(other)[0], 1)
        assert refusal.value.status == 404

    def test_a_pair_in_somebody_elses_hands(self) -> None:
        assignment = AssignmentFactory()
        other = AssignmentFactory(batch=BatchFactory(query__project=assignment.project))
        with pytest.raises(NotAssigned):
            give(assignment, pairs_of(other.batch)[0], 1)
        assert not Judgment.objects.exists()

    @pytest.mark.parametrize("role", [Membership.Role.LEAD, None])
    def test_who_is_no_annotator_any_more(self, role: str | None) -> None:
        assignment = AssignmentFactory()
        member = Membership.objects.filter(user=assignment.annotator)
        refusal: type[JudgingError] = NotAssigned
        if role is None:
            member.delete()
        else:
            member.update(role=role, number=None, standing="")
            refusal = NotAnnotator
        with pytest.raises(refusal):
            give(assignment, pairs_of(assignment.batch)[0], 1)
        assert not Judgment.objects.exists()

    def test_withdrawn_pair(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        withdraw(pair)
        with pytest.raises(PairWithdrawn) as refusal:
            give(assignment, pair, 1)
        assert (refusal.value.status, Judgment.objects.exists()) == (409, False)

    @pytest.mark.parametrize("state", [State.FINISHED, State.LAPSED, State.RETURNED])
    def test_ended_assignment(self, state: str) -> None:
        assignment = AssignmentFactory(state=state)
        words = {"finished": "final", "lapsed": "run out", "returned": "given this batch back"}
        with pytest.raises(LeaseLost, match=words[state]) as refusal:
            give(assignment, pairs_of(assignment.batch)[0], 1)
        assert refusal.value.status == 409

    def test_lease_ends_at_its_instant(self) -> None:
        assignment = AssignmentFactory()
        one, other = pairs_of(assignment.batch)
        with pytest.raises(LeaseLost):
            give(assignment, one, 1, now=assignment.expires_at)
        give(assignment, other, 1, now=assignment.expires_at - MINUTES / 60)
        assert Judgment.objects.get().pair == other

    def test_a_slot_taken_by_somebody_else_is_a_named_refusal(self) -> None:
        """The unique constraint speaks last: somebody was at this seat before, and the row was not looked for."""
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        other = AssignmentFactory(batch=assignment.batch, seat=2)
        JudgmentFactory(assignment=other, pair=pair, annotator=other.annotator)
        Assignment.objects.filter(pk=other.pk).update(state=State.LAPSED, ended_at=NOW)
        with triggers_asleep():
            Assignment.objects.filter(pk=assignment.pk).update(seat=2)
        with pytest.raises(JudgingError, match="graded already"):
            give(assignment, pair, 1)
        assert Judgment.objects.get().assignment == other

    def test_positions_and_what_was_given_just_before(self) -> None:
        """Given out of the order shown, and changed in between: what counts is the order in time."""
        assignment = assignment_with(4)
        first, second, third, fourth = pairs_in_order(assignment)
        give(assignment, third, 4)
        give(assignment, first, 0)
        give(assignment, third, 2)
        give(assignment, fourth, 3)
        give(assignment, second, 1)
        rows = {j.pair_id: (j.position, j.previous_grade) for j in Judgment.objects.all()}
        assert rows == {third.pk: (3, None), first.pk: (1, 4), fourth.pk: (4, 0), second.pk: (2, 3)}

    def test_previous_is_the_grade_that_stood_then(self) -> None:
        assignment = assignment_with(3)
        first, second, third = pairs_in_order(assignment)
        give(assignment, first, 4)
        give(assignment, first, 2)
        give(assignment, second, 1)
        give(assignment, second, 0)
        give(assignment, third, 1)
        give(assignment, first, 3)
        assert [j.previous_grade for j in Judgment.objects.order_by("position")] == [None, 2, 0]

    def test_it_starts_anew_with_each_assignment(self) -> None:
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        assignment = take(batch)
        grade(assignment, [4, 4])
        finish(assignment)
        again = take(batch)
        grade(again, [3, 3])
        finish(again)
        next_one = take(other, assignment.annotator)
        give(next_one, pairs_in_order(next_one)[1], 1)
        judgment = Judgment.objects.get(assignment=next_one)
        assert (judgment.position, judgment.previous_grade) == (2, None)

    def test_the_answer_shows_the_next_pair_then_those_left_out_then_the_last_look(self) -> None:
        assignment = assignment_with(4)
        pairs = pairs_in_order(assignment)
        flag(assignment, pairs[2])
        answers = [give(assignment, pairs[index], 1) for index in (1, 3, 0)]
        assert [next_pair(answer) for answer in answers] == [pairs[3].pk, pairs[0].pk, None]
        assert answers[-1].assignment.answered == 4


class TestChange:
    def test_history_is_saved_with_its_keys(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        keys = []
        for n, value in enumerate((1, 4, 4, 2)):
            keys.append(key_of(assignment, pair))
            give(assignment, pair, value, key=keys[-1], now=minute(n))
        judgment = Judgment.objects.get()
        assert (judgment.grade, judgment.revision, judgment.uuid, judgment.created_at) == (2, 2, keys[0], NOW)
        steps = judgment.changes.values_list("from_grade", "to_grade", "uuid", "changed_at")
        assert list(steps) == [(1, 4, keys[1], minute(1)), (4, 2, keys[3], minute(3))]
        assert keys[2] == keys[3]  # giving the same grade again is no change

    def test_keys_follow_from_what_is_shown(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        for n_answers, value in enumerate((1, 4, 0)):
            key = form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=n_answers)
            assert key_of(assignment, pair) == key
            give(assignment, pair, value, key=key)

    def test_without_a_key_it_replaces_what_is_there(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        key = key_of(assignment, pair)
        give(assignment, pair, 1)
        give(assignment, pair, 4)
        assert Judgment.objects.get().uuid == key
        assert JudgmentChange.objects.get().uuid == form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=1)

    def test_the_versions_are_those_of_the_last_grade(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        give(assignment, pair, 1)
        policy = policy_publish(project=assignment.project, actor=None, lease_minutes=30)
        guideline = guideline_publish(project=assignment.project, actor=None, body="two", levels=["a"] * 5)
        give(assignment, pair, 2)
        judgment = Judgment.objects.get()
        assert (judgment.policy, judgment.guideline) == (policy, guideline)

    def test_a_change_leaves_position_and_previous_grade(self) -> None:
        assignment = AssignmentFactory()
        first, second = pairs_in_order(assignment)
        for pair, value in ((second, 4), (first, 0), (second, 1)):
            give(assignment, pair, value)
        judgment = Judgment.objects.get(pair=second)
        assert (judgment.position, judgment.previous_grade) == (2, None)

    def test_final_with_the_assignment(self) -> None:
        assignment = AssignmentFactory()
        grade(assignment, [1, 1])
        finish(assignment)
        with pytest.raises(LeaseLost):
            give(assignment, pairs_of(assignment.batch)[0], 4)
        assert grade_of(assignment, pairs_of(assignment.batch)[0]) == 1


class TestComment:
    def test_saved_until_it_is_replaced(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        comments = []
        for value, comment in ((1, "dark"), (2, None), (2, "very dark"), (3, "")):
            give(assignment, pair, value, comment=comment)
            comments.append(Judgment.objects.get().comment)
        assert comments == ["dark", "dark", "very dark", ""]

    def test_none_at_first_is_empty(self) -> None:
        assignment = AssignmentFactory()
        give(assignment, pairs_of(assignment.batch)[0], 1)
        assert Judgment.objects.get().comment == ""

    def test_a_longer_one_is_cut(self) -> None:
        assignment = AssignmentFactory()
        one, other = pairs_of(assignment.batch)
        give(assignment, one, 1, comment="x" * (WORDS + 1))
        give(assignment, one, 2, comment="y" * (WORDS + 1))
        flag(assignment, other, comment="z" * (WORDS + 1))
        assert (Judgment.objects.get().comment, Flag.objects.get().comment) == ("y" * WORDS, "z" * WORDS)
