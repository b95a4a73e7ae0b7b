"""Coverage studies: a pool of two sources, the ranking by similarity beyond its depth and a random draw of the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.models import Project, User
from annotation.models import Candidate, PoolAnswer, Pooling, PoolSource, Query
from annotation.pools.rules.run_pools import DEPTHS, OTHERS, TOP, others_drawn, top_of
from annotation.pools.services.candidates import pool_texts_of, similarity_of, vectors_of
from annotation.pools.services.poolings import Answered, answers_store, watchable_moments
from annotation.similarity import registry
from core.exceptions import NotPossible

SIMILAR, RANDOM = "similarity", "random draw"  # names of the two sources
EXACTLY = 1.0  # moments themselves are returned, no spans that would have to fit
State = Pooling.State


@dataclass(frozen=True)
class Draw:
    """How many of the best and how many others, and the seed that draws them.

    Raises:
        NotPossible: a number is out of range.
    """

    seed: int
    top: int = TOP
    others: int = OTHERS

    def __post_init__(self) -> None:
        if not DEPTHS[0] <= self.top <= DEPTHS[1] or not 0 <= self.others <= DEPTHS[1]:
            raise NotPossible(f"The numbers of moments are at most {DEPTHS[1]}.")
        if self.seed < 0:
            raise NotPossible("The seed is 0 or more.")


@transaction.atomic
def coverage_create(*, project: Project, queries: Sequence[Query], draw: Draw, actor: User | None = None) -> Pooling:
    """A study of these queries without a plan yet.

    Raises:
        NotPossible: there is no query.
    """
    if not queries:
        raise NotPossible("Choose at least one query.")
    pooling = Pooling.objects.create(
        project=project, depth=draw.top, iou_min=EXACTLY, seed=draw.seed, others=draw.others, created_by=actor
    )
    similar, _ = (PoolSource.objects.create(pooling=pooling, name=name) for name in (SIMILAR, RANDOM))
    PoolAnswer.objects.bulk_create(
        PoolAnswer(source=similar, query=query, spans=0, unmatched=0, without_preview=0) for query in queries
    )
    return pooling


@transaction.atomic
def coverage_plan(*, pooling: Pooling) -> None:
    """Rank the pool for each query of the study, draw the others, and write both down.

    Raises:
        NotPossible: it has its plan, was thrown away, or there is no moment to judge.
    """
    held = Pooling.objects.select_for_update().filter(pk=pooling.pk, state=State.PREPARING).first()
    if held is None:
        raise NotPossible("This study is planned already.")
    queries = list(Query.objects.filter(pool_answers__source__pooling=held).order_by("number"))
    sources = {source.name: source for source in held.sources.all()}
    similar, drawn = {}, {}
    for query, top, rest, others in _chosen(held, queries):
        similar[query.pk] = Answered([(moment, rank) for rank, moment in enumerate(top, start=1)])
        drawn[query.pk] = Answered([(moment, place) for place, moment in enumerate(others, start=1)], drawn_from=rest)
    watchable = watchable_moments(held.project)
    sources[SIMILAR].answers.all().delete()
    for name, answers in ((SIMILAR, similar), (RANDOM, drawn)):
        answers_store(source=sources[name], answers=answers, watchable=watchable)
    Pooling.objects.filter(pk=held.pk).update(state=State.READY)
    pooling.refresh_from_db()


def _chosen(pooling: Pooling, queries: Sequence[Query]) -> Iterator[tuple[Query, list[int], int, list[int]]]:
    """Each query with its best moments, how many others there are, and those drawn of them."""
    pool = pool_texts_of(project=pooling.project)
    if not pool.captions:
        raise NotPossible("No moment of the corpus can be judged: there is none with a preview and a caption.")
    everything = pool.moment_ids.tolist()
    similarity = registry.similarity(similarity_of(pooling.project), embed=vectors_of)
    texts = [query.text for query in queries]
    ranked = similarity.top(texts, pool.captions, pool.first_caption, depth=pooling.depth)
    for query, (places, _) in zip(queries, ranked, strict=True):
        frozen = query.candidates.filter(source=Candidate.Source.SIMILARITY).order_by("rank")
        top = top_of(list(frozen.values_list("moment", flat=True)), pool.moment_ids[places].tolist(), pooling.depth)
        others = others_drawn(everything, top, pooling.others or 0, seed=pooling.seed or 0, query=query.number)
        yield query, top, len(set(everything) - set(top)), others
