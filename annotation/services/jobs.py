"""Progress of long work, for the people who wait."""

from django.db.models import F, Value
from django.db.models.functions import Least
from django.utils import timezone

from annotation.models import Job, Project


def job_start(*, project: Project, kind: str, title: str, total: int) -> Job:
    """The running job of this kind, new if there is none."""
    job, _ = Job.objects.get_or_create(
        project=project, kind=kind, state=Job.State.RUNNING, defaults={"title": title, "total": total}
    )
    return job


def job_set(*, job: Job, done: int, title: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        done=Least(Value(done), F("total")), title=title, updated_at=timezone.now()
    )


def job_finish(*, job: Job, title: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(done=F("total"), state=Job.State.DONE, title=title)


def job_fail(*, job: Job, error: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(state=Job.State.FAILED, error=error)
