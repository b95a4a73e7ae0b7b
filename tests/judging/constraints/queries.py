"""Queries, and what was found for them."""

from annotation.models import NamedQuerySet
from tests.factories import BatchFactory, CandidateFactory, CaptionFactory, MomentFactory, ProjectFactory, QueryFactory
from tests.judging.constraints.writes import More, Refused, again, change, deletion, maker, twice


def frozen_candidate() -> object:
    return CandidateFactory(query=BatchFactory(pairs=0).query)


def candidate_of(query: object, moment: object) -> object:
    return CandidateFactory(query=query, moment=moment, rank=1 + query.candidates.count())  # type: ignore[attr-defined]


query_set = maker(NamedQuerySet, project=ProjectFactory, name="pilot")
REFUSED: Refused = {
    "query_number_once_per_project": again(QueryFactory, project=ProjectFactory, number=5),
    "query_caption_once_per_project": again(QueryFactory, project=ProjectFactory, caption=CaptionFactory),
    "query_text_judged_once_per_project": twice(QueryFactory, "project", "text", split="test"),
    "query_split_is_known": change(QueryFactory, split="dev"),
    "candidate_once_per_query_and_moment": again(candidate_of, query=QueryFactory, moment=MomentFactory),
    "candidate_rank_once_per_query": again(CandidateFactory, query=QueryFactory, rank=2),
    "candidate_rank_from_1": change(CandidateFactory, rank=0),
    "candidate_similarity_has_its_measure": change(CandidateFactory, measure=None),
    "candidate_similarity_is_a_cosine": change(CandidateFactory, similarity=1.01),
    "query_set_name_once_per_project": again(query_set, project=ProjectFactory),
    "query_set_priority_is_known": change(query_set, priority=2),
}
MORE: More = {
    "are frozen": {
        "ranks are frozen by the batch": change(frozen_candidate, rank=9),
        "similarity is frozen by the batch": change(frozen_candidate, similarity=0.1),
        "candidates of a batch stay": deletion(frozen_candidate),
    }
}
TRIGGERS = {"candidate_is_frozen"}
