"""A new project, ready to be judged as soon as its previews are cut."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction

from annotation.exceptions import NotPossible
from annotation.locks import only_one
from annotation.messages import send_on_commit
from annotation.models import Corpus, Job, Membership, Project, User
from annotation.services.audit import audit_record
from annotation.services.candidates import candidates_clear, candidates_rank
from annotation.services.jobs import job_fail, job_finish, job_set, job_start
from annotation.services.members import member_add
from annotation.services.names import checked_name
from annotation.services.queries import queries_draw
from judging import selectors
from judging.guideline import BODY, LEVELS
from judging.services.batches import batches_open
from judging.services.policies import guideline_publish, policy_publish

JOB, RANK_JOB = "batches", "ranking"
LATE = timedelta(minutes=1)
PREPARE_TASK, RANK_TASK = "judging.tasks.batches_prepare", "judging.tasks.candidates_rank"


@transaction.atomic
def project_create(
    *,
    name: str,
    corpus: Corpus,
    sizes: Mapping[str, int],
    seed: int,
    leads: Sequence[User] = (),
    actor: User | None = None,
) -> tuple[Project, dict[str, int]]:
    """A project over a corpus with its queries drawn, the default policy and guideline.

    Raises:
        NotPossible: the name is taken, or the corpus has too few captions.
    """
    name = checked_name(name)
    if min(sizes.values()) < 0:
        raise NotPossible("A split cannot have fewer than 0 queries.")
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands in for historic judgments.")
    if Project.objects.filter(name=name).exists():
        raise NotPossible(f"There is a project named {name!r} already.")
    project = Project.objects.create(name=name, corpus=corpus)
    audit_record(project=project, actor=actor, action="project.create", subject=project.uuid, corpus=corpus.name)
    for lead in leads:
        member_add(project=project, user=lead, role=Membership.Role.LEAD, actor=actor)
    policy_publish(project=project, actor=actor)
    guideline_publish(project=project, actor=actor, body=BODY, levels=list(LEVELS))
    return project, queries_draw(project=project, sizes=sizes, seed=seed, actor=actor)


@transaction.atomic
def batches_request(*, project: Project, actor: User) -> None:
    """Wake the task that ranks candidates and opens the first batches; its job shows how far it is."""
    if project.corpus.is_placeholder:
        raise NotPossible("Historic judgments have no moments to judge.")
    _alone(project, JOB)
    job_start(project=project, kind=JOB, title="Waiting for a worker", total=2)
    audit_record(project=project, actor=actor, action="batches.open", subject=project.uuid)
    send_on_commit(PREPARE_TASK, project.pk)


def _alone(project: Project, kind: str) -> None:
    if project.jobs.filter(state=Job.State.RUNNING).exclude(kind=kind).exists():
        raise NotPossible("Something is being prepared in this project; wait until that is done.")


def batches_prepare(*, project_id: int) -> int:
    """Rank the pool for every judged query without candidates and open their first batches; say how many."""
    project = Project.objects.get(pk=project_id)
    with only_one(JOB, project_id) as alone:
        return _prepare(project) if alone else 0


def _prepare(project: Project) -> int:
    job = job_start(project=project, kind=JOB, title="Waiting for a worker", total=2)
    try:
        job_set(job=job, done=0, title="Embedding captions and ranking candidates")
        candidates_rank(project_id=project.pk)
        job_set(job=job, done=1, title="Opening first batches")
        opened = batches_open(project_id=project.pk)
    except Exception as error:
        job_fail(job=job, error=f"{type(error).__name__}: {error}")
        raise
    job_finish(job=job, title=f"{opened} batches opened")
    return opened


@transaction.atomic
def candidates_rank_again(*, project: Project, actor: User) -> int:
    """Rank anew for every query that has candidates and no batch; those of a batch stay as they are.

    Returns:
        How many queries are ranked anew.

    Raises:
        NotPossible: something else is being prepared.
    """
    _alone(project, RANK_JOB)
    cleared = candidates_clear(queries=selectors.queries_unfrozen(project))
    audit_record(project=project, actor=actor, action="candidates.rank", subject=project.uuid, queries=cleared)
    job_start(project=project, kind=RANK_JOB, title="Ranking candidates again", total=1)
    send_on_commit(RANK_TASK, project.pk)
    return cleared


def candidates_rank_run(*, project_id: int) -> None:
    """Rank the queries without candidates, for those who wait."""
    project = Project.objects.get(pk=project_id)
    with only_one(JOB, project_id) as alone:
        if not alone:
            return
        job = job_start(project=project, kind=RANK_JOB, title="Ranking candidates again", total=1)
        try:
            ranked = candidates_rank(project_id=project_id)
        except Exception as error:
            job_fail(job=job, error=f"{type(error).__name__}: {error}")
            raise
        job_finish(job=job, title=f"Candidates of {ranked} queries ranked again")


def preparations_sweep(*, now: datetime) -> None:
    """Send every preparation that has not moved for a while; one that is at work holds its lock and goes on."""
    stale = Job.objects.filter(state=Job.State.RUNNING, updated_at__lte=now - LATE)
    for kind, task in ((JOB, PREPARE_TASK), (RANK_JOB, RANK_TASK)):
        for project_id in stale.filter(kind=kind).values_list("project", flat=True):
            send_on_commit(task, project_id)
