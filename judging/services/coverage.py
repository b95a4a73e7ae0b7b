"""Coverage studies: which queries they are of, their plan by a task. Opening one is opening a pool."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from annotation.exceptions import MomentJudgeError, NotPossible
from annotation.locks import only_one
from annotation.messages import send_on_commit
from annotation.models import NamedQuerySet, Pooling, Project, Query, User
from annotation.rules.coverage import queries_drawn
from annotation.services.coverage import Draw, coverage_create, coverage_plan
from annotation.services.poolings import pooling_fail
from judging.releases import finished_queries

PLAN_TASK = "judging.tasks.coverage_prepare"
LATE = timedelta(minutes=1)  # a study still without a plan by then has lost its message, or its worker is busy


def queries_to_study(project: Project, *, split: str = "", query_set: NamedQuerySet | None = None) -> QuerySet[Query]:
    """Queries whose own pool is judged to its end: a study says what that pool misses."""
    found = finished_queries(project.pk).filter(is_placeholder=False).distinct()
    found = found.filter(split=split) if split else found
    return found.filter(query_set=query_set) if query_set else found


def queries_chosen(found: QuerySet[Query], *, n: int, seed: int) -> list[Query]:
    """``n`` of them at random."""
    numbers = queries_drawn(found.values_list("number", flat=True), n, seed=seed)
    return list(found.filter(number__in=numbers).order_by("number"))


@transaction.atomic
def coverage_request(*, project: Project, queries: Sequence[Query], draw: Draw, actor: User | None) -> Pooling:
    """Order the plan of a study; a task ranks the pool.

    Raises:
        NotPossible: there is no query, or one that is not judged to its end.
    """
    finished = queries_to_study(project).filter(pk__in=[query.pk for query in queries])
    if finished.count() < len(set(queries)):
        raise NotPossible("A coverage study is of queries that are judged to their end.")
    pooling = coverage_create(project=project, queries=queries, draw=draw, actor=actor)
    send_on_commit(PLAN_TASK, pooling.pk)
    return pooling


def coverage_prepare(*, pooling_id: int) -> None:
    """Plan a study; what stands against it is said on it. A repeat finds the plan."""
    pooling = Pooling.objects.select_related("project").filter(pk=pooling_id, seed__isnull=False).first()
    with only_one("coverage-plan", pooling_id) as alone:
        if pooling is None or not alone or pooling.state != Pooling.State.PREPARING:
            return
        try:
            coverage_plan(pooling=pooling)
        except MomentJudgeError as error:
            pooling_fail(pooling=pooling, error=str(error))


def coverage_sweep(*, now: datetime) -> None:
    """Send every study that waits for its plan; its message may have been lost."""
    late = Pooling.objects.filter(state=Pooling.State.PREPARING, seed__isnull=False, created_at__lte=now - LATE)
    for pk in late.values_list("pk", flat=True):
        send_on_commit(PLAN_TASK, pk)
