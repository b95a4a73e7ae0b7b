"""Which seat is next, in what order pairs are shown, and how long a lease lasts."""

from datetime import UTC, datetime
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from judging.rules.leasing import Seat, lease_until, next_seat, shuffled

BEST_FIRST = [
    Seat(8, 2, 1, begun=True),  # escalated, begun
    Seat(3, 2, 1, begun=False),
    Seat(5, 1, 2, begun=True),
    Seat(1, 1, 1, begun=False),
    Seat(1, 1, 2, begun=False),
    Seat(2, 1, 1, begun=False),
]
seats = st.lists(
    st.builds(Seat, st.integers(1, 9), st.integers(1, 2), st.integers(1, 2), st.booleans()), max_size=8, unique=True
)


def test_escalated_before_begun_before_new_and_the_older_first() -> None:
    for start in range(len(BEST_FIRST)):
        left = BEST_FIRST[start:]
        assert all(next_seat(order) == left[0] for order in permutations(left))


def test_no_seat() -> None:
    assert next_seat([]) is None


@given(seats, st.randoms(use_true_random=False))
def test_the_order_of_seats_says_nothing(offered: list[Seat], chance) -> None:  # type: ignore[no-untyped-def]
    mixed = list(offered)
    chance.shuffle(mixed)
    assert next_seat(mixed) == next_seat(offered)


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
