"""Coverage studies and pools from runs: planned by a task, opened as batches."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import Project, User
from annotation.models import Candidate, Moment, NamedQuerySet, Pooling, Query
from annotation.pools.rules import mixed, queries_drawn
from annotation.pools.services.new_moments import moments_to_cut
from annotation.pools.services.poolings import (
    Draw,
    Returned,
    candidates_pool,
    coverage_create,
    coverage_plan,
    pooling_confirm,
    pooling_fail,
    pooling_finish,
    pooling_plan,
)
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind, durable, job_fail, job_finish, job_set, job_start
from core.models import Job
from judging.models import Batch, BatchReview
from judging.releases.selectors import finished_queries
from judging.studies.selectors import queries_planned, queries_to_pool
from judging.work.services.batches import batches_pool

logger = logging.getLogger(__name__)
TITLE = "Opening pooled batches"
CUTTING = "Cutting previews of new moments: {} are left"
PROGRESS_EVERY = 20  # queries
STUDIES = JobKind(
    "judging.tasks.coverage_prepare",
    lambda: Pooling.objects.filter(state=Pooling.State.PREPARING, seed__isnull=False).select_related("project"),
    moved="created_at",
    lock="coverage-plan",
    expected=(MomentJudgeError,),
    fail=lambda pooling, error: pooling_fail(pooling=pooling, error=error),
)


class _Openings(JobKind[Pooling]):
    def sweep(self, now: datetime) -> None:
        """Wake the task again where the job of an opening does not move; a failed one waits for a person."""
        stale = Job.objects.filter(state=Job.State.RUNNING, updated_at__lte=now - self.late)
        for pooling in self.rows():
            if stale.filter(project=pooling.project_id, kind=pool_job(pooling)).exists():
                self.send(pooling.pk)


OPENINGS = _Openings(
    "judging.tasks.pool_open",
    lambda: Pooling.objects.filter(state=Pooling.State.OPENING).select_related("project"),
    lock="pool-open",
    expected=(),
    fail=lambda pooling, error: job_fail(job=_job(pooling, total=0), error=error),
)


def queries_to_study(project: Project, *, split: str = "", query_set: NamedQuerySet | None = None) -> QuerySet[Query]:
    """Queries whose own pool is judged to its end: a study says what that pool misses."""
    queries = finished_queries(project.pk).filter(is_placeholder=False).distinct()
    queries = queries.filter(split=split) if split else queries
    return queries.filter(query_set=query_set) if query_set else queries


def queries_chosen(queries: QuerySet[Query], *, n: int, seed: int) -> list[Query]:
    """``n`` of them at random."""
    numbers = queries_drawn(queries.values_list("number", flat=True), n, seed=seed)
    return list(queries.filter(number__in=numbers).order_by("number"))


@transaction.atomic
def coverage_request(*, project: Project, queries: Sequence[Query], draw: Draw, actor: User | None) -> Pooling:
    """Order the plan of a study; a task ranks the pool. Raises NotPossible where there is no query, or one that is not
    judged to its end."""
    finished = queries_to_study(project).filter(pk__in=[query.pk for query in queries])
    if finished.count() < len(set(queries)):
        raise NotPossible("A coverage study is of queries that are judged to their end.")
    pooling = coverage_create(project=project, queries=queries, draw=draw, actor=actor)
    STUDIES.send(pooling.pk)
    return pooling


@durable(STUDIES.task)
def coverage_prepare(*, pooling_id: int) -> None:
    """Plan a study; what stands against it is said on it. A repeat finds the plan."""
    with STUDIES.claim(pooling_id) as pooling:
        if pooling is not None:
            coverage_plan(pooling=pooling)


def pool_plan(*, pooling: Pooling, returned: Iterable[Returned]) -> None:
    """Plan the pool over the queries whose judging has begun: their candidates by similarity are settled. Raises
    NotPossible where no such query is asked for, or the pool is planned already."""
    queries = queries_to_pool(pooling)
    if not queries:
        raise NotPossible("None of these queries has a batch yet. Pools are for queries whose judging has begun.")
    pooling_plan(pooling=pooling, queries=queries, returned=returned)


@transaction.atomic
def pool_open_request(*, pooling: Pooling, actor: User | None, wake: bool = True) -> Pooling:
    """Confirm the plan; a task opens its batches unless the caller does. Again, it wakes what came to a stop. Raises
    NotPossible where there is no plan."""
    row = pooling_confirm(pooling=pooling, actor=actor)
    if wake and row.state == Pooling.State.OPENING:
        _job(row, total=queries_planned(row).count())
        OPENINGS.send(row.pk)
    return row


@durable(OPENINGS.task)
def pool_open(*, pooling_id: int) -> int:
    """Add the planned candidates and open their batches, query by query; a repeat goes on where it was.

    Where the pool has made moments, it waits until their previews are cut, or cannot be.

    Returns:
        How many batches were opened now.
    """
    with OPENINGS.claim(pooling_id) as pooling:
        if pooling is not None:
            return _open(pooling)
    return 0


def _open(pooling: Pooling) -> int:
    if n_uncut := moments_to_cut(pooling).count():  # a sweep wakes this again
        job_set(job=_job(pooling, total=queries_planned(pooling).count()), n_done=0, title=CUTTING.format(n_uncut))
        return 0
    ids = list(queries_planned(pooling).values_list("pk", flat=True))
    job, n_opened = _job(pooling, total=len(ids)), 0
    for n_done, query_id in enumerate(ids):
        if n_done % PROGRESS_EVERY == 0:
            job_set(job=job, n_done=n_done, title=f"{TITLE}: {n_done} of {len(ids)} queries")
        n_opened += _query_open(pooling, query_id)
    with transaction.atomic():
        pooling_finish(pooling=pooling)
        job_finish(job=job, title=f"{n_opened} pooled batches opened")
    logger.info("pool %s: %s batches opened", pooling.pk, n_opened)
    return n_opened


def pool_job(pooling: Pooling) -> str:
    """The kind of its job: pools may be opened beside each other."""
    return f"pool {pooling.pk}"


def _job(pooling: Pooling, *, total: int) -> Job:
    return job_start(project=pooling.project, kind=pool_job(pooling), title=TITLE, total=total)


@transaction.atomic
def _query_open(pooling: Pooling, query_id: int) -> int:
    query = Query.objects.select_for_update().get(pk=query_id)  # as every opening of its batches
    candidates_pool(pooling=pooling, query=query)
    waiting = _waiting(pooling, query)
    if pooling.seed is not None:
        waiting = mixed(waiting, seed=pooling.seed, query=query.number)
    return len(batches_pool(query=query, pooling=pooling, candidates=waiting))


def _waiting(pooling: Pooling, query: Query) -> list[Candidate]:
    """Pooled candidates in no batch; and those by similarity that closing the query left out and a run returned. Where
    the project samples, all that a run returned and no batch holds: they are a stratum of their own, judged whole."""
    condition = Q(source=Candidate.Source.POOLED)
    is_passed_over = BatchReview.objects.filter(batch__query=query, decision=BatchReview.Decision.CLOSE).exists()
    if is_passed_over or Batch.objects.filter(query=query, number=1).exclude(strata=[]).exists():
        condition |= Q(moment__pool_entries__answer__source__pooling=pooling, moment__pool_entries__answer__query=query)
    free = query.candidates.filter(condition, pair=None, moment__preview_state=Moment.Preview.READY)
    return list(free.distinct().order_by("rank"))
