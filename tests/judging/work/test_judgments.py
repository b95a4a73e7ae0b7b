"""Giving a grade, changing it, and saying something about it."""

from collections.abc import Callable

import pytest

from accounts.models import Membership, User
from judging.exceptions import GradeUnknown, JudgingError, LeaseLost, NotAnnotator, NotAssigned, PairWithdrawn
from judging.guidelines.services import guideline_publish, policy_publish
from judging.models import Assignment, Flag, Judgment, JudgmentChange, Pair
from judging.work.rules import form_key
from judging.work.services.judgments import WORDS
from tests.factories import NOW, AssignmentFactory, BatchFactory, FlagFactory, JudgmentFactory, triggers_asleep
from tests.judging.play import flag, give, judge, key_of, next_pair, pairs_in_order, pairs_of, take
from tests.judging.work.acts import State, assignment_with, everything, minute, unflag, withdraw

pytestmark = pytest.mark.django_db


class TestSubmit:
    def test_grade_is_saved_with_its_versions(self) -> None:
        batch = BatchFactory()
        guideline = guideline_publish(project=batch.project, actor=None, body="two", levels=["a"] * 5)
        policy = policy_publish(project=batch.project, actor=None, lease_minutes=30)
        assignment = take(batch)
        give(assignment, pairs_of(batch)[0], 4, now=minute(3))
        judgment = Judgment.objects.get()
        assert (judgment.grade, judgment.annotator, judgment.assignment) == (4, assignment.annotator, assignment)
        assert (judgment.round, judgment.slot, judgment.occurrence, judgment.revision) == (1, 1, 0, 0)
        assert (judgment.guideline, judgment.policy, judgment.source) == (guideline, policy, Judgment.Source.PERSON)
        assert (judgment.created_at, judgment.comment, guideline.version, policy.version) == (minute(3), "", 2, 2)

    def test_a_program_is_called_one(self) -> None:
        assignment = AssignmentFactory()
        User.objects.filter(pk=assignment.annotator_id).update(is_simulated=True)
        give(assignment, pairs_of(assignment.batch)[0], 0)
        assert (Judgment.objects.get().source, Judgment.objects.get().grade) == (Judgment.Source.SIMULATED, 0)

    @pytest.mark.parametrize("value", [-1, 5])
    def test_grade_out_of_range(self, value: int) -> None:
        assignment = AssignmentFactory()
        with pytest.raises(GradeUnknown, match="0 to 4"):
            give(assignment, pairs_of(assignment.batch)[0], value)
        assert not Judgment.objects.exists()

    def test_a_slot_taken_by_somebody_else_is_a_named_refusal(self) -> None:
        """The unique constraint speaks last: somebody was at this slot before, and the row was not looked for."""
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        other = AssignmentFactory(batch=assignment.batch, slot=2)
        JudgmentFactory(assignment=other, pair=pair, annotator=other.annotator)
        Assignment.objects.filter(pk=other.pk).update(state=State.LAPSED, ended_at=NOW)
        with triggers_asleep():
            Assignment.objects.filter(pk=assignment.pk).update(slot=2)
        with pytest.raises(JudgingError, match="graded already"):
            give(assignment, pair, 1)
        assert Judgment.objects.get().assignment == other

    def test_positions_and_what_was_given_just_before(self) -> None:
        """Given out of the order shown, and changed in between: what counts is the order in time."""
        assignment = assignment_with(4)
        first, second, third, fourth = pairs_in_order(assignment)
        for pair, value in ((third, 4), (first, 0), (third, 2), (fourth, 3), (fourth, 1), (second, 1), (second, 4)):
            give(assignment, pair, value)
        rows = {j.pair_id: (j.position, j.previous_grade) for j in Judgment.objects.all()}
        assert rows == {third.pk: (3, None), first.pk: (1, 4), fourth.pk: (4, 0), second.pk: (2, 1)}

    def test_it_starts_anew_with_each_assignment(self) -> None:
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        person = judge(batch, [4, 4]).annotator
        judge(batch, [3, 3])
        next_one = take(other, person)
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


def of_another_batch(assignment: Assignment) -> Pair:
    return pairs_of(BatchFactory())[0]


def of_somebody_else(assignment: Assignment) -> Pair:
    return pairs_of(AssignmentFactory(batch__query__project=assignment.project).batch)[0]


def left_out(assignment: Assignment) -> Pair:
    """It is of the batch, but not of the assignment."""
    with triggers_asleep():
        Assignment.objects.filter(pk=assignment.pk).update(pair_ids=assignment.pair_ids[1:])
    return pairs_of(assignment.batch)[0]


def of_who_is_out(assignment: Assignment) -> Pair:
    Membership.objects.filter(user=assignment.annotator).delete()
    return pairs_of(assignment.batch)[0]


def of_who_leads_now(assignment: Assignment) -> Pair:
    Membership.objects.filter(user=assignment.annotator).update(roles=["lead"], number=None, status="")
    return pairs_of(assignment.batch)[0]


def withdrawn(assignment: Assignment) -> Pair:
    pair = pairs_of(assignment.batch)[0]
    withdraw(pair)
    return pair


def run_out(assignment: Assignment) -> Pair:
    """At this very instant."""
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=NOW)
    return pairs_of(assignment.batch)[0]


