"""A collection small enough to pool for by hand: ten moments of two videos, one query whose judging has begun."""

from collections.abc import Sequence

from accounts.models import Project
from annotation.models import Moment, Pooling, Query
from annotation.pools.services.poolings import Returned
from judging.models import Batch
from judging.review.services import batch_review
from judging.studies.services import pool_open, pool_open_request, pool_plan
from judging.work.services.batches import batch_create
from tests.factories import (
    CandidateFactory,
    CorpusFactory,
    MomentFactory,
    PoolingFactory,
    PoolSourceFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)
from tests.judging.play import judge_round


class Growing:
    """Moments 0 to 4 are seconds 0-10, 10-20, ... of the video alpha, 5 to 9 those of beta; query 10 has moments 0 and
    1 as its candidates by similarity, in an open batch."""

    def __init__(self, *, moments: int = 5, candidates: Sequence[int] = (0, 1)) -> None:
        corpus = CorpusFactory()
        self.videos = [VideoFactory(corpus=corpus, name=name, duration_s=10.0 * moments) for name in ("alpha", "beta")]
        self.moments: list[Moment] = [
            MomentFactory(video=video, start_s=10.0 * n, end_s=10.0 * n + 10)
            for video in self.videos
            for n in range(moments)
        ]
        self.project: Project = ProjectFactory(corpus=corpus)
        self.lead = lead(self.project)
        self.query = self.begin(10, candidates)

    @property
    def batch(self) -> Batch:
        return self.query.batches.get(number=1)

    def begin(self, number: int, candidates: Sequence[int] = (0, 1), **values: object) -> Query:
        query: Query = QueryFactory(project=self.project, number=number, **values)
        for rank, index in enumerate(candidates, start=1):
            CandidateFactory(query=query, moment=self.moments[index], rank=rank)
        batch_create(query=query, number=1)
        return query

    def close(self) -> None:
        """The first batch is judged, and the lead closes the query."""
        first = self.batch
        n = first.pairs.count()
        judge_round(first, [2] * n, [2] * n)
        batch_review(batch=first, extend=False, lead=self.lead)

    def row(self, source: str, rank: int, index: int, *, query: int = 10, off: float = 0.0) -> Returned:
        """A span over the moment at ``index``, begun ``off`` seconds late."""
        moment = self.moments[index]
        return Returned(query, moment.video.name, moment.start_s + off, moment.end_s, source, rank)

    def rows(self, source: str, indexes: Sequence[int], **more: int) -> list[Returned]:
        """Return a source's rows, best first."""
        return [self.row(source, rank, index, **more) for rank, index in enumerate(indexes, start=1)]

    def plan(self, rows: Sequence[Returned], **values: object) -> Pooling:
        """A plan over these rows; its sources are those they name."""
        names = dict.fromkeys(row.source for row in rows)
        pooling: Pooling = PoolingFactory(project=self.project, state="preparing", sources=None, **values)
        for name in names:
            PoolSourceFactory(pooling=pooling, name=name)
        pool_plan(pooling=pooling, returned=rows)
        return pooling

    def open(self, pooling: Pooling) -> list[Batch]:
        """The batches that come of a plan, in order."""
        before = set(Batch.objects.values_list("pk", flat=True))
        pool_open_request(pooling=pooling, actor=self.lead, wake=False)
        pool_open(pooling_id=pooling.pk)
        return list(Batch.objects.exclude(pk__in=before).order_by("query__number", "number"))

    def indexes_of(self, batch: Batch) -> list[int]:
        """The moments of its pairs by rank, as this class counts them."""
        order = [moment.pk for moment in self.moments]
        return [order.index(pair.candidate.moment_id) for pair in batch.pairs.order_by("candidate__rank")]
