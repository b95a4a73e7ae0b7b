"""A lead withdraws a pair, or puts it back."""

import pytest

from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Batch, Pair
from judging.work.services.batches import batch_advance
from judging.work.services.pairs import pair_restore, pair_withdraw
from tests.factories import BatchFactory, lead
from tests.judging.play import finish, flag, give, give_back, judge_round, outcomes, pairs_by_rank, pairs_of, take

pytestmark = pytest.mark.django_db
WITHDRAWN = ("withdrawn", None)


def withdraw(pair: Pair, reason: str = "The clip shows nothing.") -> None:
    pair_withdraw(pair=pair, lead=lead(pair.batch.project), reason=reason)


def restore(pair: Pair) -> None:
    pair_restore(pair=pair, lead=lead(pair.batch.project))


def test_who_holds_it_finishes_without_it_and_nobody_gets_it_any_more() -> None:
    batch = BatchFactory(pairs=2)
    assignment = take(batch)
    first, second = pairs_of(batch)
    withdraw(first)
    assert AuditEvent.objects.get(subject=first.uuid).data["was"] == "open"
    give(assignment, second, 3)
    assert finish(assignment)
    assert pairs_by_rank(take(batch)) == [second]
    restore(first)
    assert pairs_by_rank(take(batch)) == [first]


def test_a_settled_pair_loses_its_relevance_and_gets_it_back() -> None:
    batch = BatchFactory(pairs=2)
    judge_round(batch, [3, 1], [4, 1])
    first, _ = pairs_of(batch)
    withdraw(first)
    assert outcomes(batch) == [WITHDRAWN, ("settled", 1)]
    restore(first)
    assert outcomes(batch) == [("settled", 4), ("settled", 1)]


@pytest.mark.parametrize("is_escalated", [False, True])
def test_the_last_pair_closes_its_batch_and_stays_out_where_its_grades_cannot_decide(is_escalated: bool) -> None:
    batch = BatchFactory(pairs=1)
    if is_escalated:
        judge_round(batch, [0], [4])
    (pair,) = pairs_of(batch)
    withdraw(pair)
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()
    assert (batch.state, batch.free_slots) == (Batch.State.DONE, 0)
    with pytest.raises(NotPossibleNow, match="finished"):
        restore(pair)
    assert outcomes(batch) == [WITHDRAWN]


def test_neither_step_is_done_twice_nor_without_a_reason() -> None:
    batch = BatchFactory(pairs=2)
    pair, other = pairs_of(batch)
    with pytest.raises(NotPossibleNow):
        restore(pair)
    with pytest.raises(NotPossibleNow, match="Say why"):
        withdraw(other, reason="  ")
    withdraw(pair)
    with pytest.raises(NotPossibleNow):
        withdraw(pair)
    assert outcomes(batch) == [WITHDRAWN, ("open", None)]


def test_put_back_it_stays_though_two_had_flagged_it() -> None:
    """Until somebody new flags it twice again."""
    batch = BatchFactory(pairs=2)
    first, second = pairs_of(batch)
    for assignment in (take(batch), take(batch)):
        flag(assignment, first)
        give_back(assignment)
    assert outcomes(batch)[0] == WITHDRAWN
    restore(first)
    batch_advance(batch_id=batch.pk)
    assert outcomes(batch)[0] == ("open", None)
    assignment = take(batch)
    flag(assignment, first)
    give(assignment, second, 2)
    finish(assignment)
    assert outcomes(batch)[0] == ("open", None)


def test_imported_pairs_stay_as_they_were_judged() -> None:
    batch = BatchFactory(pairs=1)
    batch.pairs.update(source_id=7)
    with pytest.raises(NotPossibleNow, match="Imported"):
        withdraw(pairs_of(batch)[0])
