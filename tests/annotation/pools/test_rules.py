"""Ranking the pool, the union of runs, and which moments a coverage study judges: by hand, and for any pool."""

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from annotation.pools import rules as pool_rules
from annotation.pools.rules import (
    DEPTH,
    Found,
    Stratum,
    best_ranks,
    check_strata,
    clipped,
    depth_of,
    in_batches,
    mixed,
    moment_of,
    others_drawn,
    pooled,
    queries_drawn,
    ranks_drawn,
    second_batch_size,
    spans_joined,
    strata_listed,
    strata_of,
    strata_read,
    strata_rows,
    strata_words,
    top_moments,
    top_of,
)
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.records import Span

FEW = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], dtype=np.float32)  # few directions: many ties
vectors = st.lists(st.integers(0, len(FEW) - 1), min_size=1, max_size=12)
moments = st.lists(st.lists(st.integers(0, len(FEW) - 1), min_size=1, max_size=3), min_size=1, max_size=12)


def brute_force(query: NDArray[np.float32], pool: list[list[int]], depth: int) -> list[tuple[int, float]]:
    """Best caption of each moment, rounded; then by similarity down and place up."""
    scored = []
    for index, captions in enumerate(pool):
        similarity = max(round(float(query.astype(np.float64) @ FEW[c].astype(np.float64)), 6) for c in captions)
        scored.append((index, similarity))
    return sorted(scored, key=lambda item: (-item[1], item[0]))[:depth]


