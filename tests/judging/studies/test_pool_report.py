"""The pool report, by hand."""

import pytest

from judging.studies.selectors import Counts, Overlap, contributions, pool_report
from tests.factories import PoolingFactory
from tests.judging.growing import Growing

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Growing:
    """Query 10 has moments 0 and 1 by similarity, query 20 has 5 alone."""
    scenario = Growing()
    scenario.begin(20, [5])
    return scenario


def test_two_runs_by_hand(collection: Growing) -> None:
    """One returns 0 3 4 and something else for query 10, and nothing new for 20; the other 4 and 6, and 5 and 7."""
    astray = collection.row("one", 4, 8)._replace(video="gamma")
    one = [*collection.rows("one", [0, 3, 4]), astray, *collection.rows("one", [5], query=20)]
    other = [*collection.rows("other", [4, 6]), *collection.rows("other", [5, 7], query=20)]
    pooling = collection.plan([*one, *other])
    report = pool_report(pooling)
    assert [(source.name, counts) for source, counts in report.totals] == [
        ("one", Counts(queries=2, spans=5, unmatched=1, moments=4, in_similarity=2, new=2, new_alone=1)),
        ("other", Counts(queries=2, spans=4, moments=4, in_similarity=1, new=3, new_alone=2)),
    ]
    assert report.union == Counts(
        queries=2, spans=9, unmatched=1, moments=6, in_similarity=2, new=4, new_alone=3, batches=2
    )
    assert [(row.query.number, row.union.new, row.union.batches) for row in report.queries] == [(10, 3, 1), (20, 1, 1)]
    assert report.overlaps == [
        Overlap("similarity", 3, [3, 2, 1]),
        Overlap("one", 4, [2, 4, 2]),
        Overlap("other", 4, [1, 2, 4]),
    ]
    before = (report.totals, report.union, report.overlaps)
    collection.open(pooling)
    after = pool_report(pooling)
    assert (after.totals, after.union, after.overlaps) == before


def test_what_an_earlier_pool_contributed(collection: Growing) -> None:
    first = collection.plan(collection.rows("one", [3, 4]))
    collection.open(first)
    second = collection.plan(collection.rows("other", [3, 6]))
    assert pool_report(second).union == Counts(
        queries=1, spans=2, moments=2, in_earlier_pools=1, new=1, new_alone=1, batches=1
    )
    collection.open(second)
    assert pool_report(first).union.new == 2
    assert pool_report(second).union.in_earlier_pools == 1


def test_a_run_without_any_pooled_query_and_a_plan_of_nothing_yet(collection: Growing) -> None:
    pooling = collection.plan(collection.rows("one", [3], query=99))
    report = pool_report(pooling)
    assert (report.queries, report.totals) == ([], [(pooling.sources.get(), Counts())])
    assert report.batches == 0
    assert [overlap.shared for overlap in pool_report(PoolingFactory()).overlaps] == [[0, 0], [0, 0]]
    collection.plan(collection.rows("one", [0]))  # a plan that is not opened contributed nothing
    assert contributions([collection.query.candidates.get(rank=1).pk]) == {}
