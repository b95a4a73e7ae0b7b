"""Durable work: a row asks for it, a task does it, and a sweep asks again where a message or a worker was lost.

Every kind of work keeps its own table; ``JobKind`` is what they have in common. Progress of work without a table of
its own is a row of ``core.models.Job``.
"""

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Generic, ParamSpec, TypeVar

from celery import shared_task
from django.db import OperationalError
from django.db.models import F, Model, QuerySet, Value
from django.db.models.functions import Least
from django.utils import timezone

from core.exceptions import MomentJudgeError
from core.messages import send_on_commit
from core.models import Job
from core.sql import only_one
from core.texts import storable

logger = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Model)
Result = TypeVar("Result")
P = ParamSpec("P")
Failure = TypeVar("Failure", bound=Callable[..., object])
Sweep = Callable[[datetime], object]
RETRIED: dict[str, Any] = {"autoretry_for": (OperationalError,), "retry_backoff": True, "max_retries": 5}
LONGEST_ERROR = 2000
SWEEPS: list[Sweep] = []


class Stopped(Exception):
    """Somebody cancelled or deleted the row while it was worked on."""


def durable(name: str, **options: Any) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Make a service the Celery task ``name``, tried again while the database does not answer.

    A message holds the service's arguments in their order; ``options`` are Celery's.
    """

    def register(service: Callable[P, Result]) -> Callable[P, Result]:
        names = list(inspect.signature(service).parameters)
        module = inspect.getmodule(service)

        @shared_task(name=name, **RETRIED | options)
        def run(*values: Any) -> Result:
            current = getattr(module, service.__name__)
            return current(**dict(zip(names, values, strict=False)))  # type: ignore[no-any-return]

        return service

    return register


def swept(sweep: Sweep) -> Sweep:
    """Have ``sweep`` called about once a minute by some worker; it may run twice, late or never."""
    SWEEPS.append(sweep)
    return sweep


def sweep_all(*, now: datetime) -> None:
    """Call every sweep; one that fails keeps none of the others back.

    Raises:
        ExceptionGroup: what the sweeps that failed raised.
    """
    errors = []
    for sweep in SWEEPS:
        try:
            sweep(now)
        except Exception as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup("sweeps failed", errors)


class JobKind(Generic[Row]):
    """One kind of durable work.

    Args:
        task: the name of its task, which takes the row's key.
        rows: the rows with work left, with what is selected beside them.
        moved: the column that says when a row last moved; empty where every row with work left is to be sent again.
        late: a row that has not moved for so long has lost its message or its worker.
        lock: names the lock of a row that is worked on; the task's name by default.
        key: the column that messages name a row by.
        expected: errors that are a row's failure and nothing else; others are also raised on.
        unexpected: what a row says of any other error, whose own words its owner must not see.
        fail: writes a failure; by default state and error.
    """

    def __init__(
        self,
        task: str,
        rows: Callable[[], QuerySet[Row]],
        *,
        moved: str = "moved_at",
        late: timedelta = timedelta(minutes=2),
        lock: str = "",
        key: str = "pk",
        expected: tuple[type[Exception], ...] = (MomentJudgeError, OSError),
        unexpected: str = "",
        fail: Callable[[Row, str], object] | None = None,
    ) -> None:
        self.task, self.rows, self.moved, self.late, self.key = task, rows, moved, late, key
        self.lock, self.expected, self.unexpected, self._fail = lock or task, expected, unexpected, fail
        swept(self.sweep)

    def failure(self, fail: Failure) -> Failure:
        """Have ``fail`` write down failures, as a decorator."""
        self._fail = fail
        return fail

    def send(self, key: int) -> None:
        """Wake the task once the row is committed."""
        send_on_commit(self.task, key)

    def sweep(self, now: datetime) -> None:
        """Wake the task again for every row that does not move; who is at work on one holds its lock."""
        stale = self.rows().order_by()
        if self.moved:
            stale = stale.filter(**{f"{self.moved}__lte": now - self.late})
        for key in stale.values_list(self.key, flat=True).distinct():
            self.send(key)

    @contextmanager
    def claim(self, key: int) -> Iterator[Row | None]:
        """Hold the row while it is worked on; None when another process holds it or no work is left.

        An error inside becomes the row's failure. It is raised on unless it is expected; a database that does not
        answer is no failure, as the task is tried again.
        """
        with only_one(self.lock, key) as alone:
            row = self.rows().filter(**{self.key: key}).first() if alone else None
            if row is None:
                yield None
                return
            try:
                yield row
            except OperationalError:
                raise
            except Exception as error:
                is_expected = isinstance(error, (MomentJudgeError, OSError, *self.expected))
                self.fail(row, str(error) if is_expected else self.unexpected or f"{type(error).__name__}: {error}")
                if not isinstance(error, self.expected):
                    raise

    def fail(self, row: Row, error: str) -> None:
        """Write down why the row failed, unless somebody has taken it a step further."""
        logger.warning("%s %s failed: %s", self.lock, row.pk, error)
        if self._fail:
            self._fail(row, error)
            return
        values = {"state": "failed", "error": storable(error)[:LONGEST_ERROR] or "unknown"}
        self.rows().filter(pk=row.pk).update(**values)


def job_start(*, project: Model, kind: str, title: str, total: int) -> Job:
    """The running job of this kind, which may have waited, new if there is none."""
    Job.objects.filter(project=project.pk, kind=kind, state=Job.State.WAITING).update(state=Job.State.RUNNING, error="")
    job, _ = Job.objects.get_or_create(
        project_id=project.pk, kind=kind, state=Job.State.RUNNING, defaults={"title": title, "total": total}
    )
    return job


def job_set(*, job: Job, n_done: int, title: str) -> None:
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        done=Least(Value(n_done), F("total")), title=title, updated_at=timezone.now()
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


def project_jobs(task: str, kind: str, *, lock: str, expected: tuple[type[Exception], ...]) -> JobKind[Job]:
    """Return the kind of work that a ``Job`` row of a project asks for; messages name the project."""
    return JobKind(
        task,
        lambda: Job.objects.filter(kind=kind, state=Job.State.RUNNING),
        moved="updated_at",
        late=timedelta(minutes=1),
        lock=lock,
        key="project",
        expected=expected,
        fail=lambda job, error: job_fail(job=job, error=error),
    )
