"""Grades, forms sent again, forms that are too old, comments and flags."""

from datetime import datetime
from uuid import uuid4

import pytest

from annotation.models import Membership, User
from judging.exceptions import FormStale, JudgingError, LeaseLost, NotAnnotator, NotAssigned, PairWithdrawn
from judging.models import Assignment, Flag, Judgment, JudgmentChange, Pair
from judging.rules.keys import form_key
from judging.services.assignments import assignments_sweep
from judging.services.judgments import WORDS, Answer, flag_withdraw
from judging.services.policies import guideline_publish, policy_publish
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, FlagFactory, JudgmentFactory, triggers_asleep
from tests.judging.play import (
    finish,
    flag,
    give,
    give_back,
    grade,
    grade_of,
    key_of,
    next_pair,
    pairs_of,
    shown,
    take,
)

pytestmark = pytest.mark.django_db
State = Assignment.State


def minute(n: int) -> datetime:
    return NOW + n * MINUTES


def held_with(pairs: int) -> Assignment:
    return AssignmentFactory(batch=BatchFactory(pairs=pairs))  # type: ignore[no-any-return]


def withdraw(pair: Pair) -> None:
    Pair.objects.filter(pk=pair.pk).update(state="withdrawn", reason="withdrawn_by_lead")


def unflag(held: Assignment, pair: Pair, *, now: datetime = NOW) -> Answer:
    return flag_withdraw(annotator=held.annotator, pair_uuid=pair.uuid, now=now)


def everything() -> list[object]:
    """All that a submit may write."""
    return [list(model.objects.order_by("pk").values()) for model in (Assignment, Judgment, JudgmentChange, Flag)]  # type: ignore[attr-defined]


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


