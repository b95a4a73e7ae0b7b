"""Who sends which grade."""

import random
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plan import Grade, Ledger, PlannedPair

ANNA, BERT, CARL, DORA, STRANGER = 1, 2, 3, 4, 99
PAIR, SECOND = UUID(int=1), UUID(int=2)
TWO = PlannedPair(5, (Grade(ANNA, 1), Grade(BERT, 4)))
FOUR = PlannedPair(5, (Grade(ANNA, 0), Grade(BERT, 4)), (Grade(CARL, 2), Grade(DORA, 3)))


def send(ledger: Ledger, annotator: int, uuid: UUID = PAIR) -> int | None:
    grade = ledger.grade_for(uuid, annotator)
    if grade is not None:
        ledger.confirm(uuid, annotator)
    return grade


def test_people_named_send_their_own() -> None:
    ledger = Ledger({PAIR: TWO})
    assert (send(ledger, BERT), send(ledger, ANNA)) == (4, 1)
    assert ledger.complete and ledger.by == {"the person named": 2}


def test_stand_in_leaves_the_grade_of_whoever_sits_there() -> None:
    other = PlannedPair(6, (Grade(CARL, 3), Grade(DORA, 3)))
    ledger = Ledger({PAIR: TWO, SECOND: other})
    send(ledger, ANNA, SECOND)  # she sits at the same block
    assert (send(ledger, STRANGER), send(ledger, ANNA)) == (4, 1)
    assert ledger.by == {"the person named": 1, "a stand-in": 2}


def test_a_repeated_request_gets_the_same_grade() -> None:
    ledger = Ledger({PAIR: TWO})
    assert [ledger.grade_for(PAIR, BERT) for _ in range(3)] == [4, 4, 4]
    ledger.confirm(PAIR, BERT)
    ledger.confirm(PAIR, BERT)  # a form sent again was answered twice
    assert ledger.sent == 1


def test_second_round_waits_for_the_first() -> None:
    ledger = Ledger({PAIR: FOUR})
    assert ledger.grade_for(PAIR, ANNA) == 0
    assert ledger.grade_for(PAIR, BERT) == 4
    assert ledger.grade_for(PAIR, CARL) is None
    ledger.confirm(PAIR, ANNA)
    ledger.confirm(PAIR, BERT)
    assert (send(ledger, DORA), send(ledger, CARL)) == (3, 2)
    assert ledger.complete


def test_nothing_planned_for_a_second_round() -> None:
    ledger = Ledger({PAIR: TWO})
    send(ledger, ANNA)
    send(ledger, BERT)
    assert ledger.grade_for(PAIR, CARL) is None


def test_refused_grade_is_for_somebody_else() -> None:
    ledger = Ledger({PAIR: TWO})
    ledger.grade_for(PAIR, ANNA)
    send(ledger, BERT)
    ledger.release(PAIR, ANNA)
    assert send(ledger, CARL) == 1
    assert ledger.complete


@given(st.lists(st.sampled_from([TWO, FOUR]), min_size=1, max_size=6), st.integers(0, 2**32))
def test_any_order_of_people_sends_each_grade_once(pairs: list[PlannedPair], seed: int) -> None:
    plan = {uuid4(): pair for pair in pairs}
    ledger, chance = Ledger(plan), random.Random(seed)
    grades_by_pair: dict[UUID, list[int]] = {uuid: [] for uuid in plan}
    for uuid in plan:
        for annotator in chance.sample([ANNA, BERT, CARL, DORA, STRANGER], 5):
            grade = send(ledger, annotator, uuid)
            grades_by_pair[uuid] += [] if grade is None else [grade]
    assert ledger.complete
    for uuid, pair in plan.items():
        assert sorted(grades_by_pair[uuid]) == sorted(row.grade for row in pair.grades)
        assert sorted(grades_by_pair[uuid][:2]) == sorted(row.grade for row in pair.first)
