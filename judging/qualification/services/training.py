"""Training material: pairs that a lead grades and explains, for the tutorial and as examples. Shown to everybody."""

import logging
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from secrets import randbelow

from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet

from accounts.models import Project, User
from annotation.models import Query
from annotation.pools.services.candidates import Pool, pool_of
from core.audit import audit_record
from core.jobs import ProjectJobs, durable, job_finish, job_set, job_start
from core.messages import send_on_commit
from core.models import Job
from judging.exceptions import NotPossibleNow, grade_known_or_refused
from judging.guidelines.services import draft_example_set
from judging.models import GuidelineDraft, KnownPair

logger = logging.getLogger(__name__)
JOB = "training"
CLOSE, FAR = 5, 5  # of a query's moments: the most similar ones, and others at random
MOST_QUERIES = 50


class _Drawings(ProjectJobs):
    def sweep(self, now: datetime) -> None:
        """Fail the drawings whose message was lost: it cannot be sent again, as it held how many and the seed."""
        for job in self.late_rows(now):
            with self.claim(job.project_id) as running:
                if running == job:
                    self.fail(job, "The drawing was lost on its way. Draw again.")


DRAWINGS = _Drawings("judging.tasks.training_draw", JOB, lock=JOB, late=timedelta(minutes=5), expected=())


@transaction.atomic
def training_request(*, project: Project, actor: User, queries: int, seed: int | None) -> None:
    """Wake the task that draws pairs; its job shows how far it is. Raises NotPossibleNow: pairs are being drawn
    already, or the project has no moments to draw."""
    seed = randbelow(2**31) if seed is None else seed
    Project.objects.select_for_update().get(pk=project.pk)
    if project.dataset.corpus.is_placeholder:
        raise NotPossibleNow("Historic judgments have no moments to show.")
    if project.jobs.filter(kind=JOB, state=Job.State.RUNNING).exists():
        raise NotPossibleNow("Pairs are being drawn already.")
    if not _free_queries(project).exists():
        raise NotPossibleNow("Every training query has been drawn.")
    job_start(project=project, kind=JOB, title="Waiting for a worker", total=2)
    audit_record(project=project, actor=actor, action="training.draw", subject=project.uuid, queries=queries, seed=seed)
    send_on_commit(DRAWINGS.task, project.pk, queries, seed)


@durable(DRAWINGS.task)
def training_draw(*, project_id: int, queries: int, seed: int) -> int:
    """Store pairs of ``queries`` random train queries, near and far, without a grade; say how many. A repeat of a
    drawing that is done finds no job and does nothing."""
    n_drawn = 0
    with DRAWINGS.claim(project_id) as job:
        if job is not None:
            n_drawn = _draw(job.project, job, queries, seed)
    return n_drawn


def _draw(project: Project, job: Job, queries: int, seed: int) -> int:
    rng = Random(seed)
    free = list(_free_queries(project).order_by("pk"))
    sample = rng.sample(free, min(queries, len(free)))
    job_set(job=job, n_done=0, title="Embedding captions and queries")
    pool = pool_of(project=project)
    rows = _pairs(project, pool, sample, rng) if sample and len(pool.moment_ids) else []
    with transaction.atomic():
        before = KnownPair.objects.filter(project=project).count()
        KnownPair.objects.bulk_create(rows, ignore_conflicts=True)
        n_drawn = KnownPair.objects.filter(project=project).count() - before
        job_finish(job=job, title=f"{n_drawn} pairs drawn")
    logger.info("project %s: %s training pairs of %s queries", project.pk, n_drawn, len(sample))
    return n_drawn


def _pairs(project: Project, pool: Pool, queries: list[Query], rng: Random) -> list[KnownPair]:
    every = pool.moment_ids.tolist()
    ranked_moments = pool.rank([query.text for query in queries], similarity=settings.SENTENCE_MODEL, depth=CLOSE)
    rows = []
    for query, near in zip(queries, ranked_moments, strict=True):
        others = sorted(set(every) - set(near))
        far = rng.sample(others, min(FAR, len(others)))
        ranked = [*enumerate(near, start=1), *((None, moment) for moment in far)]
        rows += [
            KnownPair(project=project, query=query, moment_id=moment, rank=rank, source=KnownPair.Source.LEAD)
            for rank, moment in ranked
        ]
    return rows


