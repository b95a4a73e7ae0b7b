"""Which pairs of known truth are drawn: evenly over the levels, or one of each."""

import random
from collections import Counter
from decimal import Decimal
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.qualification.rules.truth import TooFew, draw_even, draw_levels, rounded_up, unevenness

FIVE = range(5)
HALF = Decimal("0.5")
Known = list[tuple[int, int, Decimal | int]]  # pair, query, truth


def spread(selection: list[int], pairs: Known) -> list[int]:
    """How many of the pairs drawn have each truth."""
    truth = {pair: rounded_up(level) for pair, _, level in pairs}
    return [sum(truth[pair] == level for pair in selection) for level in range(5)]


def known_pairs(queries: int, each: int, *, seed: int, weights: tuple[int, ...] = (6, 20, 30, 24, 15)) -> Known:
    """Pairs of known truth, mostly in the middle; a query's pairs lean the same way."""
    chance = random.Random(seed)
    pairs: Known = []
    for query in range(queries):
        lean = chance.choice((-1, 0, 0, 1))
        for level in chance.choices(range(5), weights, k=each):
            pairs.append((len(pairs), query, Decimal(min(4, max(0, level + lean))) - HALF * (level == 4)))
    chance.shuffle(pairs)
    return pairs


known_truths = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([Decimal(half) / 2 for half in range(9)])), max_size=40
).map(lambda rows: [(100 + index, query, truth) for index, (query, truth) in enumerate(rows)])


@settings(max_examples=80)
@given(known_truths, st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_a_draw_has_the_right_counts_of_known_pairs(pairs: Known, queries: int, per_query: int, seed: int) -> None:
    selection = draw_even(pairs, queries=queries, per_query=per_query, grades=FIVE, seed=seed)
    enough = [query for query, n in Counter(query for _, query, _ in pairs).items() if n >= per_query]
    if len(enough) < queries:
        assert isinstance(selection, TooFew)
        return
    assert isinstance(selection, list)
    query_of = {pair: query for pair, query, _ in pairs}
    assert sorted(Counter(query_of[pair] for pair in selection).values()) == [per_query] * queries
    assert len(set(selection)) == len(selection)
    assert draw_even(pairs, queries=queries, per_query=per_query, grades=FIVE, seed=seed) == selection


def test_a_seed_draws_the_same_in_every_version() -> None:
    """An exam keeps its seed, so that its draw can be repeated years later."""
    pairs = [(100 + index, index // 5, Decimal(index % 5)) for index in range(15)]
    assert draw_even(pairs, queries=2, per_query=4, grades=FIVE, seed=7) == [112, 111, 110, 114, 102, 103, 104, 100]


def test_a_draw_is_more_even_than_a_plain_one() -> None:
    """Twenty of each level, or all that ten queries can have of the scarcest and the rest even."""
    plain = []
    for seed in range(20):
        pairs = known_pairs(15, 20, seed=seed)
        of_query = {query: [pair for pair, of, _ in pairs if of == query] for query in range(15)}
        chance = random.Random(seed)
        at_random = [pair for query in chance.sample(range(15), 10) for pair in chance.sample(of_query[query], 10)]
        selection = draw_even(pairs, queries=10, per_query=10, grades=FIVE, seed=seed)
        assert isinstance(selection, list)
        lowest, *others = spread(selection, pairs)
        assert lowest == min(20, sum(sorted(spread(of_query[query], pairs)[0] for query in range(15))[-10:]))
        assert max(others) - min(others) <= 1
        plain.append(unevenness(spread(at_random, pairs)))
        assert unevenness([lowest, *others]) <= plain[-1]
    assert fmean(plain) > 2250  # as against 2000


def test_queries_with_scarce_levels_come_first() -> None:
    """Only the last three of thirty queries have any 0 or 4."""
    pairs: Known = [(query * 10 + index, query, 1 + index % 3) for query in range(27) for index in range(10)]
    pairs += [(query * 10 + index, query, 4 * (index % 2)) for query in range(27, 30) for index in range(10)]
    selection = draw_even(pairs, queries=5, per_query=5, grades=FIVE, seed=1)
    assert isinstance(selection, list)
    assert spread(selection, pairs) == [5, 5, 5, 5, 5]


@settings(max_examples=80)
@given(known_truths, st.integers(1, 4), st.integers(1, 5), st.integers(0, 99), st.data())
def test_no_more_shown_pairs_are_drawn_than_it_takes(
    pairs: Known, queries: int, per_query: int, seed: int, data: st.DataObject
) -> None:
    shown_pairs = {pair for pair, _, _ in pairs if data.draw(st.booleans())}
    selection = draw_even(pairs, queries=queries, per_query=per_query, grades=FIVE, seed=seed, shown_before=shown_pairs)
    plain = draw_even(pairs, queries=queries, per_query=per_query, grades=FIVE, seed=seed)
    if isinstance(plain, TooFew):
        assert selection == plain
        return
    assert isinstance(selection, list)
    query_of = {pair: query for pair, query, _ in pairs}
    assert sorted(Counter(query_of[pair] for pair in selection).values()) == [per_query] * queries
    assert len(set(selection)) == len(selection)
    pairs_per_query = Counter(query for _, query, _ in pairs)
    fresh = Counter(query for pair, query, _ in pairs if pair not in shown_pairs)
    lacking = sorted(
        max(0, per_query - fresh[query]) for query in pairs_per_query if pairs_per_query[query] >= per_query
    )
    assert len(shown_pairs.intersection(selection)) == sum(lacking[:queries])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "pairs of known truth not seen before: 0, where 20"),
        (known_pairs(3, 4, seed=1), "pairs of known truth not seen before: 12, where 20"),
        (known_pairs(10, 9, seed=1), "queries with 10 pairs each of known truth not seen before: 0, where 2"),
    ],
)
def test_too_few_pairs_are_reported(pairs: Known, words: str) -> None:
    assert str(draw_even(pairs, queries=2, per_query=10, grades=FIVE, seed=1)) == f"Too few {words} are needed."


