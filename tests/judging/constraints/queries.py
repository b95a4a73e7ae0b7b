"""Queries, and what was found for them."""

from annotation.models import Candidate, NamedQuerySet
from tests.factories import BatchFactory, CandidateFactory, CaptionFactory, MomentFactory, ProjectFactory, QueryFactory
from tests.judging.constraints.writes import More, Refused, Write, again, change


def frozen_candidate() -> Candidate:
    return CandidateFactory(query=BatchFactory(pairs=0).query)  # type: ignore[no-any-return]


def query_set(**values: object) -> NamedQuerySet:
    project = values.pop("project", None) or ProjectFactory()
    return NamedQuerySet.objects.create(project=project, **{"name": "pilot", **values})


def query_text_twice() -> Write:
    query = QueryFactory(split="val")
    return lambda: QueryFactory(project=query.project, text=query.text, split="test")


REFUSED: Refused = {
    "query_number_once_per_project": again(QueryFactory, project=ProjectFactory, number=5),
    "query_caption_once_per_project": again(QueryFactory, project=ProjectFactory, caption=CaptionFactory),
    "query_text_judged_once_per_project": query_text_twice,
    "query_split_is_known": change(QueryFactory, split="dev"),
    "candidate_once_per_query_and_moment": again(
        lambda query, moment: CandidateFactory(query=query, moment=moment, rank=1 + query.candidates.count()),
        query=QueryFactory,
        moment=MomentFactory,
    ),
    "candidate_rank_once_per_query": again(CandidateFactory, query=QueryFactory, rank=2),
    "candidate_rank_from_1": change(CandidateFactory, rank=0),
    "candidate_similarity_has_its_measure": change(CandidateFactory, measure=None),
    "candidate_similarity_is_a_cosine": change(CandidateFactory, similarity=1.01),
    "query_set_name_once_per_project": again(query_set, project=ProjectFactory),
    "query_set_priority_is_known": change(query_set, priority=2),
}
MORE: More = {
    "ranks are frozen by the batch": ("are frozen", change(frozen_candidate, rank=9)),
    "similarity is frozen by the batch": ("are frozen", change(frozen_candidate, similarity=0.1)),
    "candidates of a batch stay": ("are frozen", lambda: frozen_candidate().delete),
}
TRIGGERS: set[str] = {
    "candidate_is_frozen",
}
