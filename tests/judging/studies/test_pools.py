"""Pooling from runs: which pairs come of it, in which batches, and what a query's being judged again means."""

from copy import deepcopy

import pytest

from annotation.models import Candidate, Moment, PoolEntry, Pooling
from annotation.pools.services.poolings import pooling_discard
from core.exceptions import NotPossible
from core.models import AuditEvent, Job
from judging.exceptions import NothingBeyond
from judging.models import Batch, BatchReview, Pair
from judging.releases.selectors import finished_queries
from judging.review.selectors import review_queue
from judging.review.services import batch_review
from judging.studies import services
from judging.studies.selectors import contributions, pool_report
from judging.studies.services import OPENINGS, pool_open, pool_open_request
from judging.work.services.batches import batch_create, batch_extend, batches_sweep
from tests.conftest import Messages, hash_with
from tests.factories import MINUTES, NamedQuerySetFactory, QueryFactory
from tests.judging.growing import Growing
from tests.judging.play import judge_round

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Growing:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return Growing()


@pytest.fixture
def collection(db: None, module_scenario: Growing) -> Growing:
    return deepcopy(module_scenario)


class TestPlan:
    def test_two_runs_by_hand(self, collection: Growing) -> None:
        """Of 0 3 7 and 7 0 4 the moments 3, 7 and 4 are new: 7 is first somewhere, 3 second, 4 third."""
        pooling = collection.plan([*collection.rows("one", [0, 3, 7]), *collection.rows("other", [7, 0, 4])])
        (batch,) = collection.open(pooling)
        assert (batch.number, batch.query, collection.indexes_of(batch)) == (3, collection.query, [7, 3, 4])
        candidates = collection.query.candidates.order_by("rank")
        assert list(candidates.values_list("rank", "source")) == [
            *[(1, "similarity"), (2, "similarity")],
            *[(3, "pooled"), (4, "pooled"), (5, "pooled")],
        ]
        seven, three = (candidates.get(moment=collection.moments[index]).pk for index in (7, 3))
        assert contributions([seven, three]) == {seven: [("other", 1), ("one", 3)], three: [("one", 2)]}

    def test_a_span_needs_enough_overlap_within_the_depth(self, collection: Growing) -> None:
        rows = [collection.row("one", 1, 3, off=3.0), collection.row("one", 2, 4, off=3.5), collection.row("one", 3, 3)]
        pooling = collection.plan([*rows, collection.row("one", 5, 6)], depth=4)
        answer = pooling.sources.get().answers.get()
        assert (answer.spans, answer.unmatched) == (3, 1)
        assert PoolEntry.objects.get(answer__source__pooling=pooling).rank == 1  # the better of two spans of it
        (batch,) = collection.open(pooling)
        assert collection.indexes_of(batch) == [3]

    def test_a_video_or_a_query_of_another_collection_or_without_a_batch(self, collection: Growing) -> None:
        QueryFactory(project=collection.project, number=20)
        other = [collection.row("one", 1, 3, query=number) for number in (99, 98, 20)]
        elsewhere = collection.row("one", 1, 3)._replace(video="gamma")
        pooling = collection.plan([elsewhere, *other])
        source = pooling.sources.get()
        assert (source.other_queries, source.answers.get().unmatched) == (3, 1)
        assert collection.open(pooling) == []
        with pytest.raises(NotPossible, match="has a batch yet"):
            collection.plan(collection.rows("one", [3]), split="test")

    def test_a_moment_nobody_can_watch_is_counted_and_left_out(self, collection: Growing) -> None:
        moment, later = (Moment.objects.filter(pk=collection.moments[index].pk) for index in (3, 5))
        moment.update(preview_state="failed", preview_error="gone")
        pooling = collection.plan(collection.rows("one", [3, 4, 5]))
        assert pooling.sources.get().answers.get().without_preview == 1
        later.update(preview_state="failed", preview_error="gone")
        (batch,) = collection.open(pooling)
        assert collection.indexes_of(batch) == [4]
        assert Candidate.objects.filter(source="pooled").count() == 1

    def test_a_duplicate_answers_for_the_query_judged_for_it(self, collection: Growing) -> None:
        QueryFactory(project=collection.project, number=11, text=collection.query.text, judged_as=collection.query)
        pooling = collection.plan([*collection.rows("one", [3]), *collection.rows("one", [4], query=11)])
        (batch,) = collection.open(pooling)
        assert (batch.query, collection.indexes_of(batch)) == (collection.query, [3, 4])

    def test_one_split_or_one_set(self, collection: Growing) -> None:
        other = collection.begin(20, split="test")
        query_set = NamedQuerySetFactory(project=collection.project)
        other.query_set = query_set
        other.save()
        rows = [*collection.rows("one", [3]), *collection.rows("one", [3], query=20)]
        for scope in ({"split": "test"}, {"query_set": query_set}):
            pooling = collection.plan(rows, **scope)
            assert [answer.query for answer in pooling.sources.get().answers.all()] == [other]


