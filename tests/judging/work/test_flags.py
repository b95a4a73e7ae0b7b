"""Flagging a pair and taking the flag back."""

import pytest

from judging.models import Flag
from tests.factories import AssignmentFactory
from tests.judging.play import flag, give, next_pair, pairs_in_order, pairs_of
from tests.judging.work.acts import assignment_with, minute, unflag

pytestmark = pytest.mark.django_db


class TestFlag:
    def test_a_flag_is_saved(self) -> None:
        assignment = AssignmentFactory()
        pair = pairs_of(assignment.batch)[0]
        flag(assignment, pair, reason="unreadable", comment="What is a thing?", now=minute(2))
        row = Flag.objects.get()
        assert (row.pair, row.assignment, row.annotator) == (pair, assignment, assignment.annotator)
        assert (row.reason, row.comment, row.created_at) == ("unreadable", "What is a thing?", minute(2))
        assert row.withdrawn_at is None

    def test_the_answer_passes_over_it(self) -> None:
        assignment = assignment_with(3)
        pairs = pairs_in_order(assignment)
        assert next_pair(flag(assignment, pairs[0])) == pairs[1].pk
        assert next_pair(give(assignment, pairs[2], 1)) == pairs[1].pk

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
        other = AssignmentFactory(batch=assignment.batch, seat=2)
        pair = pairs_of(assignment.batch)[0]
        flag(other, pair)
        unflag(assignment, pair)
        assert Flag.objects.get().withdrawn_at is None

    def test_unknown_reason(self) -> None:
        assignment = AssignmentFactory()
        with pytest.raises(ValueError, match="got bored"):
            flag(assignment, pairs_of(assignment.batch)[0], reason="bored")
