"""A lead answers flags: dismissed with a word, or the pair withdrawn; what becomes of the count of two."""

import pytest

from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Batch, FlagAnswer, Pair
from judging.work.selectors.flags import flags_waiting
from judging.work.services.pairs import flags_dismiss, pair_restore, pair_withdraw
from tests.factories import NOW, AssignmentFactory, BatchFactory, FlagFactory, lead
from tests.judging.play import finish, flag, give, outcomes, pairs_of, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch() -> Batch:
    return BatchFactory(pairs=2)  # type: ignore[no-any-return]


def flagged(batch: Batch) -> Pair:
    """Its first pair; whoever flagged it has graded the other and finished."""
    assignment = take(batch)
    first, second = pairs_of(batch)
    flag(assignment, first)
    give(assignment, second, 3)
    finish(assignment)
    return first


def dismiss(pair: Pair, words: str = "It plays here.") -> int:
    return flags_dismiss(pair=pair, lead=lead(pair.batch.project), words=words)


class TestDismiss:
    def test_it_waits_no_more_and_the_word_is_saved(self, batch: Batch) -> None:
        pair = flagged(batch)
        assert [f.pair for f in flags_waiting(batch.project)] == [pair]
        assert dismiss(pair) == 1
        assert not flags_waiting(batch.project).exists()
        answer = FlagAnswer.objects.get()
        assert (answer.kind, answer.text) == ("dismissed", "It plays here.")
        event = AuditEvent.objects.get(action="flag.dismiss")
        assert (event.subject, event.actor) == (pair.uuid, answer.answered_by)
        assert event.data == {"query": batch.query.text, "flags": ["broken"], "reason": "It plays here."}

    def test_two_more_flags_withdraw_and_one_does_not(self, batch: Batch) -> None:
        pair = flagged(batch)
        dismiss(pair)
        for outcome in (("open", None), ("withdrawn", None)):
            assignment = take(batch)
            flag(assignment, pair)
            for other in pairs_of(batch)[1:]:
                if other.pk in assignment.pair_ids:
                    give(assignment, other, 3)
            finish(assignment)
            assert outcomes(batch)[0] == outcome

    def test_not_without_a_word_twice_or_where_no_flag_waits(self, batch: Batch) -> None:
        pair = flagged(batch)
        with pytest.raises(NotPossibleNow, match="Say why"):
            dismiss(pair, "   ")
        assert not FlagAnswer.objects.exists()
        dismiss(pair)
        unflagged = pairs_of(batch)[1]
        FlagFactory(assignment=AssignmentFactory(batch=batch, slot=2), pair=unflagged, withdrawn_at=NOW)
        for other in (pair, unflagged):
            with pytest.raises(NotPossibleNow, match="No flag of this pair waits"):
                dismiss(other)


def test_withdrawing_answers_the_flags_for_good(batch: Batch) -> None:
    pair, person = flagged(batch), lead(batch.project)
    pair_withdraw(pair=pair, lead=person, reason="It stays black.")
    answer = FlagAnswer.objects.get()
    assert (answer.kind, answer.text) == ("withdrawn", "It stays black.")
    assert not flags_waiting(batch.project).exists()
    pair_restore(pair=pair, lead=person)
    assert not flags_waiting(batch.project).exists()