@pytest.mark.parametrize(
    ("truths", "chosen_levels"),
    [
        ([0, 1, 2, 3, 4, 2, 2, 2], [0, 1, 2, 3, 4]),
        ([HALF, 0, 2, 3, 4], [0, 1, 2, 3, 4]),
        ([2, 2, 2, 2, 2], [2, 2, 2, 2, 2]),
        ([0, 0, 2, 3, 3], [0, 0, 2, 3, 3]),
        ([1, 1, 1, 4, 4, 4, 4], [1, 1, 1, 4, 4]),
        ([0, 0, 1, 2, 3, 3], [0, 1, 2, 3, 3]),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_warm_up_has_every_level_or_the_nearest(
    truths: list[Decimal | int], chosen_levels: list[int], seed: int
) -> None:
    selection = draw_levels(list(enumerate(truths)), grades=FIVE, seed=seed)
    assert isinstance(selection, list)
    assert len(set(selection)) == 5
    assert sorted(rounded_up(truths[pair]) for pair in selection) == chosen_levels
    assert draw_levels(list(enumerate(truths)), grades=FIVE, seed=seed) == selection


def test_a_warm_up_does_not_climb_the_levels() -> None:
    orders = [draw_levels(list(enumerate(range(5))), grades=FIVE, seed=seed) for seed in range(20)]
    assert len({tuple(selection) for selection in orders if isinstance(selection, list)}) > 10


def test_too_few_for_a_warm_up() -> None:
    selection = draw_levels([(1, 2), (2, 3)], grades=FIVE, seed=1)
    assert str(selection) == "Too few pairs of known truth not seen before: 2, where 5 are needed."


@pytest.mark.parametrize("n_grades", [2, 3, 10])
def test_draws_on_other_scales_are_even(n_grades: int) -> None:
    grades = range(n_grades)
    pairs: Known = [(index, index // 20, index % 7 % n_grades) for index in range(200)]
    pairs += [(200 + index, 10, n_grades - 1 - index % n_grades) for index in range(20)]
    selection = draw_even(pairs, queries=1, per_query=n_grades * 2, grades=grades, seed=1)
    assert isinstance(selection, list)
    truth = {pair: level for pair, _, level in pairs}
    assert Counter(truth[pair] for pair in selection) == dict.fromkeys(grades, 2)
    warm_up = draw_levels([(pair, level) for pair, _, level in pairs], grades=grades, seed=1)
    assert isinstance(warm_up, list)
    assert sorted(truth[pair] for pair in warm_up) == [*grades]
    one_less = draw_levels([(level, level) for level in grades[1:]], grades=grades, seed=1)
    assert str(one_less).endswith(f"{n_grades - 1}, where {n_grades} are needed.")