def laid_out(pool: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    first = np.cumsum([0, *(len(captions) for captions in pool[:-1])])
    return FEW[[c for captions in pool for c in captions]], first.astype(np.intp)


@given(vectors, moments, st.integers(1, 15))
def test_top_moments_are_those_of_a_double_loop(query_indexes: list[int], pool: list[list[int]], depth: int) -> None:
    captions, first = laid_out(pool)
    results = list(top_moments(FEW[query_indexes], captions, first, depth=depth))
    assert len(results) == len(query_indexes)
    for query, (order, similarity) in zip(FEW[query_indexes], results, strict=True):
        correct = brute_force(query, pool, depth)
        assert order.tolist() == [index for index, _ in correct]
        assert similarity.tolist() == pytest.approx([value for _, value in correct], abs=1e-6)


@given(st.integers(1, 3 * pool_rules.ROWS))
def test_queries_are_answered_in_order_whatever_the_block(n: int) -> None:
    queries = np.tile(FEW[:2], (n, 1))[:n]
    best = [int(order[0]) for order, _ in top_moments(queries, FEW, np.arange(4), depth=1)]
    assert best == [index % 2 for index in range(n)]


def test_depth_of_the_project() -> None:
    captions = np.tile(FEW[0], (100, 1))
    ((order, similarity),) = top_moments(FEW[:1], captions, np.arange(100))
    assert (len(order), DEPTH) == (40, 40)
    assert order.tolist() == list(range(40))
    assert set(similarity) == {1.0}


def test_differences_below_a_millionth_do_not_rank_nor_leave_the_range_of_a_cosine() -> None:
    """Two machines may differ in the last bits; the earlier moment comes first on both."""
    for values, similarities in (((1 - 2e-7, 1), [1.0, 1.0]), ((1.00001, -1.00001), [1.0, -1.0])):
        captions = np.array([[value, 0] for value in values], dtype=np.float32)
        ((order, similarity),) = top_moments(FEW[:1], captions, np.arange(2))
        assert order.tolist() == [0, 1]
        assert similarity.tolist() == similarities


@pytest.mark.parametrize("first", [[], [1], [0, 0], [0, 2, 1]])
def test_a_pool_that_is_none(first: list[int]) -> None:
    with pytest.raises(ValueError, match="no moment|start at 0"):
        list(top_moments(FEW[:1], FEW, np.array(first, dtype=np.intp)))


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(pool_rules, "ROWS", rows)
    chance = np.random.default_rng(rows)
    captions = chance.standard_normal((90, 6)).astype(np.float32)
    captions /= np.linalg.norm(captions, axis=1, keepdims=True)
    first = np.sort(np.concatenate([[0], 1 + chance.choice(89, 59, replace=False)])).astype(np.intp)
    queries = captions[chance.choice(90, 11)]
    cosines = np.maximum.reduceat(queries.astype(np.float64) @ captions.astype(np.float64).T, first, axis=1)
    for row, (order, similarity) in zip(cosines.round(6), top_moments(queries, captions, first, depth=7), strict=True):
        correct = np.lexsort((np.arange(60), -row))[:7]
        assert order.tolist() == correct.tolist()
        assert similarity.tolist() == pytest.approx(np.clip(row[correct], -1, 1).tolist(), abs=1e-12)


FOUND = st.lists(st.builds(Found, st.integers(0, 3), st.integers(0, 12), st.integers(1, 9)), max_size=40)
DEPTHS = st.integers(1, 9)
IN_POOL = st.sets(st.integers(0, 12))


@pytest.mark.parametrize(
    ("strata", "size"),
    [([], 20), ([(1, 10, 10), (11, 30, 10)], 10), ([(1, 20, 20), (21, 60, 10), (61, 100, 5)], 15), ([(1, 9, 4)], 4)],
)
def test_a_second_batch_draws_what_the_first_has_left(strata: list[tuple[int, int, int]], size: int) -> None:
    assert second_batch_size(20, [Stratum(*row) for row in strata]) == size


class TestUnion:
    def test_two_runs_by_hand(self) -> None:
        """One run returns 10, 20, 30; the other 20, 40, 10. 10 and 20 are first somewhere and in both."""
        one = [Found(1, moment, rank) for rank, moment in enumerate([10, 20, 30], start=1)]
        other = [Found(2, moment, rank) for rank, moment in enumerate([20, 40, 10], start=1)]
        assert pooled([*one, *other], depth=3) == [10, 20, 40, 30]
        assert pooled([*one, *other], depth=3, candidate_ids={20, 30}) == [10, 40]
        assert pooled([*one, *other], depth=1) == [10, 20]
        assert pooled([*other, *one], depth=2) == [20, 10, 40]  # at depth 2 only one run returned 10

    @given(FOUND, DEPTHS, IN_POOL)
    def test_it_is_the_union_without_candidates(self, run_rows: list[Found], depth: int, ids_in_pool: set[int]) -> None:
        top = {row.moment for row in run_rows if row.rank <= depth}
        everything, moments = pooled(run_rows, depth=depth), pooled(run_rows, depth=depth, candidate_ids=ids_in_pool)
        assert set(moments) == top - ids_in_pool
        assert len(everything) == len(set(everything))
        assert moments == [moment for moment in everything if moment not in ids_in_pool]
        best = best_ranks((row.moment, row.rank) for row in run_rows if row.rank <= depth)
        ranks = [best[moment] for moment in everything]
        assert ranks == sorted(ranks)  # nobody who was found earlier comes later
        assert set(everything) <= set(pooled(run_rows, depth=depth + 1))

    def test_by_rank_one_run_may_bring_all_and_in_turns_each_brings_its_own(self) -> None:
        """The second run's ranks are one lower: by rank it brings one of three moments, in turns two of four."""
        one = [Found(1, moment, rank) for rank, moment in enumerate([10, 20, 30], start=1)]
        other = [Found(2, moment, rank) for rank, moment in enumerate([10, 50, 60], start=2)]
        assert pooled([*one, *other], depth=9, most=3) == [10, 20, 30]
        assert pooled([*one, *other], depth=9, most=4, in_turns=True) == [10, 50, 20, 60]
        assert pooled([*one, *other], depth=9, in_turns=True) == [10, 50, 20, 60, 30]
        assert pooled([*one, *other], depth=9, most=0) == []

    @given(FOUND, DEPTHS, IN_POOL, st.integers(0, 9))
    def test_in_turns_no_source_is_more_than_one_ahead(
        self, run_rows: list[Found], depth: int, ids_in_pool: set[int], most: int
    ) -> None:
        """As long as it has moments left: of the moments that only it returned, counted with those it brought first."""
        moments = pooled(run_rows, depth=depth, candidate_ids=ids_in_pool, most=most, in_turns=True)
        everything = pooled(run_rows, depth=depth, candidate_ids=ids_in_pool)
        assert len(moments) == min(most, len(everything)) and set(moments) <= set(everything)
        assert set(pooled(run_rows, depth=depth, candidate_ids=ids_in_pool, in_turns=True)) == set(everything)
        own = {
            source: {row.moment for row in run_rows if row.source == source and row.rank <= depth}
            for source in range(4)
        }
        for of_source in own.values():
            if of_source - ids_in_pool - set(moments):  # it has some left, so it never missed its turn
                assert sum(moment in of_source for moment in moments) >= len(moments) // sum(map(bool, own.values()))

    @given(FOUND, DEPTHS, st.randoms())
    def test_the_order_of_the_rows_does_not_matter(self, run_rows: list[Found], depth: int, chance: object) -> None:
        mixed = list(run_rows)
        chance.shuffle(mixed)  # type: ignore[attr-defined]
        assert pooled(mixed, depth=depth) == pooled(run_rows, depth=depth)

    def test_of_equal_best_ranks_more_sources_go_first_then_ids(self) -> None:
        rows = [Found(1, 7, 1), Found(2, 5, 1), Found(3, 9, 1), Found(1, 9, 4), Found(1, 9, 5)]
        assert pooled(rows, depth=4) == [9, 5, 7]


class TestMoment:
    MOMENTS = ((4, Span("v", 0.0, 10.0)), (2, Span("v", 10.0, 20.0)), (3, Span("v", 12.0, 18.0)))

    @pytest.mark.parametrize(
        ("span", "iou_min", "moment"),
        [
            ((0.0, 10.0), 1.0, 4),
            ((0.0, 7.0), 0.7, 4),  # exactly the threshold
            ((0.0, 6.9), 0.7, None),
            ((12.0, 19.0), 0.7, 3),  # IoU 6/7 with 3, 7/10 with 2
            ((10.0, 19.0), 0.7, 2),
            ((19.0, 12.0), 0.1, None),  # ends before it starts
            ((30.0, 40.0), 0.1, None),
            ((5.0, 5.0), 0.1, None),
        ],
    )
    def test_the_one_overlapped_most_if_enough(
        self, span: tuple[float, float], iou_min: float, moment: int | None
    ) -> None:
        span_of_v = Span("v", *span)
        assert moment_of(span_of_v, self.MOMENTS, iou_min=iou_min) == moment
        assert moment_of(span_of_v, [], iou_min=iou_min) is None
        if span_of_v.start_s < span_of_v.end_s:  # of equal overlaps the smaller id
            assert moment_of(span_of_v, [(9, span_of_v), (8, span_of_v)], iou_min=iou_min) == 8


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (1, [1]), (20, [20]), (45, [20, 20, 5])])
def test_batches_are_whole_but_the_last(n: int, sizes: list[int]) -> None:
    assert [len(batch) for batch in in_batches(range(n), 20)] == sizes


