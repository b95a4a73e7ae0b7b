"""Giving a grade, changing it, and saying something about it."""

import pytest

from accounts.models import Membership, User
from judging.exceptions import JudgingError, LeaseLost, NotAnnotator, NotAssigned, PairWithdrawn
from judging.models import Assignment, Flag, Judgment, JudgmentChange
from judging.projects.policies import guideline_publish, policy_publish
from judging.work.rules import form_key
from judging.work.services.judgments import WORDS
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, JudgmentFactory, triggers_asleep
from tests.judging.play import finish, flag, give, grade, grade_of, key_of, next_pair, pairs_of, shown, take
from tests.judging.work.acts import State, held_with, minute, withdraw

pytestmark = pytest.mark.django_db


class TestSubmit:
    @pytest.mark.parametrize("value", range(5))
    def test_grade_is_stored_with_its_versions(self, value: int) -> None:
        batch = BatchFactory()
        guideline = guideline_publish(project=batch.project, actor=None, body="two", levels=["a"] * 5)
        policy = policy_publish(project=batch.project, actor=None, lease_minutes=30)
        held = take(batch)
        give(held, pairs_of(batch)[0], value, now=minute(3))
        given = Judgment.objects.get()
        assert (given.grade, given.annotator, given.assignment) == (value, held.annotator, held)
        assert (given.round, given.seat, given.occurrence, given.revision) == (1, 1, 0, 0)
        assert (given.guideline, given.policy, given.source) == (guideline, policy, Judgment.Source.PERSON)
        assert (given.created_at, guideline.version, policy.version) == (minute(3), 2, 2)

    def test_a_program_is_called_one(self) -> None:
        held = AssignmentFactory()
        User.objects.filter(pk=held.annotator_id).update(is_simulated=True)
        give(held, pairs_of(held.batch)[0], 1)
        assert Judgment.objects.get().source == Judgment.Source.SIMULATED

    @pytest.mark.parametrize("value", [-1, 5])
    def test_grade_out_of_range(self, value: int) -> None:
        held = AssignmentFactory()
        with pytest.raises(ValueError, match="0 to 4"):
            give(held, pairs_of(held.batch)[0], value)
        assert not Judgment.objects.exists()

    def test_pair_of_another_batch(self) -> None:
        held, other = AssignmentFactory(), BatchFactory()
        with pytest.raises(NotAssigned) as refusal:
            give(held, pairs_of(other)[0], 1)
        assert refusal.value.status == 404

    def test_a_pair_in_somebody_elses_hands(self) -> None:
        held = AssignmentFactory()
        other = AssignmentFactory(batch=BatchFactory(query__project=held.project))
        with pytest.raises(NotAssigned):
            give(held, pairs_of(other.batch)[0], 1)
        assert not Judgment.objects.exists()

    @pytest.mark.parametrize("role", [Membership.Role.LEAD, None])
    def test_who_is_no_annotator_any_more(self, role: str | None) -> None:
        held = AssignmentFactory()
        member = Membership.objects.filter(user=held.annotator)
        refusal: type[JudgingError] = NotAssigned
        if role is None:
            member.delete()
        else:
            member.update(role=role, number=None, standing="")
            refusal = NotAnnotator
        with pytest.raises(refusal):
            give(held, pairs_of(held.batch)[0], 1)
        assert not Judgment.objects.exists()

    def test_withdrawn_pair(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        withdraw(pair)
        with pytest.raises(PairWithdrawn) as refusal:
            give(held, pair, 1)
        assert (refusal.value.status, Judgment.objects.exists()) == (409, False)

    @pytest.mark.parametrize("state", [State.FINISHED, State.LAPSED, State.RETURNED])
    def test_ended_assignment(self, state: str) -> None:
        held = AssignmentFactory(state=state)
        words = {"finished": "final", "lapsed": "run out", "returned": "given this batch back"}
        with pytest.raises(LeaseLost, match=words[state]) as refusal:
            give(held, pairs_of(held.batch)[0], 1)
        assert refusal.value.status == 409

    def test_lease_ends_at_its_instant(self) -> None:
        held = AssignmentFactory()
        one, other = pairs_of(held.batch)
        with pytest.raises(LeaseLost):
            give(held, one, 1, now=held.expires_at)
        give(held, other, 1, now=held.expires_at - MINUTES / 60)
        assert Judgment.objects.get().pair == other

    def test_a_place_taken_by_somebody_else_is_a_named_refusal(self) -> None:
        """The unique constraint speaks last: somebody was at this seat before, and the row was not looked for."""
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        other = AssignmentFactory(batch=held.batch, seat=2)
        JudgmentFactory(assignment=other, pair=pair, annotator=other.annotator)
        Assignment.objects.filter(pk=other.pk).update(state=State.LAPSED, ended_at=NOW)
        with triggers_asleep():
            Assignment.objects.filter(pk=held.pk).update(seat=2)
        with pytest.raises(JudgingError, match="graded already"):
            give(held, pair, 1)
        assert Judgment.objects.get().assignment == other

    def test_positions_and_what_was_given_just_before(self) -> None:
        """Given out of the order shown, and changed in between: what counts is the order in time."""
        held = held_with(4)
        first, second, third, fourth = shown(held)
        give(held, third, 4)
        give(held, first, 0)
        give(held, third, 2)
        give(held, fourth, 3)
        give(held, second, 1)
        rows = {j.pair_id: (j.position, j.previous_grade) for j in Judgment.objects.all()}
        assert rows == {third.pk: (3, None), first.pk: (1, 4), fourth.pk: (4, 0), second.pk: (2, 3)}

    def test_previous_is_the_grade_that_stood_then(self) -> None:
        held = held_with(3)
        first, second, third = shown(held)
        give(held, first, 4)
        give(held, first, 2)
        give(held, second, 1)
        give(held, second, 0)
        give(held, third, 1)
        give(held, first, 3)
        assert [j.previous_grade for j in Judgment.objects.order_by("position")] == [None, 2, 0]

    def test_it_starts_anew_with_each_assignment(self) -> None:
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        held = take(batch)
        grade(held, [4, 4])
        finish(held)
        again = take(batch)
        grade(again, [3, 3])
        finish(again)
        next_one = take(other, held.annotator)
        give(next_one, shown(next_one)[1], 1)
        given = Judgment.objects.get(assignment=next_one)
        assert (given.position, given.previous_grade) == (2, None)

    def test_the_answer_shows_the_next_pair_then_those_left_out_then_the_last_look(self) -> None:
        held = held_with(4)
        pairs = shown(held)
        flag(held, pairs[2])
        answers = [give(held, pairs[place], 1) for place in (1, 3, 0)]
        assert [next_pair(answer) for answer in answers] == [pairs[3].pk, pairs[0].pk, None]
        assert answers[-1].held.answered == 4


class TestChange:
    def test_history_is_kept_with_its_keys(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        keys = []
        for n, value in enumerate((1, 4, 4, 2)):
            keys.append(key_of(held, pair))
            give(held, pair, value, key=keys[-1], now=minute(n))
        given = Judgment.objects.get()
        assert (given.grade, given.revision, given.uuid, given.created_at) == (2, 2, keys[0], NOW)
        steps = given.changes.values_list("from_grade", "to_grade", "uuid", "changed_at")
        assert list(steps) == [(1, 4, keys[1], minute(1)), (4, 2, keys[3], minute(3))]
        assert keys[2] == keys[3]  # giving the same grade again is no change

    def test_keys_follow_from_what_is_shown(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        for given, value in enumerate((1, 4, 0)):
            key = form_key(assignment=held.uuid, pair=pair.uuid, given=given)
            assert key_of(held, pair) == key
            give(held, pair, value, key=key)

    def test_without_a_key_it_replaces_what_is_there(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        key = key_of(held, pair)
        give(held, pair, 1)
        give(held, pair, 4)
        assert Judgment.objects.get().uuid == key
        assert JudgmentChange.objects.get().uuid == form_key(assignment=held.uuid, pair=pair.uuid, given=1)

    def test_the_versions_are_those_of_the_last_grade(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        give(held, pair, 1)
        policy = policy_publish(project=held.project, actor=None, lease_minutes=30)
        guideline = guideline_publish(project=held.project, actor=None, body="two", levels=["a"] * 5)
        give(held, pair, 2)
        given = Judgment.objects.get()
        assert (given.policy, given.guideline) == (policy, guideline)

    def test_a_change_leaves_position_and_previous_grade(self) -> None:
        held = AssignmentFactory()
        first, second = shown(held)
        for pair, value in ((second, 4), (first, 0), (second, 1)):
            give(held, pair, value)
        given = Judgment.objects.get(pair=second)
        assert (given.position, given.previous_grade) == (2, None)

    def test_final_with_the_assignment(self) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        finish(held)
        with pytest.raises(LeaseLost):
            give(held, pairs_of(held.batch)[0], 4)
        assert grade_of(held, pairs_of(held.batch)[0]) == 1


class TestComment:
    def test_kept_until_it_is_replaced(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        said = []
        for value, comment in ((1, "dark"), (2, None), (2, "very dark"), (3, "")):
            give(held, pair, value, comment=comment)
            said.append(Judgment.objects.get().comment)
        assert said == ["dark", "dark", "very dark", ""]

    def test_none_at_first_is_empty(self) -> None:
        held = AssignmentFactory()
        give(held, pairs_of(held.batch)[0], 1)
        assert Judgment.objects.get().comment == ""

    def test_a_longer_one_is_cut(self) -> None:
        held = AssignmentFactory()
        one, other = pairs_of(held.batch)
        give(held, one, 1, comment="x" * (WORDS + 1))
        give(held, one, 2, comment="y" * (WORDS + 1))
        flag(held, other, comment="z" * (WORDS + 1))
        assert (Judgment.objects.get().comment, Flag.objects.get().comment) == ("y" * WORDS, "z" * WORDS)
