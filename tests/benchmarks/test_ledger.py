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


def test_people_named_send_their_own_and_a_stand_in_that_of_whoever_sits_elsewhere() -> None:
    other = PlannedPair(6, (Grade(CARL, 3), Grade(DORA, 3)))
    ledger = Ledger({PAIR: TWO, SECOND: other})
    send(ledger, ANNA, SECOND)  # she sits at the same block
    assert (send(ledger, STRANGER), send(ledger, ANNA)) == (4, 1)
    assert ledger.by == {"the person named": 1, "a stand-in": 2}
    assert ledger.grade_for(PAIR, CARL) is None  # nothing is planned for a second round


def test_second_round_waits_for_the_first_and_a_repeated_request_gets_the_same_grade() -> None:
    ledger = Ledger({PAIR: FOUR})
    assert [ledger.grade_for(PAIR, person) for person in (ANNA, BERT, BERT, CARL)] == [0, 4, 4, None]
    for person in (ANNA, BERT, BERT):  # a form sent again was answered twice
        ledger.confirm(PAIR, person)
    assert ledger.sent == 2
    assert (send(ledger, DORA), send(ledger, CARL)) == (3, 2)
    assert ledger.complete


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