class TestSentAgain:
    """The same key and the same grade: answered as the first time, with nothing written."""

    def sent_twice(self, held: Assignment, pair: Pair, value: int, between: list[tuple[Pair, int]]) -> list[Answer]:
        """The form is sent, then the others are graded, then it arrives again."""
        key = key_of(held, pair)
        first = give(held, pair, value, key=key, now=minute(1))
        for n, (other, given) in enumerate(between, start=2):
            give(held, other, given, now=minute(n))
        before = everything()
        again = give(held, pair, value, key=key, now=minute(15))
        assert everything() == before
        return [first, again]

    def test_at_once(self) -> None:
        held = held_with(3)
        first, again = self.sent_twice(held, shown(held)[0], 2, [])
        assert next_pair(first) == next_pair(again) == shown(held)[1].pk

    def test_after_later_pairs_were_graded(self) -> None:
        held = held_with(4)
        pairs = shown(held)
        first, again = self.sent_twice(held, pairs[0], 2, [(pairs[1], 1), (pairs[2], 3)])
        assert next_pair(first) == next_pair(again) == pairs[1].pk
        assert again.held.cards[1].grade == 1  # shown as it stands

    def test_the_last_pair_shows_the_last_look_again(self) -> None:
        held = held_with(2)
        one, last = shown(held)
        give(held, one, 1)
        first, again = self.sent_twice(held, last, 2, [(one, 4)])
        assert next_pair(first) is next_pair(again) is None

    def test_a_pair_left_out_before(self) -> None:
        held = held_with(3)
        left_out, one, last = shown(held)
        give(held, one, 1)
        first, again = self.sent_twice(held, last, 2, [(left_out, 4)])
        assert next_pair(first) == next_pair(again) == left_out.pk

    def test_a_pair_flagged_since_was_next_then(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        key = key_of(held, pairs[0])
        give(held, pairs[0], 2, key=key, now=minute(1))
        flag(held, pairs[1], now=minute(2))
        assert next_pair(give(held, pairs[0], 2, key=key, now=minute(3))) == pairs[1].pk

    def test_a_pair_flagged_before_was_not(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        flag(held, pairs[1], now=NOW)
        first, again = self.sent_twice(held, pairs[0], 2, [])
        assert next_pair(first) == next_pair(again) == pairs[2].pk

    def test_a_pair_withdrawn_since_is_passed_over(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        key = key_of(held, pairs[0])
        give(held, pairs[0], 2, key=key)
        withdraw(pairs[1])
        assert next_pair(give(held, pairs[0], 2, key=key, now=minute(1))) == pairs[2].pk

    @pytest.mark.parametrize("end", ["finish", "give back", "lapse"])
    def test_after_the_assignment_has_ended(self, end: str) -> None:
        held = held_with(2)
        one, last = shown(held)
        key = key_of(held, one)
        give(held, one, 2, key=key, now=minute(1))
        give(held, last, 3, now=minute(2))
        if end == "finish":
            finish(held, now=minute(3))
        elif end == "give back":
            give_back(held, now=minute(3))
        else:
            assignments_sweep(now=minute(60))
        before = everything()
        again = give(held, one, 2, key=key, now=minute(90))
        assert (next_pair(again), again.held.is_open) == (last.pk, False)
        assert everything() == before

    def test_after_it_was_changed(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        first, again = self.sent_twice(held, pairs[0], 2, [(pairs[0], 4), (pairs[1], 1)])
        assert next_pair(first) == next_pair(again) == pairs[1].pk
        assert grade_of(held, pairs[0]) == 4

    def test_a_change_sent_again(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        give(held, pairs[0], 0)
        give(held, pairs[1], 0)
        first, again = self.sent_twice(held, pairs[0], 2, [(pairs[2], 3), (pairs[0], 1)])
        assert next_pair(first) == next_pair(again) == pairs[2].pk
        assert [change.to_grade for change in JudgmentChange.objects.all()] == [2, 1]

    def test_the_comment_of_the_first_time_stays(self) -> None:
        held = held_with(2)
        pair = shown(held)[0]
        key = key_of(held, pair)
        give(held, pair, 2, key=key, comment="dark")
        give(held, pair, 2, key=key, comment="bright", now=minute(1))
        assert Judgment.objects.get().comment == "dark"


class TestStale:
    def refused(self, held: Assignment, pair: Pair, value: int, **more: object) -> str:
        before = everything()
        with pytest.raises(FormStale) as refusal:
            give(held, pair, value, now=minute(5), **more)
        assert everything() == before
        assert refusal.value.status == 409
        return str(refusal.value)

    def test_the_same_key_with_another_grade(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        key = key_of(held, pair)
        give(held, pair, 1, key=key)
        assert "your grade for this pair is 1" in self.refused(held, pair, 3, key=key)

    def test_two_tabs_cannot_overwrite_each_other(self) -> None:
        """Both show the pair with its first grade; one changes it."""
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        give(held, pair, 1)
        tabs = key_of(held, pair)
        give(held, pair, 4, key=tabs)
        assert "is 4" in self.refused(held, pair, 0, key=tabs)
        give(held, pair, 0, key=key_of(held, pair))
        assert grade_of(held, pair) == 0

    def test_a_key_of_nothing(self) -> None:
        held = AssignmentFactory()
        assert "nothing was stored" in self.refused(held, pairs_of(held.batch)[0], 1, key=uuid4())

    def test_the_key_of_another_pair(self) -> None:
        held = AssignmentFactory()
        one, other = pairs_of(held.batch)
        give(held, other, 1)
        self.refused(held, one, 1, key=Judgment.objects.get().uuid)
        self.refused(held, one, 1, key=key_of(held, other))

    def test_the_key_of_a_form_not_made_yet(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        self.refused(held, pair, 1, key=form_key(assignment=held.uuid, pair=pair.uuid, given=1))

    def test_the_key_of_an_assignment_that_was_given_back(self) -> None:
        """The pair was taken up again: the page that is still open elsewhere gives no grade to it."""
        batch = BatchFactory()
        held = take(batch)
        pair = pairs_of(batch)[1]
        key = key_of(held, pair)
        grade(held, [1])
        give_back(held)
        again = take(batch, held.annotator)
        self.refused(again, pair, 1, key=key)
        give(again, pair, 1, key=key_of(again, pair))


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


class TestFlag:
    def test_stored(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        flag(held, pair, reason="unreadable", comment="What is a thing?", now=minute(2))
        made = Flag.objects.get()
        assert (made.pair, made.assignment, made.annotator) == (pair, held, held.annotator)
        assert (made.reason, made.comment, made.created_at) == ("unreadable", "What is a thing?", minute(2))
        assert made.withdrawn_at is None

    def test_the_answer_passes_over_it(self) -> None:
        held = held_with(3)
        pairs = shown(held)
        assert next_pair(flag(held, pairs[0])) == pairs[1].pk
        assert next_pair(give(held, pairs[2], 1)) == pairs[1].pk

    def test_again_keeps_one_with_the_newest_words(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        flag(held, pair, reason="broken", comment="stops", now=minute(1))
        flag(held, pair, reason="offensive", comment="blood", now=minute(2))
        made = Flag.objects.get()
        assert (made.reason, made.comment, made.created_at) == ("offensive", "blood", minute(1))

    def test_taken_back_and_given_again_are_two_rows(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        flag(held, pair, now=minute(1))
        answer = unflag(held, pair, now=minute(2))
        assert next_pair(answer) == pair.pk
        assert answer.held.answered == 0
        flag(held, pair, now=minute(3))
        assert [made.withdrawn_at for made in Flag.objects.order_by("id")] == [minute(2), None]

    def test_taking_back_what_is_not_there_shows_the_pair(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        assert next_pair(unflag(held, pair)) == pair.pk

    def test_nobody_takes_back_another_ones(self) -> None:
        held = AssignmentFactory()
        other = AssignmentFactory(batch=held.batch, seat=2)
        pair = pairs_of(held.batch)[0]
        flag(other, pair)
        unflag(held, pair)
        assert Flag.objects.get().withdrawn_at is None

    def test_unknown_reason(self) -> None:
        held = AssignmentFactory()
        with pytest.raises(ValueError, match="got bored"):
            flag(held, pairs_of(held.batch)[0], reason="bored")

    def test_pair_of_another_batch(self) -> None:
        held, other = AssignmentFactory(), BatchFactory()
        with pytest.raises(NotAssigned):
            flag(held, pairs_of(other)[0])
        with pytest.raises(NotAssigned):
            unflag(held, pairs_of(other)[0])

    def test_withdrawn_pair(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        withdraw(pair)
        with pytest.raises(PairWithdrawn):
            flag(held, pair)

    @pytest.mark.parametrize("state", [State.FINISHED, State.LAPSED, State.RETURNED])
    def test_final_with_the_assignment(self, state: str) -> None:
        held = AssignmentFactory()
        pair, other = pairs_of(held.batch)
        FlagFactory(assignment=held, pair=pair)
        Assignment.objects.update(state=state, ended_at=NOW)
        with pytest.raises(LeaseLost):
            unflag(held, pair)
        with pytest.raises(LeaseLost):
            flag(held, other)
        assert Flag.objects.get().withdrawn_at is None

    def test_not_after_the_lease_has_run_out(self) -> None:
        held = AssignmentFactory()
        with pytest.raises(LeaseLost):
            flag(held, pairs_of(held.batch)[0], now=held.expires_at)