def ended(state: str) -> Callable[[Assignment], Pair]:
    def prepare(assignment: Assignment) -> Pair:
        Assignment.objects.filter(pk=assignment.pk).update(state=state, ended_at=NOW)
        return pairs_of(assignment.batch)[0]

    return prepare


ACTS: list[Callable[[Assignment, Pair], object]] = [lambda row, pair: give(row, pair, 1), flag, unflag]


@pytest.mark.parametrize("act", ACTS, ids=["grade", "flag", "unflag"])
@pytest.mark.parametrize(
    ("prepare", "error", "status", "words"),
    [
        (of_another_batch, NotAssigned, 404, "not assigned to you"),
        (of_somebody_else, NotAssigned, 404, "not assigned to you"),
        (left_out, NotAssigned, 404, "not assigned to you"),
        (of_who_is_out, NotAssigned, 404, "not assigned to you"),
        (of_who_leads_now, NotAnnotator, 403, "does not grade"),
        (withdrawn, PairWithdrawn, 409, "was withdrawn"),
        (run_out, LeaseLost, 409, "run out"),
        (ended("finished"), LeaseLost, 409, "final"),
        (ended("lapsed"), LeaseLost, 409, "run out"),
        (ended("returned"), LeaseLost, 409, "given this batch back"),
    ],
)
def test_what_takes_neither_grade_nor_flag(
    prepare: Callable[[Assignment], Pair],
    error: type[JudgingError],
    status: int,
    words: str,
    act: Callable[[Assignment, Pair], object],
) -> None:
    assignment = AssignmentFactory()
    FlagFactory(assignment=assignment)
    pair = prepare(assignment)
    if prepare is withdrawn and act is unflag:
        return  # a flag of a withdrawn pair may be taken back
    before = everything()
    with pytest.raises(error, match=words) as refusal:
        act(assignment, pair)
    assert refusal.value.status == status
    assert everything() == before


class TestChange:
    def test_history_is_saved_with_its_keys(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        keys = []
        for n, value in enumerate((1, 4, 4, 2)):
            keys.append(key_of(assignment, pair))
            assert keys[-1] == form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=(0, 1, 2, 2)[n])
            give(assignment, pair, value, key=keys[-1], now=minute(n))
        judgment = Judgment.objects.get()
        assert (judgment.grade, judgment.revision, judgment.uuid, judgment.created_at) == (2, 2, keys[0], NOW)
        steps = judgment.changes.values_list("from_grade", "to_grade", "uuid", "changed_at")
        assert list(steps) == [(1, 4, keys[1], minute(1)), (4, 2, keys[3], minute(3))]

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


class TestComment:
    def test_saved_until_it_is_replaced(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        comments = []
        for value, comment in ((1, "dark"), (2, None), (2, "very dark"), (3, "")):
            give(assignment, pair, value, comment=comment)
            comments.append(Judgment.objects.get().comment)
        assert comments == ["dark", "dark", "very dark", ""]

    def test_a_longer_one_is_cut(self) -> None:
        assignment = AssignmentFactory()
        one, other = pairs_of(assignment.batch)
        give(assignment, one, 1, comment="x" * (WORDS + 1))
        give(assignment, one, 2, comment="y" * (WORDS + 1))
        flag(assignment, other, comment="z" * (WORDS + 1))
        assert (Judgment.objects.get().comment, Flag.objects.get().comment) == ("y" * WORDS, "z" * WORDS)


class TestFlag:
    def test_a_flag_is_saved(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        flag(assignment, pair, reason="unreadable", comment="What is a thing?", now=minute(2))
        row = Flag.objects.get()
        assert (row.pair, row.assignment, row.annotator) == (pair, assignment, assignment.annotator)
        assert (row.reason, row.comment, row.created_at) == ("unreadable", "What is a thing?", minute(2))
        assert row.withdrawn_at is None

    def test_again_keeps_one_with_the_newest_words(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        flag(assignment, pair, reason="broken", comment="stops", now=minute(1))
        flag(assignment, pair, reason="offensive", comment="blood", now=minute(2))
        row = Flag.objects.get()
        assert (row.reason, row.comment, row.created_at) == ("offensive", "blood", minute(1))

    def test_taken_back_and_given_again_are_two_rows(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        assert next_pair(unflag(assignment, pair)) == pair.pk
        flag(assignment, pair, now=minute(1))
        answer = unflag(assignment, pair, now=minute(2))
        assert next_pair(answer) == pair.pk
        assert answer.assignment.answered == 0
        flag(assignment, pair, now=minute(3))
        assert [row.withdrawn_at for row in Flag.objects.order_by("id")] == [minute(2), None]

    def test_nobody_takes_back_another_ones(self) -> None:
        assignment = AssignmentFactory()
        other = AssignmentFactory(batch=assignment.batch, slot=2)
        pair = pairs_of(assignment.batch)[0]
        flag(other, pair)
        unflag(assignment, pair)
        assert Flag.objects.get().withdrawn_at is None

    def test_unknown_reason(self) -> None:
        assignment = AssignmentFactory()
        with pytest.raises(ValueError, match="got bored"):
            flag(assignment, pairs_of(assignment.batch)[0], reason="bored")