MOMENTS = st.lists(st.integers(0, 300), unique=True)
SEEDS = st.integers(0, 2**31)


def test_what_was_frozen_keeps_its_rank_whatever_is_ranked_now() -> None:
    assert top_of([5, 3], [3, 9, 5, 7, 1], 4) == [5, 3, 9, 7]
    assert top_of([5, 3, 8], [1, 2], 2) == [5, 3]
    assert top_of([], [4, 2], 5) == [4, 2]


@given(MOMENTS, MOMENTS, st.integers(1, 60))
def test_the_best_are_distinct_and_as_many_as_there_are(frozen: list[int], ranked: list[int], top: int) -> None:
    best = top_of(frozen, ranked, top)
    assert len(best) == len(set(best)) == min(top, len(set(frozen) | set(ranked)))
    assert best[: len(frozen)] == frozen[:top]


@given(MOMENTS, MOMENTS, st.integers(0, 80), SEEDS, st.integers(1, 9))
def test_others_are_none_of_the_best(pool: list[int], top: list[int], n: int, seed: int, query: int) -> None:
    others = others_drawn(pool, top, n, seed=seed, query=query)
    rest = set(pool) - set(top)
    assert set(others) <= rest
    assert len(others) == len(set(others)) == min(n, len(rest))


@given(MOMENTS, MOMENTS, SEEDS, st.randoms())
def test_a_draw_can_be_drawn_again(pool: list[int], top: list[int], seed: int, chance: random.Random) -> None:
    """The order in which moments come does not matter, nor do other queries of the study."""
    first_draw = others_drawn(pool, top, 20, seed=seed, query=7)
    chance.shuffle(pool)
    chance.shuffle(top)
    assert others_drawn(pool, top, 20, seed=seed, query=7) == first_draw


