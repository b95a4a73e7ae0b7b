"""Two people, or one person twice, at the same instant: real threads, each with its own connection.

``overlap`` makes the meeting certain: the first stops at a named place inside its work until the second has come as far
as it can (it has ended, waits for a lock, or has reached the same place).
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections

from annotation.models import User
from judging.exceptions import LeaseLost, NotReviewable
from judging.models import Assignment, Batch, BatchReview, Judgment, JudgmentChange
from judging.services import assignments, batches
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, CandidateFactory, annotator, lead
from tests.judging.play import grade, judge, outcomes, pairs_of

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 20
Place = tuple[Any, str]  # a module or an object, and the name of what is called there
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Meeting:
    """Holds the first thread at a place until the second can go no further."""

    def __init__(self) -> None:
        self.first_is_there = threading.Event()
        self.second_is_there = threading.Event()
        self.second: Future[Any] | None = None

    def at_the_place(self) -> None:
        if threading.current_thread().name.startswith("first"):
            if not self.first_is_there.is_set():
                self.first_is_there.set()
                self.wait_for_second()
        else:
            self.second_is_there.set()

    def wait_for_second(self) -> None:
        for _ in range(PATIENCE_S * 100):
            if self.second_is_there.wait(0.01) or (self.second and self.second.done()) or self.somebody_waits():
                return
        raise AssertionError("the second never came")

    def somebody_waits(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees its first answer again otherwise
            cursor.execute(WAITING)
            return bool(cursor.fetchone()[0])


def overlap(
    monkeypatch: pytest.MonkeyPatch,
    place: Place,
    first: Callable[[], Any],
    second: Callable[[], Any],
) -> list[Any]:
    """What the two gave, an exception included."""
    meeting = Meeting()
    real = getattr(*place)

    def stopped(*args: Any, **kwargs: Any) -> Any:
        meeting.at_the_place()
        return real(*args, **kwargs)

    monkeypatch.setattr(*place, stopped)
    with pool("first") as one, pool("second") as other:
        leading = one.submit(closing(first))
        assert meeting.first_is_there.wait(PATIENCE_S)
        meeting.second = other.submit(closing(second))
        answers = [future.exception(PATIENCE_S) or future.result() for future in (leading, meeting.second)]
    monkeypatch.undo()
    return answers


@contextmanager
def pool(name: str) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix=name) as made:
        yield made


def closing(work: Callable[[], Any]) -> Callable[[], Any]:
    def worked() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return worked


def taking(batch: Batch, person: User) -> Callable[[], Assignment | None]:
    return lambda: assignments.assignment_take(project=batch.project, annotator=person, now=NOW)


CHOSEN = (assignments, "next_seat")  # a seat was seen free; nothing is locked yet
ABOUT_TO_WRITE = (assignments, "lease_until")  # the last thing before a seat is written, or a grade has been


class TestTake:
    @pytest.mark.parametrize("place", [CHOSEN, ABOUT_TO_WRITE], ids=["chosen", "about to write"])
    def test_two_people_want_the_last_seat(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        people = [annotator(batch.project) for _ in range(2)]
        answers = overlap(monkeypatch, place, *(taking(batch, person) for person in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["Assignment", "NoneType"]
        assert batch.assignments.filter(seat=2).count() == 1

    def test_two_people_and_two_seats(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory()
        people = [annotator(batch.project) for _ in range(2)]
        answers = overlap(monkeypatch, CHOSEN, *(taking(batch, person) for person in people))
        assert {(answer.annotator, answer.batch) for answer in answers} == {(person, batch) for person in people}
        assert {answer.seat for answer in answers} == {1, 2}

    @pytest.mark.parametrize("place", [CHOSEN, ABOUT_TO_WRITE], ids=["chosen", "about to write"])
    def test_one_person_presses_twice(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        person = annotator(batch.project)
        first, second = overlap(monkeypatch, place, taking(batch, person), taking(batch, person))
        assert first == second
        assert Assignment.objects.count() == 1

    def test_many_at_once(self) -> None:
        """Eight people fall on two batches of two seats: four get one, no seat twice."""
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        people = [annotator(batch.project) for _ in range(8)]
        barrier = threading.Barrier(len(people))

        def rush(person: User) -> Assignment | None:
            barrier.wait(PATIENCE_S)
            return closing(taking(batch, person))()  # type: ignore[no-any-return]

        with ThreadPoolExecutor(len(people)) as crowd:
            answers = list(crowd.map(rush, people))
        taken = [(answer.batch_id, answer.seat) for answer in answers if answer]
        assert sorted(taken) == [(row.pk, seat) for row in (batch, other) for seat in (1, 2)]


class TestSubmit:
    def submitting(self, held: Assignment, value: int, now: Any = NOW) -> Callable[[], Judgment]:
        pair = pairs_of(held.batch)[0]
        return lambda: assignments.judgment_submit(assignment=held, pair=pair, grade=value, now=now)

    def test_two_grades_for_one_pair(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two tabs: both are taken, the later as a change of the earlier."""
        held = AssignmentFactory()
        place = (assignments, "_judgment_create")  # allowed, not written yet
        first, second = overlap(monkeypatch, place, self.submitting(held, 1), self.submitting(held, 3))
        assert first == second
        assert Judgment.objects.get().grade == 3
        assert list(JudgmentChange.objects.values_list("from_grade", "to_grade")) == [(1, 3)]

    def test_the_same_grade_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        place = (assignments, "_judgment_create")
        first, second = overlap(monkeypatch, place, self.submitting(held, 1), self.submitting(held, 1))
        assert first == second
        assert not JudgmentChange.objects.exists()

    def test_a_sweep_does_not_take_the_batch_out_of_a_grade(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        place = (assignments, "_judgment_create")
        sweep = partial(assignments.assignments_sweep, now=NOW + 20 * MINUTES)
        given, ended = overlap(monkeypatch, place, self.submitting(held, 1, NOW + 19 * MINUTES), sweep)
        assert (type(given), ended) == (Judgment, 0)
        held.refresh_from_db()
        assert (held.state, held.expires_at) == ("open", NOW + 39 * MINUTES)

    def test_no_grade_after_the_sweep(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        place = (assignments, "_assignment_end")
        sweep = partial(assignments.assignments_sweep, now=NOW + 20 * MINUTES)
        ended, refusal = overlap(monkeypatch, place, sweep, self.submitting(held, 1, NOW + 19 * MINUTES))
        assert (ended, type(refusal)) == (1, LeaseLost)
        assert not Judgment.objects.exists()

    def test_no_grade_after_finishing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        place = (assignments, "_assignment_end")
        finish = partial(assignments.assignment_finish, assignment=held, now=NOW)
        _, refusal = overlap(monkeypatch, place, finish, self.submitting(held, 4))
        assert type(refusal) is LeaseLost
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1}


class TestFinish:
    @pytest.fixture
    def held(self) -> Assignment:
        """A fully graded assignment; its lease ends 20 minutes from NOW."""
        made: Assignment = AssignmentFactory()
        grade(made, [1, 1])
        return made

    def finishing(self, held: Assignment) -> Callable[[], None]:
        return lambda: assignments.assignment_finish(assignment=held, now=NOW + 19 * MINUTES)

    def sweeping(self) -> int:
        return assignments.assignments_sweep(now=NOW + 20 * MINUTES)

    def test_a_sweep_meets_a_finish(self, monkeypatch: pytest.MonkeyPatch, held: Assignment) -> None:
        place = (assignments, "_assignment_end")
        assert overlap(monkeypatch, place, self.finishing(held), self.sweeping) == [None, 0]
        held.refresh_from_db()
        assert (held.state, held.ended_at) == ("finished", NOW + 19 * MINUTES)

    def test_a_finish_meets_a_sweep(self, monkeypatch: pytest.MonkeyPatch, held: Assignment) -> None:
        place = (assignments, "_assignment_end")
        ended, refusal = overlap(monkeypatch, place, self.sweeping, self.finishing(held))
        assert (ended, type(refusal)) == (1, LeaseLost)
        held.refresh_from_db()
        assert (held.state, held.ended_at) == ("lapsed", NOW + 20 * MINUTES)

    def test_two_sweeps(self, monkeypatch: pytest.MonkeyPatch, held: Assignment) -> None:
        place = (assignments, "_assignment_end")
        assert overlap(monkeypatch, place, self.sweeping, self.sweeping) == [1, 0]

    def test_two_presses(self, monkeypatch: pytest.MonkeyPatch, held: Assignment) -> None:
        sent: list[object] = []
        monkeypatch.setattr(assignments, "send_on_commit", lambda *message: sent.append(message))
        place = (assignments, "_assignment_end")
        assert overlap(monkeypatch, place, self.finishing(held), self.finishing(held)) == [None, None]
        assert len(sent) == 1


class TestDecide:
    def test_one_batch_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory()
        for grades in ([0, 2], [4, 2]):
            held = AssignmentFactory(batch=batch, seat=1 + batch.assignments.count())
            grade(held, grades)
        Assignment.objects.update(state="finished", ended_at=NOW)
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assert overlap(monkeypatch, (batches, "pair_decide"), advance, advance) == [None, None]
        assert outcomes(batch) == [("escalated", None), ("settled", 2)]
        batch.refresh_from_db()
        assert (batch.state, batch.round) == ("open", 2)

    def test_automatic_review_is_written_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory()
        batch.project.policies.update(extend_automatically=True)
        for seat in (1, 2):
            grade(AssignmentFactory(batch=batch, seat=seat), [1, 1])
        Assignment.objects.update(state="finished", ended_at=NOW)
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assert overlap(monkeypatch, (batches, "suggest"), advance, advance) == [None, None]
        assert BatchReview.objects.count() == batch.project.audit_events.count() == 1

    def test_two_leads_disagree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory(state="done")
        person = lead(batch.project)

        def say(extend: bool) -> BatchReview:
            return batches.batch_review(batch=batch, extend=extend, lead=person)

        first, second = (partial(say, extend) for extend in (True, False))
        review, refusal = overlap(monkeypatch, (batches, "suggest"), first, second)
        assert (review.decision, type(refusal)) == ("extend", NotReviewable)
        assert BatchReview.objects.count() == 1

    def test_a_second_batch_is_opened_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        query = CandidateFactory(rank=21).query
        opening = partial(batches.batch_create, query=query, number=2)
        first, second = overlap(monkeypatch, (batches.Pair.objects, "bulk_create"), opening, opening)
        assert first == second
        assert query.batches.get().pairs.count() == 1
