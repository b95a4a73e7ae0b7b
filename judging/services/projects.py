"""A new project, ready to be judged as soon as its previews are cut."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count

from django.db import IntegrityError, OperationalError, transaction

from annotation.exceptions import NotPossible
from annotation.locks import only_one
from annotation.messages import send_on_commit
from annotation.models import Corpus, Job, Membership, Project, User
from annotation.rules.splits import Size
from annotation.services.audit import audit_record
from annotation.services.candidates import candidates_clear, candidates_rank, similarity_choose, similarity_of
from annotation.services.jobs import job_fail, job_finish, job_set, job_start
from annotation.services.members import member_add
from annotation.services.names import LONGEST_NAME, checked_name
from annotation.services.queries import queries_draw
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing, TopNotOffered
from judging import selectors
from judging.guideline import BODY, LEVELS
from judging.services.batches import batches_open
from judging.services.copies import settings_copy
from judging.services.policies import guideline_publish, policy_publish

logger = logging.getLogger(__name__)
JOB, RANK_JOB = "batches", "ranking"
LATE = timedelta(minutes=1)
ROOM = 8  # for a number behind a name
PREPARE_TASK, RANK_TASK = "judging.tasks.batches_prepare", "judging.tasks.candidates_rank"


@transaction.atomic
def project_create(
    *,
    name: str,
    corpus: Corpus,
    sizes: Mapping[str, Size] | None = None,
    seed: int = 1,
    leads: Sequence[User] = (),
    actor: User | None = None,
    settings_of: Project | None = None,
    with_queries: bool = False,
) -> tuple[Project, dict[str, int]]:
    """A project over a corpus; without ``sizes`` its queries are drawn later.

    Args:
        settings_of: whose settings it begins with; without, the default policy and guideline.
        with_queries: it takes the queries of that project along, too.

    Returns:
        The project, and what ``queries_draw`` says.

    Raises:
        NotPossible: the name is taken, the corpus has too few captions, or the queries cannot be taken along.
    """
    name = checked_name(name)
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands in for historic judgments.")
    try:
        with transaction.atomic():
            project = Project.objects.create(name=name, corpus=corpus)
    except IntegrityError as error:  # somebody chose the same name at the same moment
        raise NotPossible(f"There is a project named {name!r} already.") from error
    audit_record(project=project, actor=actor, action="project.create", subject=project.uuid, corpus=corpus.name)
    for lead in leads:
        member_add(project=project, user=lead, role=Membership.Role.LEAD, actor=actor)
    if settings_of:
        settings_copy(source=settings_of, project=project, actor=actor, with_queries=with_queries)
    else:
        policy_publish(project=project, actor=actor)
        guideline_publish(project=project, actor=actor, body=BODY, levels=list(LEVELS))
    if sizes is None:
        return project, {}
    return project, queries_draw(project=project, sizes=sizes, seed=seed, actor=actor)


def project_name_free(*, wanted: str) -> str:
    """The name, or with the first number from 2 on that makes it free."""
    taken = set(Project.objects.filter(name__startswith=wanted[: LONGEST_NAME - ROOM]).values_list("name", flat=True))
    numbered = (f"{wanted[: LONGEST_NAME - ROOM]} {number}" for number in count(2))
    return next(name for name in chain([wanted], numbered) if name not in taken)


@transaction.atomic
def batches_request(*, project: Project, actor: User, similarity: str | None = None) -> None:
    """Wake the task that ranks candidates and opens the first batches; its job shows how far it is.

    Args:
        similarity: what ranks from now on, empty for the default; None leaves it.

    Raises:
        NotPossible: there is nothing to judge, or something else is being prepared.
        SimilarityMissing: what is to rank is not here.
    """
    _check(project, JOB, similarity, actor)
    job_start(project=project, kind=JOB, title="Waiting for a worker", total=2)
    audit_record(project=project, actor=actor, action="batches.open", subject=project.uuid)
    send_on_commit(PREPARE_TASK, project.pk)


@transaction.atomic
def candidates_request(*, project: Project, actor: User, similarity: str | None = None) -> int:
    """Wake the task that ranks candidates, anew where no batch holds them yet, and opens nothing.

    Returns:
        Of how many queries candidates were forgotten, to be ranked anew.

    Raises:
        NotPossible: there is nothing to judge, or something else is being prepared.
        SimilarityMissing: what is to rank is not here.
    """
    _check(project, RANK_JOB, similarity, actor)
    cleared = candidates_clear(queries=selectors.queries_unfrozen(project))
    audit_record(project=project, actor=actor, action="candidates.rank", subject=project.uuid, queries=cleared)
    job_start(project=project, kind=RANK_JOB, title="Ranking candidates", total=1)
    send_on_commit(RANK_TASK, project.pk)
    return cleared


def _check(project: Project, kind: str, similarity: str | None, actor: User) -> None:
    if project.corpus.is_placeholder:
        raise NotPossible("Historic judgments have no moments to judge.")
    if project.jobs.filter(state=Job.State.RUNNING).exclude(kind=kind).exists():
        raise NotPossible("Something is being prepared in this project; wait until that is done.")
    if similarity is not None:
        similarity_choose(project=project, name=similarity, actor=actor)
        project.refresh_from_db()
    registry.check(similarity_of(project))


def batches_prepare(*, project_id: int) -> int:
    """Rank the pool for every judged query without candidates and open their first batches; say how many.

    A repeat, and a message that comes late, find no job that waits for them.
    """
    with only_one(JOB, project_id) as alone:
        job = _asked(project_id, JOB) if alone else None
        return _prepare(job) if job else 0


def _asked(project_id: int, kind: str) -> Job | None:
    return Job.objects.filter(project=project_id, kind=kind, state=Job.State.RUNNING).first()


def _prepare(job: Job) -> int:
    with _told(job):
        job_set(job=job, done=0, title="Embedding captions and ranking candidates")
        candidates_rank(project_id=job.project_id, on_progress=partial(_embedding, job))
        job_set(job=job, done=1, title="Opening first batches")
        opened = batches_open(project_id=job.project_id)
        job_finish(job=job, title=f"{opened} batches opened")
        return opened
    return 0


def candidates_rank_run(*, project_id: int) -> None:
    """Rank the queries without candidates, for those who wait."""
    with only_one(JOB, project_id) as alone:
        job = _asked(project_id, RANK_JOB) if alone else None
        if job is None:
            return
        with _told(job):
            ranked = candidates_rank(project_id=project_id, on_progress=partial(_embedding, job))
            job_finish(job=job, title=f"Candidates of {ranked} queries ranked")


def _embedding(job: Job, done: int, total: int) -> None:
    job_set(job=job, done=0, title=f"Embedding texts: {done:,} of {total:,}")


@contextmanager
def _told(job: Job) -> Iterator[None]:
    """A failure is written to the job; what is only missing here goes no further."""
    try:
        yield
    except (SimilarityMissing, TopNotOffered) as error:
        job_fail(job=job, error=str(error))
        logger.warning("%s: candidates are not ranked: %s", job, error)
    except OperationalError:
        raise  # the task is tried again
    except Exception as error:
        job_fail(job=job, error=f"{type(error).__name__}: {error}")
        raise


def preparations_sweep(*, now: datetime) -> None:
    """Send every preparation that has not moved for a while; one that is at work holds its lock and goes on."""
    stale = Job.objects.filter(state=Job.State.RUNNING, updated_at__lte=now - LATE)
    for kind, task in ((JOB, PREPARE_TASK), (RANK_JOB, RANK_TASK)):
        for project_id in stale.filter(kind=kind).values_list("project", flat=True):
            send_on_commit(task, project_id)
