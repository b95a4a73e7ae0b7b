"""Durable work: a row asks for it, a task does it, and a sweep asks again where a message or a worker was lost.

Every kind of work keeps its own table; ``JobKind`` is what they have in common: claim, progress, failure, attempts,
resuming, sweep. Whoever cancels or deletes a row takes it out of ``rows``, which a worker learns from ``move``.
Progress of work without a table of its own is a row of ``core.models.Job``.
"""

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Generic, ParamSpec, TypeVar

from celery import shared_task
from django.db import OperationalError
from django.db.models import F, Model, QuerySet, Value
from django.db.models.functions import Least
from django.utils import timezone

from core import clock
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
LATE = timedelta(minutes=1)  # what has not moved for so long has lost its message or its worker
EVERY_S = 1.0  # how often progress is written
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


@durable("core.tasks.sweep", autoretry_for=())
def sweep_all(*, now: datetime | None = None) -> None:
    """Send again all work whose message or worker was lost; a sweep that fails keeps none of the others back.

    Raises:
        ExceptionGroup: what the sweeps that failed raised.
    """
    now, errors = now or clock.now(), []
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
        late: a row that has not moved for so long is sent again.
        lock: names the lock of a row that is worked on; the task's name by default.
        key: the column that messages name a row by.
        expected: errors that are a row's failure and nothing else; others are also raised on.
        unexpected: what a row says of any other error, whose own words its owner must not see.
        attempts: errors that are not expected end a row the so many-th time; its column ``attempts`` counts them.
        fail: writes a failure; by default state and error.
        clean: removes what is left of a row that was cancelled or deleted while it was worked on.
    """

    def __init__(
        self,
        task: str,
        rows: Callable[[], QuerySet[Row]],
        *,
        moved: str = "moved_at",
        late: timedelta = LATE,
        lock: str = "",
        key: str = "pk",
        expected: tuple[type[Exception], ...] = (MomentJudgeError, OSError),
        unexpected: str = "",
        attempts: int = 1,
        fail: Callable[[Row, str], object] | None = None,
        clean: Callable[[Row], object] = lambda row: None,
    ) -> None:
        self.task, self.rows, self.moved, self.late, self.key = task, rows, moved, late, key
        self.lock, self.expected, self.unexpected, self.attempts = lock or task, expected, unexpected, attempts
        self._fail, self._clean = fail, clean
        swept(self.sweep)

    def failure(self, fail: Failure) -> Failure:
        """Have ``fail`` write down failures, as a decorator."""
        self._fail = fail
        return fail

    def send(self, key: int) -> None:
        """Wake the task once the row is committed."""
        send_on_commit(self.task, key)

    def late_rows(self, now: datetime) -> QuerySet[Row]:
        """Return the rows that have not moved lately; who is at work on one holds its lock."""
        rows = self.rows().order_by()
        return rows.filter(**{f"{self.moved}__lte": now - self.late}) if self.moved else rows

    def sweep(self, now: datetime) -> None:
        """Wake the task again for every row that does not move."""
        for key in self.late_rows(now).values_list(self.key, flat=True).distinct():
            self.send(key)

    @contextmanager
    def claim(self, key: int) -> Iterator[Row | None]:
        """Hold the row while it is worked on; None when another process holds it or no work is left.

        An error inside becomes the row's failure. It is raised on unless it is expected; a database that does not
        answer is no failure, as the task is tried again. ``Stopped`` ends the work and is no failure either.
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
            except Stopped:
                self._clean(row)
            except Exception as error:
                is_expected = isinstance(error, self.expected)
                if is_expected or self._was_last_attempt(row):
                    self.fail(row, self._words(error))
                if not is_expected:
                    raise

    def _words(self, error: Exception) -> str:
        is_readable = isinstance(error, (MomentJudgeError, *self.expected))
        if is_readable or (isinstance(error, OSError) and not self.unexpected):
            return str(error)
        return self.unexpected or f"{type(error).__name__}: {error}"

    def _was_last_attempt(self, row: Row) -> bool:
        if self.attempts == 1:
            return True
        waiting = self.rows().filter(pk=row.pk)
        waiting.update(attempts=F("attempts") + 1)
        return not waiting.filter(attempts__lt=self.attempts).exists()

    def fail(self, row: Row, error: str) -> None:
        """Write down why the row failed, unless another process has taken it a step further."""
        logger.warning("%s %s failed: %s", self.lock, row.pk, error)
        if self._fail:
            self._fail(row, error)
            return
        values = {"state": "failed", "error": storable(error)[:LONGEST_ERROR] or "unknown"}
        if not self.rows().filter(pk=row.pk).update(**values):
            self._clean(row)

    def move(self, row: Row, **values: object) -> None:
        """Write how far a row is, or that it is done; a sweep sees that it moves.

        Raises:
            Stopped: it was cancelled or deleted, or another process has taken it a step further.
        """
        values[self.moved] = clock.now()
        if not self.rows().filter(pk=row.pk).update(**values):
            raise Stopped
        for name, value in values.items():
            setattr(row, name, value)

    def resume(self, row: Row, *, state: str, wake: bool = True, **values: object) -> None:
        """Have a locked row that failed or was cancelled worked on again; wake its task unless the caller works."""
        values |= {"state": state, "error": "", "done": 0, "total": 0, self.moved: clock.now()}
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
        if wake:
            self.send(row.pk)


class Progress(Generic[Row]):
    """Writes the step of a row, and how much of it is done: now and then, and as soon as another step begins.

    ``on_progress`` gets the words of the row after each writing.
    """

    def __init__(self, kind: JobKind[Row], row: Row, on_progress: Callable[[str], None] | None) -> None:
        self.kind, self.row, self.on_progress = kind, row, on_progress
        self.step, self.written_at, self.every_s = "", 0.0, EVERY_S

    def report(self, step: str, n_done: int, total: int) -> None:
        """Raise Stopped where the row was cancelled or deleted."""
        if step == self.step and n_done < total and monotonic() - self.written_at < self.every_s:
            return
        self.step, self.written_at = step, monotonic()
        self.write(step, n_done, total)
        if self.on_progress:
            self.on_progress(self.row.progress)  # type: ignore[attr-defined]

    def write(self, step: str, n_done: int, total: int) -> None:
        self.kind.move(self.row, step=step, done=n_done, total=total)


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


class ProjectJobs(JobKind[Job]):
    """The kind of work that a ``Job`` row of a project asks for; messages name the project."""

    def __init__(self, task: str, kind: str, **options: Any) -> None:
        super().__init__(
            task,
            lambda: Job.objects.filter(kind=kind, state=Job.State.RUNNING).select_related("project"),
            moved="updated_at",
            key="project",
            **options,
        )
