"""Flagging a pair and taking the flag back."""

import pytest

from judging.exceptions import LeaseLost, NotAssigned, PairWithdrawn
from judging.models import Assignment, Flag
from tests.factories import NOW, AssignmentFactory, BatchFactory, FlagFactory
from tests.judging.play import flag, give, next_pair, pairs_of, shown
from tests.judging.work.acts import State, held_with, minute, unflag, withdraw

pytestmark = pytest.mark.django_db


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
