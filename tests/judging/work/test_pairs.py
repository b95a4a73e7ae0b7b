"""A lead withdraws a pair, or puts it back."""

import pytest

from core.models import AuditEvent
from judging.exceptions import NotPossibleNow, PairWithdrawn
from judging.models import Batch, Pair
from judging.work.services.assignments import assignment_return
from judging.work.services.batches import batch_advance
from judging.work.services.pairs import pair_restore, pair_withdraw
from tests.factories import BatchFactory, lead
from tests.judging.play import finish, flag, give, judge, judge_round, outcomes, pairs_by_rank, pairs_of, take

pytestmark = pytest.mark.django_db
WITHDRAWN = ("withdrawn", None)


def withdraw(pair: Pair, reason: str = "The clip shows nothing.") -> None:
    pair_withdraw(pair=pair, lead=lead(pair.batch.project), reason=reason)


def restore(pair: Pair) -> None:
    pair_restore(pair=pair, lead=lead(pair.batch.project))


def test_nobody_gets_it_any_more() -> None:
    batch = BatchFactory(pairs=2)
    first, second = pairs_of(batch)
    withdraw(first)
    assert pairs_by_rank(take(batch)) == [second]
    assert AuditEvent.objects.get(subject=first.uuid).data["was"] == "open"


def test_who_holds_it_finishes_without_it() -> None:
    batch = BatchFactory(pairs=2)
    assignment = take(batch)
    first, second = pairs_of(batch)
    withdraw(first)
    with pytest.raises(PairWithdrawn):
        give(assignment, first, 3)
    give(assignment, second, 3)
    assert finish(assignment)


def test_a_settled_pair_loses_its_relevance_and_gets_it_back() -> None:
    batch = BatchFactory(pairs=2)
    judge_round(batch, [3, 1], [4, 1])
    first, _ = pairs_of(batch)
    withdraw(first)
    assert outcomes(batch) == [WITHDRAWN, ("settled", 1)]
    restore(first)
    assert outcomes(batch) == [("settled", 4), ("settled", 1)]


def test_the_last_open_pair_closes_its_batch() -> None:
    escalated = BatchFactory(pairs=1)
    judge(escalated, [0])
    judge(escalated, [4])
    batch_advance(batch_id=escalated.pk)
    withdraw(pairs_of(escalated)[0])
    batch_advance(batch_id=escalated.pk)
    escalated.refresh_from_db()
    assert (escalated.state, escalated.free_seats) == (Batch.State.DONE, 0)


def test_put_back_it_is_handed_out_again() -> None:
    batch = BatchFactory(pairs=1)
    (pair,) = pairs_of(batch)
    withdraw(pair)
    restore(pair)
    assert outcomes(batch) == [("open", None)]
    assert pairs_by_rank(take(batch)) == [pair]


def test_what_its_grades_cannot_decide_stays_out_of_a_finished_batch() -> None:
    batch = BatchFactory(pairs=1)
    (pair,) = pairs_of(batch)
    withdraw(pair)
    batch_advance(batch_id=batch.pk)
    with pytest.raises(NotPossibleNow, match="finished"):
        restore(pair)
    assert outcomes(batch) == [WITHDRAWN]


def test_a_reason_is_required() -> None:
    batch = BatchFactory(pairs=1)
    with pytest.raises(NotPossibleNow, match="Say why"):
        withdraw(pairs_of(batch)[0], reason="  ")
    assert outcomes(batch) == [("open", None)]


def test_neither_step_is_done_twice() -> None:
    batch = BatchFactory(pairs=2)
    pair = pairs_of(batch)[0]
    with pytest.raises(NotPossibleNow):
        restore(pair)
    withdraw(pair)
    with pytest.raises(NotPossibleNow):
        withdraw(pair)


def test_put_back_it_stays_though_two_had_flagged_it() -> None:
    """Until somebody new flags it twice again."""
    batch = BatchFactory(pairs=2)
    first, second = pairs_of(batch)
    for _ in range(2):
        assignment = take(batch)
        flag(assignment, first)
        give(assignment, second, 3)
        finish(assignment)
    batch_advance(batch_id=batch.pk)
    assert outcomes(batch) == [WITHDRAWN, ("settled", 3)]
    batch.refresh_from_db()
    assert batch.state == Batch.State.DONE
    other = BatchFactory(query__project=batch.project, pairs=2)
    third, fourth = pairs_of(other)
    for person in (take(other), take(other)):
        flag(person, third)
        assignment_return(project=other.project, annotator=person.annotator)
    assert outcomes(other)[0] == WITHDRAWN
    restore(third)
    batch_advance(batch_id=other.pk)
    assert outcomes(other)[0] == ("open", None)
    assignment = take(other)
    flag(assignment, third)
    give(assignment, fourth, 2)
    finish(assignment)
    assert outcomes(other)[0] == ("open", None)


def test_imported_pairs_stay_as_they_were_judged() -> None:
    batch = BatchFactory(pairs=1)
    batch.pairs.update(source_id=7)
    with pytest.raises(NotPossibleNow, match="Imported"):
        withdraw(pairs_of(batch)[0])