def _free_queries(project: Project) -> QuerySet[Query]:
    """Train queries of which no pair is known yet: neither drawn before nor asked in an exam."""
    return Query.objects.filter(
        project=project, split=Query.Split.TRAIN, is_placeholder=False, known_pairs__isnull=True
    )


@transaction.atomic
def training_pair_grade(*, known_pair: KnownPair, actor: User, grade: int, explanation: str) -> KnownPair:
    """Say the true grade of a drawn pair, and why. Raises GradeUnknown: the project has no such grade."""
    grade_known_or_refused(grade, known_pair.project.top_grade)
    pair = _locked(known_pair)
    pair.truth, pair.explanation = Decimal(grade), explanation
    pair.save(update_fields=["truth", "explanation"])
    audit_record(
        project=pair.project, actor=actor, action="training.grade", subject=pair.uuid, grade=grade, why=explanation
    )
    return pair


@transaction.atomic
def tutorial_add(*, known_pair: KnownPair, actor: User) -> KnownPair:
    """Put a graded pair at the end of the tutorial; one that is in it stays where it is. Raises NotPossibleNow: it has
    no grade."""
    pair = _locked(known_pair)
    if pair.truth is None:
        raise NotPossibleNow("Grade the pair first: the tutorial shows everybody its grade.")
    if pair.tutorial_position is None:
        last = _tutorial(pair.project).aggregate(last=Max("tutorial_position"))["last"] or 0
        pair.tutorial_position = last + 1
        pair.save(update_fields=["tutorial_position"])
        audit_record(project=pair.project, actor=actor, action="tutorial.add", subject=pair.uuid)
    return pair


@transaction.atomic
def tutorial_remove(*, known_pair: KnownPair, actor: User) -> KnownPair:
    pair = _locked(known_pair)
    if pair.tutorial_position is not None:
        pair.tutorial_position = None
        pair.save(update_fields=["tutorial_position"])
        _number(list(_tutorial(pair.project).order_by("tutorial_position")))
        audit_record(project=pair.project, actor=actor, action="tutorial.remove", subject=pair.uuid)
    return pair


@transaction.atomic
def tutorial_move(*, known_pair: KnownPair, actor: User, by: int) -> KnownPair:
    """Show a pair of the tutorial ``by`` places later, earlier when negative; never past an end."""
    pair = _locked(known_pair)
    order = list(_tutorial(pair.project).order_by("tutorial_position"))
    if pair not in order:
        raise NotPossibleNow("This pair is not in the tutorial any more.")
    position = order.index(pair)
    target = min(max(position + by, 0), len(order) - 1)
    if target != position:
        order.insert(target, order.pop(position))
        _number(order)
        audit_record(
            project=pair.project, actor=actor, action="tutorial.move", subject=pair.uuid, **{"place": target + 1}
        )
    return pair


@transaction.atomic
def training_pair_as_example(*, known_pair: KnownPair, actor: User) -> GuidelineDraft:
    """Show a graded pair as the example of its grade, in the version of the guideline that is prepared. Raises
    NotPossibleNow: it has no whole grade."""
    pair = _locked(known_pair)
    if pair.truth is None or pair.truth % 1:
        raise NotPossibleNow("Grade the pair first: an example shows what a grade means.")
    return draft_example_set(
        project=pair.project, actor=actor, grade=int(pair.truth), query_text=pair.query.text, moment=pair.moment
    )


def _locked(known_pair: KnownPair) -> KnownPair:
    """The pair, with its project locked, so that two leads do not number the tutorial at once."""
    Project.objects.select_for_update().get(pk=known_pair.project_id)
    return KnownPair.objects.select_related("project", "query", "moment__video").get(
        pk=known_pair.pk, source=KnownPair.Source.LEAD
    )


def _tutorial(project: Project) -> QuerySet[KnownPair]:
    return KnownPair.objects.filter(project=project, tutorial_position__isnull=False)


def _number(order: list[KnownPair]) -> None:
    for position, pair in enumerate(order, start=1):
        pair.tutorial_position = position
    KnownPair.objects.bulk_update(order, ["tutorial_position"])
