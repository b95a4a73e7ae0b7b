"""A lead answers flags: dismissed with a word, or the pair withdrawn; what becomes of the count of two."""

import pytest

from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Assignment, Batch, FlagAnswer, Pair
from judging.work.selectors.flags import flags_waiting
from judging.work.services.batches import batch_advance
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
        assert (answer.kind, answer.words) == ("dismissed", "It plays here.")
        event = AuditEvent.objects.get(action="flag.dismiss")
        assert (event.subject, event.actor) == (pair.uuid, answer.answered_by)
        assert event.data == {"query": batch.query.text, "flags": ["broken"], "reason": "It plays here."}

    def test_one_more_flag_then_does_not_withdraw(self, batch: Batch) -> None:
        pair = flagged(batch)
        dismiss(pair)
        flagged(batch)
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch)[0] == ("open", None)

    def test_two_more_do(self, batch: Batch) -> None:
        dismiss(flagged(batch))
        for assignment in (take(batch), take(batch)):
            flag(assignment, pairs_of(batch)[0])
            for other in pairs_of(batch)[1:]:
                if other.pk in assignment.pair_ids:
                    give(assignment, other, 3)
            finish(assignment)
        assert outcomes(batch)[0] == ("withdrawn", None)

    @pytest.mark.parametrize("words", ["", "   "])
    def test_without_a_word_nothing_is_dismissed(self, batch: Batch, words: str) -> None:
        with pytest.raises(NotPossibleNow, match="Say why"):
            dismiss(flagged(batch), words)
        assert not FlagAnswer.objects.exists()

    def test_twice_or_without_a_flag(self, batch: Batch) -> None:
        pair = flagged(batch)
        dismiss(pair)
        for other in (pair, pairs_of(batch)[1]):
            with pytest.raises(NotPossibleNow, match="No flag of this pair waits"):
                dismiss(other)

    def test_a_flag_that_was_taken_back_is_not_answered(self, batch: Batch) -> None:
        FlagFactory(assignment=AssignmentFactory(batch=batch), withdrawn_at=NOW)
        with pytest.raises(NotPossibleNow):
            dismiss(pairs_of(batch)[0])


class TestWithdraw:
    def test_it_answers_the_flags(self, batch: Batch) -> None:
        pair = flagged(batch)
        pair_withdraw(pair=pair, lead=lead(batch.project), reason="It stays black.")
        answer = FlagAnswer.objects.get()
        assert (answer.kind, answer.words) == ("withdrawn", "It stays black.")
        assert not flags_waiting(batch.project).exists()

    def test_put_back_its_flags_wait_no_more(self, batch: Batch) -> None:
        pair = flagged(batch)
        person = lead(batch.project)
        pair_withdraw(pair=pair, lead=person, reason="It stays black.")
        pair_restore(pair=pair, lead=person)
        assert not flags_waiting(batch.project).exists()
        assert Assignment.objects.filter(state="open").count() == 0
