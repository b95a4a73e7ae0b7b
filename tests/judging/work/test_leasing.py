"""Which seat is next, in what order pairs are shown, and how long a lease lasts."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import SLOTS, RequestedPair, free_seats, lease_until, shuffled, slot_for

NEW = [RequestedPair(7, (), False), RequestedPair(3, (), False)]
BY_1 = [RequestedPair(7, (1,), False), RequestedPair(3, (1,), False)]  # seat 1 has graded everything
PART = [RequestedPair(7, (1, 2), False), RequestedPair(3, (2,), False)]  # whoever sat at 1 left after one pair
DONE = [RequestedPair(7, (1, 2), False), RequestedPair(3, (2, 1), False)]


def knowing(pairs: list[RequestedPair], *pair_ids: int) -> list[RequestedPair]:
    """The same pairs, asked of somebody who knows these."""
    return [pair._replace(known=pair.pair_id in pair_ids) for pair in pairs]


@pytest.mark.parametrize(
    ("pairs", "occupied_slots", "free"),
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
def test_a_slot_is_free_when_nobody_holds_it_and_a_grade_is_missing(
    pairs: list[RequestedPair], occupied_slots: list[int], free: dict[int, list[int]]
) -> None:
    assert free_seats(pairs, taken_slots=occupied_slots) == free


@pytest.mark.parametrize(
    ("pairs", "occupied_slots", "slot_and_pairs"),
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
        ([RequestedPair(7, (1,), True), RequestedPair(3, (2,), False)], [], (1, [3])),
        ([RequestedPair(7, (1,), False), RequestedPair(3, (2,), True)], [], (2, [7])),
        ([RequestedPair(7, (1,), False), RequestedPair(3, (2,), True)], [2], None),
    ],
)
def test_the_free_slot_with_most_pairs_the_person_does_not_know(
    pairs: list[RequestedPair], occupied_slots: list[int], slot_and_pairs: tuple[int, list[int]] | None
) -> None:
    assert slot_for(pairs, taken_slots=occupied_slots) == slot_and_pairs


slot_sets = st.sets(st.sampled_from(SLOTS))
requested_pairs = st.lists(
    st.builds(RequestedPair, st.integers(1, 9), slot_sets, st.booleans()), unique_by=lambda pair: pair.pair_id
)


@given(requested_pairs, slot_sets)
def test_every_grade_that_is_missing_belongs_to_a_free_or_an_occupied_slot(
    pairs: list[RequestedPair], occupied_slots: set[int]
) -> None:
    free = free_seats(pairs, taken_slots=occupied_slots)
    assert occupied_slots.isdisjoint(free)
    for pair in pairs:
        for slot in SLOTS:
            missing = slot not in pair.graded_slots
            assert missing == (pair.pair_id in free.get(slot, [])) or slot in occupied_slots


@given(requested_pairs, slot_sets)
def test_a_free_slot_is_never_empty_and_keeps_the_order_of_pairs(
    pairs: list[RequestedPair], occupied_slots: set[int]
) -> None:
    order = [pair.pair_id for pair in pairs]
    for pair_ids in free_seats(pairs, taken_slots=occupied_slots).values():
        assert pair_ids
        assert pair_ids == [pair_id for pair_id in order if pair_id in pair_ids]


@given(requested_pairs, slot_sets)
def test_somebody_new_always_finds_the_slot_that_is_free(pairs: list[RequestedPair], occupied_slots: set[int]) -> None:
    free = free_seats(pairs, taken_slots=occupied_slots)
    offer = slot_for(knowing(pairs), taken_slots=occupied_slots)
    assert (offer is None) == (not free)
    assert offer is None or offer == (offer[0], free[offer[0]])
    assert offer is None or all(len(pair_ids) <= len(offer[1]) for pair_ids in free.values())


@given(requested_pairs, slot_sets)
def test_nobody_gets_a_pair_they_know(pairs: list[RequestedPair], occupied_slots: set[int]) -> None:
    offer = slot_for(pairs, taken_slots=occupied_slots)
    known_ids = {pair.pair_id for pair in pairs if pair.known}
    free = free_seats(pairs, taken_slots=occupied_slots)
    if offer is None:
        assert all(known_ids >= set(pair_ids) for pair_ids in free.values())
    else:
        assert offer[1] == [pair_id for pair_id in free[offer[0]] if pair_id not in known_ids]


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
    positions = [shuffled(range(4), seed=seed).index(0) for seed in range(4000)]
    assert all(850 < positions.count(position) < 1150 for position in range(4))


def test_lease() -> None:
    noon = datetime(2026, 3, 29, 12, tzinfo=UTC)
    assert lease_until(noon, minutes=20) == datetime(2026, 3, 29, 12, 20, tzinfo=UTC)