def test_every_other_is_as_likely_and_queries_are_drawn_apart() -> None:
    draws = [others_drawn(range(10), {0, 1}, 4, seed=seed, query=1) for seed in range(2000)]
    counts = Counter(moment for draw in draws for moment in draw)
    assert set(counts) == set(range(2, 10))
    assert all(counts[moment] == pytest.approx(1000, abs=120) for moment in range(2, 10))  # over five deviations
    assert others_drawn(range(100), (), 9, seed=1, query=1) != others_drawn(range(100), (), 9, seed=1, query=2)


@given(st.lists(st.integers(0, 500)), st.integers(1, 30), SEEDS)
def test_queries_drawn(numbers: list[int], n: int, seed: int) -> None:
    sample = queries_drawn(numbers, n, seed=seed)
    assert sample == sorted(set(sample)) == queries_drawn(reversed(numbers), n, seed=seed)
    assert len(sample) == min(n, len(set(numbers)))
    assert set(sample) <= set(numbers)


def test_mixing_keeps_all() -> None:
    items = list(range(50))
    shuffled = mixed(items, seed=3, query=8)
    assert sorted(shuffled) == items
    assert shuffled != items
    assert shuffled == mixed(items, seed=3, query=8)


def strata_from(parts: list[tuple[int, int]]) -> list[Stratum]:
    """Return strata one behind the other, of (width, sample)."""
    strata: list[Stratum] = []
    for width, sample in parts:
        first = strata[-1].last + 1 if strata else 1
        strata.append(Stratum(first, first + width - 1, min(sample, width)))
    return strata


STRATA = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=4).map(strata_from)


class TestStrata:
    @given(STRATA, st.sets(st.integers(1, 60)), st.text(max_size=5))
    def test_two_batches_hold_as_many_of_each_stratum_as_they_can_and_none_twice(
        self, strata: list[Stratum], ranks: set[int], seed: str
    ) -> None:
        batch = ranks_drawn(ranks, strata, seed=seed)
        assert batch == ranks_drawn(sorted(ranks, reverse=True), strata, seed=seed)
        second = ranks_drawn(ranks - set(batch), strata, seed=f"{seed} 2")
        assert batch == sorted(set(batch)) and second == sorted(set(second))
        assert set(batch) | set(second) <= ranks and not set(batch) & set(second)
        assert not any(rank > strata[-1].last for rank in batch)
        for stratum in strata:
            n_ranks, n_first, n_second = (sum(map(stratum.holds, each)) for each in (ranks, batch, second))
            assert n_first == min(stratum.sample, n_ranks)
            assert n_second == min(stratum.sample, n_ranks - n_first)

    def test_every_rank_of_a_stratum_is_as_likely(self) -> None:
        """Of 2,000 seeds each of ten ranks is in 600 first batches of three, and each two of them in 133; with a second
        batch each is in 1,200. Five standard deviations are allowed."""
        strata = [Stratum(1, 2, 2), Stratum(3, 12, 3)]
        first, both, two = Counter[int](), Counter[int](), Counter[tuple[int, ...]]()
        for seed in range(2000):
            batch = ranks_drawn(range(1, 13), strata, seed=f"batch {seed} 1")
            second = ranks_drawn(set(range(1, 13)) - set(batch), strata, seed=f"batch {seed} 2")
            first.update(batch)
            both.update([*batch, *second])
            two.update(combinations([rank for rank in batch if rank > 2], 2))
        assert first[1] == first[2] == both[1] == 2000
        assert all(abs(first[rank] - 600) < 5 * 20.5 for rank in range(3, 13))
        assert all(abs(both[rank] - 1200) < 5 * 21.9 for rank in range(3, 13))
        assert len(two) == 45 and all(abs(n - 2000 / 15) < 5 * 11.2 for n in two.values())

    @given(STRATA)
    def test_what_is_written_is_read_again(self, strata: list[Stratum]) -> None:
        rows = [list(stratum) for stratum in strata]
        check_strata(strata, batch_size=sum(stratum.sample for stratum in strata))
        assert strata_read(strata_words(rows)) == rows == strata_rows(strata_listed(rows))
        assert strata_of(rows) == strata
        assert depth_of(5, strata) == max(40, strata[-1].last)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("1-20", "'1-20' is no stratum"),
            ("2-20: 19", "begins with rank 1,"),
            ("1-10: 10, 12-20: 9", "begins with rank 11"),
            ("1-10: 10, 10-20: 9", "begins with rank 11"),
            ("1-10: 10, 11-9: 9", "ends with a rank from 11 to 1000"),
            ("1-1001: 19", "ends with a rank from 1 to 1000"),
            ("1-18: 19", "1 to 18 ranks can be drawn"),
            ("1-19: 0", "1 to 19 ranks can be drawn"),
            ("1-20: 19", "draw 19 pairs for a batch, which has 20"),
        ],
    )
    def test_strata_that_cannot_be(self, text: str, reason: str) -> None:
        with pytest.raises(ValueError, match=reason):
            check_strata(strata_of(strata_read(text)), batch_size=20)

    @pytest.mark.parametrize("rows", [{}, [1], [{"first": 1, "last": 20}], [{"first": 1, "last": 20, "sample": 2.0}]])
    def test_rows_that_are_none(self, rows: object) -> None:
        with pytest.raises(ValueError, match="list|whole numbers"):
            strata_rows(rows)


