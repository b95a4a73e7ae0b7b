"""The rules of handing out: slots, order, leases, keys of forms, time spent."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import (
    LONGEST_MS,
    TVR_RANKING,
    RequestedPair,
    active_ms,
    form_key,
    free_slots,
    shuffled,
    slot_for,
    with_change,
)

SLOTS = TVR_RANKING.slots
NEW = [RequestedPair(7, (), False), RequestedPair(3, (), False)]
BY_1 = [RequestedPair(7, (1,), False), RequestedPair(3, (1,), False)]  # slot 1 has graded everything
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
    assert free_slots(pairs, taken_slots=occupied_slots, slots=SLOTS) == free


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
        (knowing(NEW, 7), [], (1, [3])),  # what they know stays with the slot
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
    assert slot_for(pairs, taken_slots=occupied_slots, slots=SLOTS) == slot_and_pairs


slot_sets = st.sets(st.sampled_from(SLOTS))
requested_pairs = st.lists(
    st.builds(RequestedPair, st.integers(1, 9), slot_sets, st.booleans()), unique_by=lambda pair: pair.pair_id
)


@given(requested_pairs, slot_sets)
def test_missing_grades_belong_to_free_or_occupied_slots(pairs: list[RequestedPair], occupied_slots: set[int]) -> None:
    free = free_slots(pairs, taken_slots=occupied_slots, slots=SLOTS)
    assert occupied_slots.isdisjoint(free)
    for pair in pairs:
        for slot in SLOTS:
            missing = slot not in pair.graded_slots
            assert missing == (pair.pair_id in free.get(slot, [])) or slot in occupied_slots


@given(requested_pairs, slot_sets)
def test_somebody_new_always_finds_the_slot_that_is_free(pairs: list[RequestedPair], occupied_slots: set[int]) -> None:
    free = free_slots(pairs, taken_slots=occupied_slots, slots=SLOTS)
    offer = slot_for(knowing(pairs), taken_slots=occupied_slots, slots=SLOTS)
    assert (offer is None) == (not free)
    assert offer is None or offer == (offer[0], free[offer[0]])
    assert offer is None or all(len(pair_ids) <= len(offer[1]) for pair_ids in free.values())


@given(requested_pairs, slot_sets)
def test_nobody_gets_a_pair_they_know(pairs: list[RequestedPair], occupied_slots: set[int]) -> None:
    offer = slot_for(pairs, taken_slots=occupied_slots, slots=SLOTS)
    known_ids = {pair.pair_id for pair in pairs if pair.known}
    free = free_slots(pairs, taken_slots=occupied_slots, slots=SLOTS)
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


ONE = UUID("11111111-1111-4111-8111-111111111111")
OTHER = UUID("22222222-2222-4222-8222-222222222222")
forms = st.tuples(st.uuids(), st.uuids(), st.integers(0, 200))


def key(assignment: UUID, pair: UUID, n_answers: int) -> UUID:
    return form_key(assignment=assignment, pair=pair, n_answers=n_answers)


def test_it_does_not_change_between_releases() -> None:
    """Pages that are open while the site is updated go on."""
    assert key(ONE, OTHER, 0) == UUID("a430da62-a237-5e93-b77d-dfbe1c34a006")
    assert key(ONE, OTHER, 12) == UUID("81fe768a-3d03-5394-a7f6-394cb95b23d3")


@given(forms, forms)
def test_two_forms_share_a_key_only_when_they_show_the_same(
    one: tuple[UUID, UUID, int], other: tuple[UUID, UUID, int]
) -> None:
    assert (key(*one) == key(*other)) == (one == other)


SHOWN = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 60 * 60


@pytest.mark.parametrize(
    ("measured", "seconds_since", "expected_ms"),
    [
        (8_000, 10, 8_000),
        (0, 10, 0),
        (10_001, 10, 10_000),  # no pair waited for longer
        (10**30, 10, 10_000),
        (None, 10, 10_000),  # nothing measured
        (None, 0, 0),
        (None, -5, 0),  # clocks of two machines
        (3_000, -5, 0),
        (-7, 10, 0),
        (None, 5 * HOUR, LONGEST_MS),
        (5 * HOUR * 1000, 6 * HOUR, LONGEST_MS),
        (None, 0.0014, 1),
    ],
)
def test_active_time(measured: int | None, seconds_since: float, expected_ms: int) -> None:
    assert active_ms(measured, since=SHOWN, now=SHOWN + timedelta(seconds=seconds_since)) == expected_ms


@pytest.mark.parametrize(
    ("before", "added", "expected_ms"), [(5, 7, 12), (None, 7, 7), (LONGEST_MS, 1, LONGEST_MS), (0, 0, 0)]
)
def test_a_change_adds_its_time(before: int | None, added: int, expected_ms: int) -> None:
    assert with_change(before, added) == expected_ms
