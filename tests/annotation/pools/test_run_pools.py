"""The union of runs: which moments, in what order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.pools.rules import Found, best_ranks, in_batches, moment_of, pooled
from moment_retrieval.records import Span

FOUND = st.lists(st.builds(Found, st.integers(0, 3), st.integers(0, 12), st.integers(1, 9)), max_size=40)
DEPTH = st.integers(1, 9)
IN_POOL = st.sets(st.integers(0, 12))


class TestUnion:
    def test_two_runs_by_hand(self) -> None:
        """One run returns 10, 20, 30; the other 20, 40, 10. 10 and 20 are first somewhere and in both."""
        one = [Found(1, moment, rank) for rank, moment in enumerate([10, 20, 30], start=1)]
        other = [Found(2, moment, rank) for rank, moment in enumerate([20, 40, 10], start=1)]
        assert pooled([*one, *other], depth=3) == [10, 20, 40, 30]
        assert pooled([*one, *other], depth=3, candidate_ids={20, 30}) == [10, 40]
        assert pooled([*one, *other], depth=1) == [10, 20]
        assert pooled([*other, *one], depth=2) == [20, 10, 40]  # at depth 2 only one run returned 10

    @given(FOUND, DEPTH, IN_POOL)
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

    @given(FOUND, DEPTH, st.randoms())
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