spans = st.tuples(st.integers(0, 9), st.integers(1, 6), st.sampled_from("ab")).map(
    lambda values: Span(values[2], float(values[0]), float(values[0] + values[1]))
)
ranked_spans = st.lists(st.tuples(spans, st.integers(1, 3)), max_size=15)


@given(ranked_spans, st.randoms(use_true_random=False))
def test_spans_become_the_same_moments_in_whatever_order_runs_are_read(
    ranked: list[tuple[Span, int]], shuffler: random.Random
) -> None:
    targets = spans_joined(ranked, iou_min=0.5)
    others = list(ranked)
    shuffler.shuffle(others)
    assert spans_joined(others, iou_min=0.5) == targets
    moments = set(targets.values())
    assert set(targets) == {span for span, _ in ranked} and all(targets[span] == span for span in moments)
    for span, target in targets.items():
        overlaps = [span_iou(span, moment) for moment in moments - {span} if moment.video == span.video]
        if target == span:  # no two moments made overlap so much
            assert all(overlap < 0.5 for overlap in overlaps)
        else:
            assert span.video == target.video and span_iou(span, target) >= 0.5
    best = min(ranked, key=lambda item: item[1], default=None)
    assert best is None or any(rank == best[1] for span, rank in ranked if span in moments)


def test_the_best_rank_becomes_the_moment_and_others_join_the_nearest() -> None:
    first, second, near, far = (Span("a", *times) for times in ((0.0, 10.0), (8.0, 18.0), (2.0, 12.0), (30.0, 31.0)))
    ranked = [(near, 3), (second, 2), (first, 1), (far, 9)]
    assert spans_joined(ranked, iou_min=0.5) == {first: first, second: second, near: first, far: far}


@pytest.mark.parametrize(
    ("times", "within"), [((-1, 5), (0, 5)), ((8, 99), (8, 10)), ((-3, 30), (0, 10)), ((2, 4), (2, 4))]
)
def test_spans_are_clipped_to_their_video(times: tuple[float, float], within: tuple[float, float]) -> None:
    assert clipped(Span("a", *times), 10.0) == Span("a", *within)


@pytest.mark.parametrize("times", [(10, 12), (-4, 0), (5, 5)])
def test_a_span_with_nothing_of_its_video_is_refused(times: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="holds nothing of its video of 10 s"):
        clipped(Span("a", *times), 10.0)
