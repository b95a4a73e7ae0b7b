"""A form that arrives again, or too late: answered as the first time, or refused."""

from uuid import uuid4

import pytest

from judging.exceptions import FormStale
from judging.models import Assignment, Judgment, JudgmentChange, Pair
from judging.work.rules import form_key
from judging.work.services.assignments import assignments_sweep
from judging.work.services.judgments import Answer
from tests.factories import AssignmentFactory, BatchFactory
from tests.judging.play import (
    finish,
    flag,
    give,
    give_back,
    grade,
    grade_of,
    key_of,
    next_pair,
    pairs_in_order,
    pairs_of,
    take,
)
from tests.judging.work.acts import assignment_with, everything, minute, withdraw

pytestmark = pytest.mark.django_db


class TestSentAgain:
    """The same key and the same grade: answered as the first time, with nothing written."""

    def sent_twice(
        self, assignment: Assignment, pair: Pair, value: int, between: list[tuple[Pair, int]]
    ) -> list[Answer]:
        """The form is sent, then the others are graded, then it arrives again."""
        key = key_of(assignment, pair)
        first = give(assignment, pair, value, key=key, now=minute(1))
        for n, (other, other_value) in enumerate(between, start=2):
            give(assignment, other, other_value, now=minute(n))
        before = everything()
        again = give(assignment, pair, value, key=key, now=minute(15))
        assert everything() == before
        return [first, again]

    def test_after_it_was_changed_and_later_pairs_were_graded(self) -> None:
        assignment = assignment_with(4)
        pairs = pairs_in_order(assignment)
        first, again = self.sent_twice(assignment, pairs[0], 2, [(pairs[0], 4), (pairs[1], 1), (pairs[2], 3)])
        assert next_pair(first) == next_pair(again) == pairs[1].pk
        assert [view.grade for view in again.assignment.pair_views] == [4, 1, 3, None]  # shown as they stand

    def test_the_last_pair_shows_the_last_look_again(self) -> None:
        assignment = assignment_with(2)
        one, last = pairs_in_order(assignment)
        give(assignment, one, 1)
        first, again = self.sent_twice(assignment, last, 2, [(one, 4)])
        assert next_pair(first) is next_pair(again) is None

    def test_a_pair_left_out_before(self) -> None:
        assignment = assignment_with(3)
        left_out, one, last = pairs_in_order(assignment)
        give(assignment, one, 1)
        first, again = self.sent_twice(assignment, last, 2, [(left_out, 4)])
        assert next_pair(first) == next_pair(again) == left_out.pk

    @pytest.mark.parametrize(("flag_at", "index"), [(0, 2), (2, 1)])
    def test_a_pair_flagged_since_was_next_then_one_flagged_before_was_not(self, flag_at: int, index: int) -> None:
        assignment = assignment_with(3)
        pairs = pairs_in_order(assignment)
        if flag_at == 0:
            flag(assignment, pairs[1], now=minute(0))
        key = key_of(assignment, pairs[0])
        assert next_pair(give(assignment, pairs[0], 2, key=key, now=minute(1))) == pairs[index].pk
        if flag_at == 2:
            flag(assignment, pairs[1], now=minute(2))
        assert next_pair(give(assignment, pairs[0], 2, key=key, now=minute(3))) == pairs[index].pk

    def test_a_pair_withdrawn_since_is_passed_over(self) -> None:
        assignment = assignment_with(3)
        pairs = pairs_in_order(assignment)
        key = key_of(assignment, pairs[0])
        give(assignment, pairs[0], 2, key=key, comment="dark")
        withdraw(pairs[1])
        again = give(assignment, pairs[0], 2, key=key, now=minute(1), comment="bright")
        assert next_pair(again) == pairs[2].pk
        assert Judgment.objects.get().comment == "dark"

    @pytest.mark.parametrize("end", ["finish", "give back", "lapse"])
    def test_after_the_assignment_has_ended(self, end: str) -> None:
        assignment = assignment_with(2)
        one, last = pairs_in_order(assignment)
        key = key_of(assignment, one)
        give(assignment, one, 2, key=key, now=minute(1))
        give(assignment, last, 3, now=minute(2))
        if end == "finish":
            finish(assignment, now=minute(3))
        elif end == "give back":
            give_back(assignment, now=minute(3))
        else:
            assignments_sweep(now=minute(60))
        before = everything()
        again = give(assignment, one, 2, key=key, now=minute(90))
        assert (next_pair(again), again.assignment.is_open) == (last.pk, False)
        assert everything() == before

    def test_a_change_sent_again(self) -> None:
        assignment = assignment_with(3)
        pairs = pairs_in_order(assignment)
        give(assignment, pairs[0], 0)
        give(assignment, pairs[1], 0)
        first, again = self.sent_twice(assignment, pairs[0], 2, [(pairs[2], 3), (pairs[0], 1)])
        assert next_pair(first) == next_pair(again) == pairs[2].pk
        assert [change.to_grade for change in JudgmentChange.objects.all()] == [2, 1]


class TestStale:
    def refused(self, assignment: Assignment, pair: Pair, value: int, **more: object) -> str:
        before = everything()
        with pytest.raises(FormStale) as refusal:
            give(assignment, pair, value, now=minute(5), **more)
        assert everything() == before
        assert refusal.value.status == 409
        return str(refusal.value)

    def test_two_tabs_cannot_overwrite_each_other(self) -> None:
        """Both show the pair with its first grade; one changes it."""
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        give(assignment, pair, 1)
        tabs = key_of(assignment, pair)
        give(assignment, pair, 4, key=tabs)
        assert "is 4" in self.refused(assignment, pair, 0, key=tabs)
        give(assignment, pair, 0, key=key_of(assignment, pair))
        assert grade_of(assignment, pair) == 0

    def test_a_key_of_nothing_of_another_pair_or_of_a_form_not_made_yet(self) -> None:
        assignment = AssignmentFactory()
        one, other = pairs_of(assignment.batch)
        give(assignment, other, 1)
        later = form_key(assignment=assignment.uuid, pair=one.uuid, n_answers=1)
        for key in (uuid4(), Judgment.objects.get().uuid, key_of(assignment, other), later):
            assert "nothing was stored" in self.refused(assignment, one, 1, key=key)

    def test_the_key_of_an_assignment_that_was_given_back(self) -> None:
        """The pair was taken up again: the page that is still open elsewhere gives no grade to it."""
        batch = BatchFactory()
        assignment = take(batch)
        pair = pairs_of(batch)[1]
        key = key_of(assignment, pair)
        grade(assignment, [1])
        give_back(assignment)
        again = take(batch, assignment.annotator)
        self.refused(again, pair, 1, key=key)
        give(again, pair, 1, key=key_of(again, pair))
