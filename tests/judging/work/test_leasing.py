"""Which seat is next, in what order pairs are shown, and how long a lease lasts."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import SEATS, AskedPair, free_seats, lease_until, seat_for, shuffled

NEW = [AskedPair(7, (), False), AskedPair(3, (), False)]
BY_1 = [AskedPair(7, (1,), False), AskedPair(3, (1,), False)]  # seat 1 has graded everything
PART = [AskedPair(7, (1, 2), False), AskedPair(3, (2,), False)]  # whoever sat at 1 left after one pair
DONE = [AskedPair(7, (1, 2), False), AskedPair(3, (2, 1), False)]


def knowing(pairs: list[AskedPair], *pair_ids: int) -> list[AskedPair]:
    """The same pairs, asked of somebody who knows these."""
    return [pair._replace(known=pair.pair_id in pair_ids) for pair in pairs]


@pytest.mark.parametrize(
    ("pairs", "held", "free"),
    [
        (NEW, [], {1: [7, 3], 2: [7, 3]}),
        (NEW, [1], {2: [7, 3]}),
        (NEW, [2], {1: [7, 3]}),
        (NEW, [1, 2], {}),
        (BY_1, [], {2: [7, 3]}),
        (BY_1, [2], {}),
        (PART, [], {1: [3]}),
        (PART, [1], {}),
        (PART, [2], {1: [3]}),
        (DONE, [], {}),
        ([], [], {}),
    ],
)
def test_a_seat_is_free_when_nobody_holds_it_and_it_lacks_a_grade(
    pairs: list[AskedPair], held: list[int], free: dict[int, list[int]]
) -> None:
    assert free_seats(pairs, held=held) == free


@pytest.mark.parametrize(
    ("pairs", "held", "seat"),
    [
        (NEW, [], (1, [7, 3])),
        (NEW, [1], (2, [7, 3])),
        (NEW, [1, 2], None),
        (BY_1, [], (2, [7, 3])),
        (PART, [], (1, [3])),
        (DONE, [], None),
        ([], [], None),
        (knowing(NEW, 7), [], (1, [3])),  # what they know stays with the seat
        (knowing(NEW, 7, 3), [], None),
        (knowing(BY_1, 3), [], (2, [7])),
        (knowing(PART, 7), [], (1, [3])),  # what they know is not asked for any more
        (knowing(PART, 3), [], None),
        ([AskedPair(7, (1,), True), AskedPair(3, (2,), False)], [], (1, [3])),
        ([AskedPair(7, (1,), False), AskedPair(3, (2,), True)], [], (2, [7])),
        ([AskedPair(7, (1,), False), AskedPair(3, (2,), True)], [2], None),
    ],
)
def test_the_free_seat_that_offers_most_without_what_is_known(
    pairs: list[AskedPair], held: list[int], seat: tuple[int, list[int]] | None
) -> None:
    assert seat_for(pairs, held=held) == seat


seats = st.sets(st.sampled_from(SEATS))
asked = st.lists(st.builds(AskedPair, st.integers(1, 9), seats, st.booleans()), unique_by=lambda pair: pair.pair_id)


@given(asked, seats)
def test_every_grade_that_is_missing_belongs_to_a_free_or_a_held_seat(pairs: list[AskedPair], held: set[int]) -> None:
    free = free_seats(pairs, held=held)
    assert held.isdisjoint(free)
    for pair in pairs:
        for seat in SEATS:
            missing = seat not in pair.graded_seats
            assert missing == (pair.pair_id in free.get(seat, [])) or seat in held


@given(asked, seats)
def test_a_seat_is_never_empty_and_keeps_the_order_given(pairs: list[AskedPair], held: set[int]) -> None:
    order = [pair.pair_id for pair in pairs]
    for left in free_seats(pairs, held=held).values():
        assert left
        assert left == [pair_id for pair_id in order if pair_id in left]


@given(asked, seats)
def test_somebody_new_always_finds_the_seat_that_is_free(pairs: list[AskedPair], held: set[int]) -> None:
    free = free_seats(pairs, held=held)
    found = seat_for(knowing(pairs), held=held)
    assert (found is None) == (not free)
    assert found is None or found == (found[0], free[found[0]])
    assert found is None or all(len(left) <= len(found[1]) for left in free.values())


@given(asked, seats)
def test_nobody_is_asked_for_a_pair_they_know(pairs: list[AskedPair], held: set[int]) -> None:
    found = seat_for(pairs, held=held)
    known = {pair.pair_id for pair in pairs if pair.known}
    free = free_seats(pairs, held=held)
    if found is None:
        assert all(known >= set(left) for left in free.values())
    else:
        assert found[1] == [pair_id for pair_id in free[found[0]] if pair_id not in known]


@given(st.lists(st.integers()), st.integers(0, 2**31))
def test_shuffling_keeps_every_pair_and_repeats_itself(pairs: list[int], seed: int) -> None:
    before = list(pairs)
    order = shuffled(pairs, seed=seed)
    assert sorted(order) == sorted(before)
    assert shuffled(pairs, seed=seed) == order
    assert pairs == before


def test_two_seeds_show_two_orders() -> None:
    assert len({tuple(shuffled(range(20), seed=seed)) for seed in range(30)}) == 30


def test_the_order_of_rank_is_not_favoured() -> None:
    """Over many seeds the best candidate comes up at every place about equally often."""
    places = [shuffled(range(4), seed=seed).index(0) for seed in range(4000)]
    assert all(850 < places.count(place) < 1150 for place in range(4))


def test_lease() -> None:
    noon = datetime(2026, 3, 29, 12, tzinfo=UTC)
    assert lease_until(noon, minutes=20) == datetime(2026, 3, 29, 12, 20, tzinfo=UTC)
