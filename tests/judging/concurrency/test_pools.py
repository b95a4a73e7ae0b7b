"""Pools are opened, and candidates ranked again, while something else happens to the query."""

from functools import partial

import pytest

from annotation.models import Candidate, Pooling
from annotation.pools.services import poolings
from annotation.pools.services.candidates import candidates_clear
from core.models import AuditEvent
from judging.exceptions import ReviewStands
from judging.models import Batch, Pair
from judging.review import services as review_services
from judging.review.selectors import queries_unfrozen
from judging.studies import services
from judging.studies.selectors import contributions
from judging.work.services import batches
from tests.factories import CandidateFactory
from tests.judging.concurrency.meeting import Meet
from tests.judging.growing import Growing

pytestmark = pytest.mark.django_db(transaction=True)
ADDING = (services, "candidates_pool")  # the query is locked, nothing is added yet
OPENING = (services, "batches_pool")  # candidates are added, nothing is committed


@pytest.fixture
def collection() -> Growing:
    return Growing()


def confirmed(scenario: Growing, pooling: Pooling) -> Pooling:
    return services.pool_open_request(pooling=pooling, actor=scenario.lead, wake=False)


class TestTwoPools:
    @pytest.mark.parametrize("call_site", [ADDING, OPENING], ids=["about to add", "added"])
    def test_of_one_query(self, meet: Meet, collection: Growing, call_site: tuple[object, str]) -> None:
        """Both want moment 3; the second finds it a candidate, and goes behind the first."""
        first = confirmed(collection, collection.plan(collection.rows("one", [3, 4])))
        second = confirmed(collection, collection.plan(collection.rows("other", [3, 8])))
        opening = [partial(services.pool_open, pooling_id=pooling.pk) for pooling in (first, second)]
        assert meet(call_site, *opening) == [1, 1]
        new_batches = Batch.objects.filter(number__gt=2).order_by("number")
        assert [(batch.number, collection.indexes_of(batch)) for batch in new_batches] == [(3, [3, 4]), (4, [8])]
        assert list(collection.query.candidates.order_by("rank").values_list("rank", flat=True)) == [1, 2, 3, 4, 5]
        three = collection.query.candidates.get(moment=collection.moments[3])
        assert contributions([three.pk]) == {three.pk: [("one", 1), ("other", 1)]}

    def test_one_pool_at_two_workers(self, meet: Meet, collection: Growing) -> None:
        pooling = confirmed(collection, collection.plan(collection.rows("one", [3, 4])))
        opening = partial(services.pool_open, pooling_id=pooling.pk)
        assert meet(ADDING, opening, opening, until_it_ends=True) == [1, 0]
        assert Pair.objects.filter(batch__number=3).count() == 2

    def test_two_words_for_one_pool(self, meet: Meet, collection: Growing) -> None:
        pooling = collection.plan(collection.rows("one", [3]))
        say = partial(poolings.pooling_confirm, pooling=pooling, actor=collection.lead)
        first, second = meet((poolings, "audit_record"), say, say)
        assert first == second
        assert AuditEvent.objects.filter(action="pool.open").count() == 1

    def test_a_word_and_the_waste_basket(self, meet: Meet, collection: Growing) -> None:
        pooling = collection.plan(collection.rows("one", [3]))
        say = partial(poolings.pooling_confirm, pooling=pooling, actor=collection.lead)
        discard = partial(poolings.pooling_discard, pooling=pooling)
        _, refusal = meet((poolings, "audit_record"), say, discard)
        assert "pairs are judged" in str(refusal)
        assert Pooling.objects.get().state == "opening"


def test_a_pool_meets_a_second_batch(meet: Meet) -> None:
    scenario = Growing(moments=24, candidates=range(22))
    pooling = confirmed(scenario, scenario.plan(scenario.rows("one", [30])))
    opening = partial(services.pool_open, pooling_id=pooling.pk)
    extending = partial(batches.batch_create, query=scenario.query, number=2)
    n_opened, second = meet(OPENING, opening, extending)
    assert (n_opened, scenario.indexes_of(second)) == (1, [20, 21])
    assert scenario.indexes_of(Batch.objects.get(number=3)) == [30]


def test_a_pool_that_takes_what_closing_left_out_meets_its_undoing(meet: Meet) -> None:
    scenario = Growing(moments=24, candidates=range(22))
    scenario.close()
    pooling = confirmed(scenario, scenario.plan(scenario.rows("one", [21])))
    opening = partial(services.pool_open, pooling_id=pooling.pk)
    undoing = partial(review_services.review_undo, batch=scenario.batch, lead=scenario.lead)
    n_opened, refusal = meet(OPENING, opening, undoing)
    assert (n_opened, type(refusal)) == (1, ReviewStands)
    assert scenario.indexes_of(Batch.objects.get(number=3)) == [21]


def test_ranking_again_meets_the_first_batch(meet: Meet) -> None:
    """The batch is opened first, so its candidates stay."""
    query = CandidateFactory().query
    unfrozen = queries_unfrozen(query.project)
    opening = partial(batches.batch_create, query=query, number=1)
    clearing = partial(candidates_clear, queries=unfrozen)
    batch, cleared = meet((batches, "_batch_open"), opening, clearing)
    assert (batch.pairs.count(), cleared) == (1, 0)
    assert Candidate.objects.count() == 1