class TestMost:
    ROWS = ("one", [3, 4, 5, 6]), ("other", [0, 7, 3])

    @pytest.mark.parametrize(("mixing", "indexes"), [("rank", [3, 4, 7]), ("turns", [3, 7, 4])])
    def test_a_query_gets_so_many_new_candidates(self, collection: Growing, mixing: str, indexes: list[int]) -> None:
        rows = [row for run in self.ROWS for row in collection.rows(*run)]
        pooling = collection.plan(rows, most=3, mixing=mixing)
        union = pool_report(pooling).union
        assert (union.new, union.surplus, union.to_judge, union.batches) == (5, 2, 3, 1)
        (batch,) = collection.open(pooling)
        assert collection.indexes_of(batch) == indexes
        Pooling.objects.update(state="opening")
        assert pool_open(pooling_id=pooling.pk) == 0  # a repeat adds no further three
        assert pool_report(pooling).union.to_judge == 3

    def test_another_pool_may_take_what_was_left(self, collection: Growing) -> None:
        collection.open(collection.plan(collection.rows("one", [3, 4]), most=1))
        pooling = collection.plan(collection.rows("other", [3, 4]), most=1)
        assert (pool_report(pooling).union.in_earlier_pools, pool_report(pooling).union.to_judge) == (1, 1)
        (batch,) = collection.open(pooling)
        assert collection.indexes_of(batch) == [4]


