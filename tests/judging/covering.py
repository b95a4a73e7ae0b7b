"""A collection small enough for a coverage study by hand: twelve moments with captions, a query that is closed."""

from accounts.models import Project
from annotation.models import Moment, Pooling, Query
from annotation.pools.services.poolings import Draw
from judging.models import Batch
from judging.review.services import batch_review
from judging.studies.services import coverage_prepare, coverage_request, pool_open, pool_open_request
from judging.work.services.batches import batch_create
from tests.factories import (
    CandidateFactory,
    CaptionFactory,
    CorpusFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)
from tests.judging.play import judge_round

MOMENTS = 12


class Covering:
    """Moments 0 to 11; query 10 has moments 0 and 1 as its candidates, both of relevance 3, and is closed."""

    def __init__(self, **rules: int) -> None:
        self.project: Project = ProjectFactory(corpus=CorpusFactory(), **rules)
        video = VideoFactory(corpus=self.project.dataset.corpus, duration_s=500.0)
        self.moments: list[Moment] = [
            MomentFactory(video=video, start_s=10.0 * n, end_s=10.0 * n + 9) for n in range(MOMENTS)
        ]
        for n, moment in enumerate(self.moments):
            CaptionFactory(moment=moment, text=f"A man waters plant {n}")
        self.lead = lead(self.project)
        self.query = self.finished(10)

    def finished(self, number: int, **values: object) -> Query:
        query: Query = QueryFactory(project=self.project, number=number, text=f"A man sings song {number}", **values)
        for rank, moment in enumerate(self.moments[:2], start=1):
            CandidateFactory(query=query, moment=moment, rank=rank)
        batch = batch_create(query=query, number=1)
        assert batch is not None
        judge_round(batch, *[[3, 3]] * self.project.judges)
        batch_review(batch=batch, extend=False, lead=self.lead)
        return query

    def planned(self, *queries: Query, top: int = 4, others: int = 3, seed: int = 1) -> Pooling:
        study = coverage_request(
            project=self.project, queries=queries or [self.query], draw=Draw(seed, top, others), actor=self.lead
        )
        coverage_prepare(pooling_id=study.pk)
        study.refresh_from_db()
        return study

    def open(self, study: Pooling) -> list[Batch]:
        before = set(Batch.objects.values_list("pk", flat=True))
        pool_open_request(pooling=study, actor=self.lead, wake=False)
        pool_open(pooling_id=study.pk)
        study.refresh_from_db()
        return list(Batch.objects.exclude(pk__in=before).order_by("query__number", "number"))
