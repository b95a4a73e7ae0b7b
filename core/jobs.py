"""Progress of long work, for the people who wait."""

from django.db.models import F, Model, Value
from django.db.models.functions import Least
from django.utils import timezone

from core.models import Job


def job_start(*, project: Model, kind: str, title: str, total: int) -> Job:
    """The running job of this kind, which may have waited, new if there is none."""
    Job.objects.filter(project=project.pk, kind=kind, state=Job.State.WAITING).update(state=Job.State.RUNNING, error="")
    job, _ = Job.objects.get_or_create(
        project_id=project.pk, kind=kind, state=Job.State.RUNNING, defaults={"title": title, "total": total}
    )
    return job


def job_set(*, job: Job, done: int, title: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        done=Least(Value(done), F("total")), title=title, updated_at=timezone.now()
    )


def job_wait(*, job: Job, title: str, error: str) -> None:
    """It goes on later by itself; ``error`` says what it waits for."""
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        state=Job.State.WAITING, title=title, error=error, updated_at=timezone.now()
    )


def job_finish(*, job: Job, title: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(done=F("total"), state=Job.State.DONE, title=title)


def job_fail(*, job: Job, error: str) -> None:
    Job.objects.filter(pk=job.pk, state__in=Job.AT_WORK).update(state=Job.State.FAILED, error=error)
