"""Two people, or one person twice, at the same instant: real threads, each with its own connection.

``overlap`` makes the meeting certain: the first stops at a named place inside its work until the second has come as far
as it can (it has ended, waits for a lock, or has reached the same place).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from django.db import connection, connections

from accounts.models import User
from judging.models import Assignment, Batch
from judging.work.services import assignments, judgments
from tests.factories import MINUTES, NOW
from tests.judging.play import give, pairs_of

PATIENCE_S = 180
Work = Callable[[], Any]
CallSite = tuple[Any, str]  # a module or an object, and the name of what is called there
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Meeting:
    """Holds the first thread at a place until the second can go no further, or ``until_it_ends``."""

    def __init__(self, *, until_it_ends: bool = False) -> None:
        self.until_it_ends = until_it_ends
        self.first_is_there = threading.Event()
        self.second_is_there = threading.Event()
        self.second: Future[Any] | None = None

    def at_call_site(self) -> None:
        if threading.current_thread().name.startswith("first"):
            if not self.first_is_there.is_set():
                self.first_is_there.set()
                self.wait_for_second()
        else:
            self.second_is_there.set()

    def wait_for_second(self) -> None:
        for _ in range(PATIENCE_S * 100):
            if self.second and self.second.done():
                return
            if self.second_is_there.wait(0.01) and not self.until_it_ends:
                return
            if self.somebody_waits():
                assert not self.until_it_ends, "the second waits for a lock"
                return
        raise AssertionError("the second never came")

    def somebody_waits(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees its first answer again otherwise
            cursor.execute(WAITING)
            return bool(cursor.fetchone()[0])


def overlap(monkeypatch: pytest.MonkeyPatch, target: CallSite, first: Work, second: Work, **how: bool) -> list[Any]:
    """Return both results or exceptions."""
    meeting = Meeting(**how)
    real = getattr(*target)

    def stopped(*args: Any, **kwargs: Any) -> Any:
        meeting.at_call_site()
        return real(*args, **kwargs)

    with monkeypatch.context() as patch, pool("first") as one, pool("second") as other:
        patch.setattr(*target, stopped)
        leading = one.submit(closing(first))
        assert meeting.first_is_there.wait(PATIENCE_S)
        meeting.second = other.submit(closing(second))
        return [future.exception(PATIENCE_S) or future.result() for future in (leading, meeting.second)]


@contextmanager
def pool(name: str) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix=name) as executor:
        yield executor


def rush(works: Sequence[Work]) -> list[Any]:
    """Start all at the same instant; return their results."""
    barrier = threading.Barrier(len(works))

    def started(work: Work) -> Any:
        barrier.wait(PATIENCE_S)
        return closing(work)()

    with ThreadPoolExecutor(len(works)) as crowd:
        return list(crowd.map(started, works))


def closing(work: Work) -> Work:
    def worked() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return worked


def taking(batch: Batch, person: User) -> Callable[[], Assignment | None]:
    return lambda: assignments.assignment_take(project=batch.project, annotator=person, now=NOW)


def submitting(assignment: Assignment, value: int, *, now: datetime = NOW, index: int = 0, **more: Any) -> Work:
    pair = pairs_of(assignment.batch)[index]
    return lambda: give(assignment, pair, value, now=now, **more)


def sweeping() -> int:
    return assignments.assignments_sweep(now=NOW + 20 * MINUTES)


def state_of(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).state


Meet = Callable[..., list[Any]]  # ``overlap`` with the test's monkeypatch: a call site, the first, the second
CHOSEN = (assignments, "_slot_take")  # the batch whose turn it is, is locked
LOOKED_FOR = (assignments, "batch_to_be_taken")  # nothing is locked yet
ABOUT_TO_WRITE = (assignments, "lease_until")  # the last thing before a slot is written
GRADED = (judgments, "_give")  # allowed, not written yet
CHANGED = (judgments, "_change")
ENDING = (assignments, "_end")
LETTING_GO = (assignments.logger, "info")  # the assignment is ended, its batch is not locked yet
ENDED = (assignments, "flagged_withdraw")  # the assignment is ended, its batch is locked; nothing is committed
AROUND_THE_CHOICE = pytest.mark.parametrize(
    "call_site", [LOOKED_FOR, CHOSEN, ABOUT_TO_WRITE], ids=["looked", "chosen", "about to write"]
)
AROUND_THE_END = pytest.mark.parametrize("call_site", [ENDING, ENDED], ids=["about to end", "ended"])