class TestOpen:
    def test_twenty_a_batch(self) -> None:
        scenario = Growing(moments=24)
        pooling = scenario.plan(scenario.rows("one", range(2, 47)), depth=45)
        batches = scenario.open(pooling)
        assert [(batch.number, batch.pairs.count()) for batch in batches] == [(3, 20), (4, 20), (5, 5)]
        assert [index for batch in batches for index in scenario.indexes_of(batch)] == list(range(2, 47))
        assert list(scenario.query.candidates.order_by("rank").values_list("rank", flat=True)) == list(range(1, 48))

    def test_again_changes_nothing(self, collection: Growing, messages: Messages) -> None:
        pooling = collection.plan(collection.rows("one", [3, 4]))
        collection.open(pooling)
        before = list(Pair.objects.values_list())
        with messages():
            pool_open_request(pooling=pooling, actor=collection.lead)
        with pytest.raises(NotPossible, match="pairs are judged"):
            pooling_discard(pooling=pooling)
        Pooling.objects.update(state="opening")
        assert pool_open(pooling_id=pooling.pk) == 0
        assert list(Pair.objects.values_list()) == before
        event = AuditEvent.objects.get(action="pool.open")
        assert (event.actor, event.subject) == (collection.lead, pooling.uuid)
        assert event.data == {"sources": ["one"], "depth": 20, "iou_min": 0.7, "split": "", "query_set": ""}

    def test_what_a_kill_left_is_finished(self, collection: Growing, messages: Messages) -> None:
        """One query is done, the task is killed, the sweep sends it again."""
        collection.begin(20)
        pooling = collection.plan([*collection.rows("one", [3]), *collection.rows("one", [3], query=20)])
        collection.open(pooling)
        second = Batch.objects.get(query__number=20, number=3)
        second.pairs.all().delete()
        second.delete()
        Pooling.objects.update(state="opening")
        Job.objects.update(state="running")
        with messages():
            OPENINGS.sweep(Job.objects.get().updated_at + 2 * MINUTES)
        assert list(Batch.objects.filter(number=3).values_list("query__number", "pairs__candidate__rank")) == [
            (10, 3),
            (20, 3),
        ]
        assert (Pooling.objects.get().state, Job.objects.get().state) == ("done", "done")

    def test_what_went_wrong_is_reported_and_another_word_goes_on(
        self, collection: Growing, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pooling = collection.plan(collection.rows("one", [3]))
        with monkeypatch.context() as patch:
            patch.setattr(services, "candidates_pool", lambda **_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                collection.open(pooling)
        assert (Pooling.objects.get().state, Job.objects.get().state) == ("opening", "failed")
        with messages():
            OPENINGS.sweep(Job.objects.get().updated_at + 2 * MINUTES)
        assert not Candidate.objects.filter(source="pooled").exists()
        with messages():
            pool_open_request(pooling=pooling, actor=collection.lead)
        assert Pooling.objects.get().state == "done"
        assert Candidate.objects.filter(source="pooled").count() == 1

    def test_a_second_pool_goes_behind_the_first_and_follows_the_query_set(self, collection: Growing) -> None:
        collection.open(collection.plan(collection.rows("one", [3, 4])))
        collection.query.query_set = NamedQuerySetFactory(project=collection.project, priority=1, is_paused=True)
        collection.query.save()
        (batch,) = collection.open(collection.plan(collection.rows("other", [4, 8, 3])))
        assert (batch.number, collection.indexes_of(batch)) == (4, [8])
        assert batch.pairs.get().candidate.rank == 5
        assert (batch.priority, batch.is_paused, batch.is_pilot) == (1, True, False)

    def test_a_plan_that_was_discarded(self, collection: Growing) -> None:
        pooling = collection.plan(collection.rows("one", [3]))
        for _ in range(2):
            pooling_discard(pooling=pooling)
        assert not PoolEntry.objects.exists()
        with pytest.raises(NotPossible, match="no plan"):
            pool_open_request(pooling=pooling, actor=collection.lead)


class TestJudging:
    def test_a_query_is_unfinished_until_its_pooled_batches_are_done_without_a_review(
        self, collection: Growing
    ) -> None:
        collection.close()
        assert collection.query in finished_queries(collection.project.pk)
        (batch,) = collection.open(collection.plan(collection.rows("one", [3])))
        assert collection.query not in finished_queries(collection.project.pk)
        judge_round(batch, [4], [4])
        assert collection.query in finished_queries(collection.project.pk)
        assert not review_queue(collection.project).exists()
        with pytest.raises(Exception, match="not waiting"):
            batch_review(batch=batch, extend=True, lead=collection.lead)

    def test_a_pool_before_the_review_does_not_stand_in_for_a_second_batch(self) -> None:
        """Twenty candidates by similarity: nothing is beyond them, whatever ranks the pool has."""
        scenario = Growing(moments=24, candidates=range(20))
        query, first = scenario.query, scenario.batch
        (second,) = scenario.open(scenario.plan(scenario.rows("one", range(20, 23))))
        assert query.candidates.filter(rank=21, source="pooled").exists()
        judge_round(first, [2] * 20, [2] * 20)
        with pytest.raises(NothingBeyond):
            batch_review(batch=first, extend=True, lead=scenario.lead)
        BatchReview.objects.create(batch=first, decision="extend", suggestion="extend")  # as of an older project
        assert batch_extend(batch_id=first.pk) is None
        batches_sweep()
        assert list(query.batches.order_by("number").values_list("number", flat=True)) == [1, 3]
        judge_round(second, [1] * 3, [1] * 3)
        assert query in finished_queries(scenario.project.pk)

    def test_a_second_batch_opens_beside_a_pooled_one(self) -> None:
        scenario = Growing(moments=24, candidates=range(22))
        scenario.open(scenario.plan(scenario.rows("one", [21, 30])))
        second = batch_create(query=scenario.query, number=2)
        assert second is not None
        assert scenario.indexes_of(second) == [20, 21]


class TestClosedQueries:
    """A lead closed the query after 20 of its candidates; a run returns one of the others."""

    @pytest.fixture
    def collection(self) -> Growing:
        return Growing(moments=24, candidates=range(24))

    def test_what_was_passed_over_is_judged_after_all(self, collection: Growing) -> None:
        rows = collection.rows("one", [22, 3, 30])
        assert pool_report(collection.plan(rows)).union.passed_over == 0  # while the lead may still extend it
        collection.close()
        pooling = collection.plan(rows)
        report = pool_report(pooling)
        assert (report.union.passed_over, report.union.new, report.union.to_judge) == (1, 1, 2)
        (batch,) = collection.open(pooling)
        assert collection.indexes_of(batch) == [22, 30]
        assert [pair.candidate.source for pair in batch.pairs.order_by("candidate__rank")] == ["similarity", "pooled"]
        assert pool_report(pooling).union == report.union
