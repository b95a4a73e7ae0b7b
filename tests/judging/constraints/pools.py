"""Results of runs, and the candidates made from them."""

from typing import Any
from uuid import uuid4

from annotation.models import Candidate, PoolAnswer, PoolEntry, Pooling, PoolSource, PoolSpan, PoolSpanEntry
from tests.factories import (
    NOW,
    BatchFactory,
    CandidateFactory,
    MeasureFactory,
    MomentFactory,
    PoolingFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
)
from tests.judging.constraints.writes import More, Refused, Write, adding, again, change, deletion, maker

pooling = maker(Pooling, project=ProjectFactory, depth=1, iou_min=1)
source = maker(PoolSource, name="one", pooling=PoolingFactory)
answer = maker(PoolAnswer, source=source, query=QueryFactory, spans=2, unmatched=1, without_preview=1)
span = maker(PoolSpan, pooling=PoolingFactory, video=VideoFactory, start_s=1, end_s=2)
span_entry = maker(PoolSpanEntry, answer=answer, span=span, rank=1)
entry = maker(PoolEntry, answer=answer, moment=MomentFactory, rank=1)


def pooled_candidate(**values: Any) -> Candidate:
    """A candidate behind those of its query's first batch."""
    query = values.pop("query", None) or BatchFactory().query
    pooling = values.pop("pooling", None) or PoolingFactory(project=query.project)
    moment = MomentFactory(video__corpus=query.project.dataset.corpus)
    fields = {"rank": 3, "source": "pooled", "pooling": pooling, **values}
    return Candidate.objects.create(query=query, moment=moment, **fields)


def similar_candidate_after_the_batch() -> Write:
    query = BatchFactory().query
    moment = MomentFactory(video__corpus=query.project.dataset.corpus)
    measured = {"similarity": 0.5, "measure": MeasureFactory()}
    return lambda: Candidate.objects.create(query=query, moment=moment, rank=3, **measured)


def query_without_a_batch() -> object:
    return CandidateFactory().query


def pooled_candidate_before_the_last() -> Write:
    query = BatchFactory().query
    pooled_candidate(query=query, rank=7)
    return lambda: pooled_candidate(query=query, rank=6)


REFUSED: Refused = {
    "candidate_pooled_by_a_pooling": change(CandidateFactory, source="pooled"),
    "pooling_depth_from_1_to_1000": change(PoolingFactory, depth=1001),
    "pooling_iou_above_0_to_1": change(PoolingFactory, iou_min=0),
    "pooling_split_is_judged": change(PoolingFactory, split="train"),
    "pooling_draws_with_a_seed": change(PoolingFactory, seed=1),
    "pooling_failed_says_why": adding(pooling, state="failed"),
    "pooling_of_runs_has_most_from_1_to_1000": change(PoolingFactory, most=0),
    "pooling_mixing_is_known": change(PoolingFactory, mixing="x"),
    "pooling_of_a_draw_makes_no_moments": change(PoolingFactory, makes_moments=True, seed=1, others=1),
    "pool_span_once_per_pooling_and_span": again(span, pooling=PoolingFactory, video=VideoFactory),
    "pool_span_makes_a_moment_once": again(span, moment=MomentFactory, is_new=True),
    "pool_span_starts_before_it_ends": change(span, end_s=1),
    "pool_span_that_is_new_has_its_moment": change(span, is_new=True),
    "pool_span_entry_once_per_answer_and_span": again(span_entry, answer=answer, span=span),
    "pool_span_entry_rank_from_1": change(span_entry, rank=0),
    "pooling_opened_has_its_time": change(PoolingFactory, opened_at=NOW),
    "pool_source_name_once_per_pooling": again(source, pooling=PoolingFactory),
    "pool_source_has_a_name": change(source, name=""),
    "pool_source_has_runs_or_two_sets_of_features": change(source, feature_uuids=[uuid4()]),
    "pool_answer_once_per_source_and_query": again(answer, source=source, query=QueryFactory),
    "pool_answer_counts_its_spans": change(answer, spans=1),
    "pool_entry_once_per_answer_and_moment": again(entry, answer=answer, moment=MomentFactory),
    "pool_entry_rank_from_1": change(entry, rank=0),
    "pool_entry_rank_by_similarity_has_it": change(entry, similarity_rank=1),
}
MORE: More = {
    "candidate_pooled_by_a_pooling": {
        "a pooled candidate has no similarity": adding(pooled_candidate, similarity=0.5, measure=MeasureFactory)
    },
    "has no batch yet": {
        "pools are for queries whose judging has begun": adding(pooled_candidate, query=query_without_a_batch)
    },
    "comes behind the last rank": {"pooled candidates come behind the last": pooled_candidate_before_the_last},
    "are frozen": {
        "similarity adds no candidate once a batch is open": similar_candidate_after_the_batch,
        "pooled candidates are frozen": change(pooled_candidate, rank=99),
        "pooled candidates stay": deletion(pooled_candidate),
    },
}
TRIGGERS = {"candidate_joins_in_order"}
