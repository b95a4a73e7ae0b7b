"""Two people, or one person twice, at the same instant: real threads, each with its own connection.

``overlap`` makes the meeting certain: the first stops at a named place inside its work until the second has come as far
as it can (it has ended, waits for a lock, or has reached the same place).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Sum

from annotation.models import User
from judging import selectors
from judging.exceptions import FormStale, LeaseLost, NotReviewable
from judging.models import Assignment, Batch, BatchReview, Flag, HoursCorrection, Judgment, JudgmentChange
from judging.services import assignments, batches, judgments
from judging.services.judgments import Answer
from judging.services.pay import hours_correct
from tests.factories import (
    MINUTES,
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    ProjectFactory,
    annotator,
    lead,
)
from tests.judging.play import (
    finish,
    flag,
    give,
    give_back,
    grade,
    judge,
    key_of,
    next_pair,
    outcomes,
    pairs_of,
    shown,
    take,
)
from tests.judging.rows import Rows

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 20
Work = Callable[[], Any]
Place = tuple[Any, str]  # a module or an object, and the name of what is called there
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Meeting:
    """Holds the first thread at a place until the second can go no further, or ``until_it_ends``."""

    def __init__(self, *, until_it_ends: bool = False) -> None:
        self.until_it_ends = until_it_ends
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


def overlap(monkeypatch: pytest.MonkeyPatch, place: Place, first: Work, second: Work, **how: bool) -> list[Any]:
    """What the two gave, an exception included."""
    meeting = Meeting(**how)
    real = getattr(*place)

    def stopped(*args: Any, **kwargs: Any) -> Any:
        meeting.at_the_place()
        return real(*args, **kwargs)

    with monkeypatch.context() as patch, pool("first") as one, pool("second") as other:
        patch.setattr(*place, stopped)
        leading = one.submit(closing(first))
        assert meeting.first_is_there.wait(PATIENCE_S)
        meeting.second = other.submit(closing(second))
        return [future.exception(PATIENCE_S) or future.result() for future in (leading, meeting.second)]


@contextmanager
def pool(name: str) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix=name) as made:
        yield made


def rush(works: Sequence[Work]) -> list[Any]:
    """What all of them gave, started at the same instant."""
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


def submitting(held: Assignment, value: int, *, now: datetime = NOW, place: int = 0, **more: Any) -> Work:
    pair = pairs_of(held.batch)[place]
    return lambda: give(held, pair, value, now=now, **more)


def sweeping() -> int:
    return assignments.assignments_sweep(now=NOW + 20 * MINUTES)


def state_of(held: Assignment) -> str:
    return Assignment.objects.get(pk=held.pk).state


CHOSEN = (assignments, "_seat_take")  # the batch whose turn it is, is locked
LOOKED_FOR = (selectors, "batch_to_be_taken")  # nothing is locked yet
ABOUT_TO_WRITE = (assignments, "lease_until")  # the last thing before a seat is written
GRADED = (judgments, "_give")  # allowed, not written yet
CHANGED = (judgments, "_change")
ENDING = (assignments, "_end")
LETTING_GO = (assignments.logger, "info")  # the assignment is ended, its batch is not locked yet
ENDED = (assignments, "flagged_withdraw")  # the assignment is ended, its batch is locked; nothing is committed


class TestTake:
    @pytest.mark.parametrize("place", [LOOKED_FOR, CHOSEN, ABOUT_TO_WRITE], ids=["looked", "chosen", "about to write"])
    def test_two_people_want_the_last_seat(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        people = [annotator(batch.project) for _ in range(2)]
        answers = overlap(monkeypatch, place, *(taking(batch, person) for person in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["Assignment", "NoneType"]
        assert batch.assignments.filter(seat=2).count() == 1

    @pytest.mark.parametrize("place", [LOOKED_FOR, CHOSEN, ABOUT_TO_WRITE], ids=["looked", "chosen", "about to write"])
    def test_two_people_and_two_seats_of_one_batch(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        """The second may have to wait, but is never told that there is nothing."""
        batch = BatchFactory()
        people = [annotator(batch.project) for _ in range(2)]
        answers = overlap(monkeypatch, place, *(taking(batch, person) for person in people))
        assert {(answer.annotator, answer.batch) for answer in answers} == {(person, batch) for person in people}
        assert {answer.seat for answer in answers} == {1, 2}

    def test_two_people_and_two_batches_and_neither_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """While the first is just taking the one that is due, the second takes the next and has ended before."""
        first = BatchFactory()
        second = BatchFactory(query__project=first.project)
        people = [annotator(first.project) for _ in range(2)]
        ended: list[int] = []

        def noting(person: User) -> Work:
            def taken() -> Assignment | None:
                answer = taking(first, person)()
                ended.append(person.pk)
                return answer

            return taken

        answers = overlap(monkeypatch, ABOUT_TO_WRITE, noting(people[0]), noting(people[1]), until_it_ends=True)
        assert [answer.batch for answer in answers] == [first, second]
        assert ended == [people[1].pk, people[0].pk]

    @pytest.mark.parametrize("place", [LOOKED_FOR, CHOSEN, ABOUT_TO_WRITE], ids=["looked", "chosen", "about to write"])
    def test_one_person_presses_twice(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        person = annotator(batch.project)
        first, second = overlap(monkeypatch, place, taking(batch, person), taking(batch, person))
        assert first == second
        assert Assignment.objects.count() == 1

    def test_one_tab_gives_back_what_another_believes_free(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The one waits for the batch, so the other must not wait for the one's assignment."""
        held = AssignmentFactory()
        taking_of = partial(assignments.assignment_take_of, batch=held.batch, annotator=held.annotator, now=NOW)
        assert overlap(monkeypatch, LETTING_GO, partial(give_back, held), taking_of) == [True, None]
        assert state_of(held) == "returned"

    @pytest.mark.parametrize("n", [4, 12])
    def test_as_many_people_as_seats(self, n: int) -> None:
        """All at once: everybody gets one, no seat twice."""
        batch = BatchFactory()
        made = [batch, *(BatchFactory(query__project=batch.project) for _ in range(n // 2 - 1))]
        answers = rush([taking(batch, annotator(batch.project)) for _ in range(n)])
        taken = [(answer.batch_id, answer.seat) for answer in answers if answer]
        assert sorted(taken) == sorted((row.pk, seat) for row in made for seat in (1, 2))

    def test_more_people_than_seats(self) -> None:
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        answers = rush([taking(batch, annotator(batch.project)) for _ in range(8)])
        taken = [(answer.batch_id, answer.seat) for answer in answers if answer]
        assert sorted(taken) == [(row.pk, seat) for row in (batch, other) for seat in (1, 2)]

    def test_a_take_meets_the_decision_of_its_batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first round ends while somebody asks: they get a seat of the second, or nothing, never of the first."""
        batch = BatchFactory(pairs=1)
        judge(batch, [0])
        judge(batch, [4])
        Batch.objects.update(free_seats=1)  # as if not put right yet
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        _, taken = overlap(monkeypatch, (batches, "_pairs_decide"), advance, taking(batch, annotator(batch.project)))
        assert (taken.round, taken.seat) == (2, 1)
        batch.refresh_from_db()
        assert (batch.round, batch.free_seats, batch.begun) == (2, 1, True)

    def test_the_decision_meets_a_take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory(pairs=2)
        judge(batch, [0, 1])
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        taken, _ = overlap(monkeypatch, ABOUT_TO_WRITE, taking(batch, annotator(batch.project)), advance)
        batch.refresh_from_db()
        assert (taken.round, taken.seat, batch.round, batch.free_seats) == (1, 2, 1, 0)

    def test_a_seat_given_back_meets_a_take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory()
        held = take(batch)
        judge(batch, [1, 1])
        person = annotator(batch.project)
        returned, _ = overlap(monkeypatch, ENDED, partial(give_back, held), taking(batch, person))
        assert returned is True
        taken = assignments.assignment_take(project=batch.project, annotator=person, now=NOW)
        assert taken is not None and (taken.batch, taken.seat) == (batch, held.seat)
        Rows(batch.project_id).check()


class TestSubmit:
    """One form, or two of one pair, from two tabs at the same instant."""

    def test_the_same_form_twice_is_one_judgment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory(batch=BatchFactory(pairs=3))
        key = key_of(held, pairs_of(held.batch)[0])
        work = submitting(held, 1, key=key)
        first, second = overlap(monkeypatch, GRADED, work, work)
        assert next_pair(first) == next_pair(second) == shown(held)[1].pk
        assert (Judgment.objects.get().uuid, JudgmentChange.objects.exists()) == (key, False)

    def test_another_grade_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        key = key_of(held, pairs_of(held.batch)[0])
        works = [submitting(held, value, key=key) for value in (1, 3)]
        first, refusal = overlap(monkeypatch, GRADED, *works)
        assert (type(first), type(refusal)) == (Answer, FormStale)
        assert (Judgment.objects.get().grade, JudgmentChange.objects.exists()) == (1, False)

    def test_the_same_change_twice_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        give(held, pair, 1)
        work = submitting(held, 3, key=key_of(held, pair))
        first, second = overlap(monkeypatch, CHANGED, work, work)
        assert next_pair(first) == next_pair(second)
        assert list(JudgmentChange.objects.values_list("from_grade", "to_grade")) == [(1, 3)]

    def test_another_change_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        give(held, pair, 1)
        key = key_of(held, pair)
        _, refusal = overlap(monkeypatch, CHANGED, *(submitting(held, value, key=key) for value in (3, 0)))
        assert type(refusal) is FormStale
        assert Judgment.objects.get().grade == 3

    def test_without_keys_the_later_is_a_change_of_the_earlier(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        overlap(monkeypatch, GRADED, submitting(held, 1), submitting(held, 3))
        assert Judgment.objects.get().grade == 3
        assert list(JudgmentChange.objects.values_list("from_grade", "to_grade")) == [(1, 3)]

    def test_two_pairs_know_of_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        overlap(monkeypatch, GRADED, submitting(held, 1), submitting(held, 3, place=1))
        assert list(Judgment.objects.order_by("id").values_list("grade", "previous_grade")) == [(1, None), (3, 1)]

    def test_a_grade_and_a_flag_for_one_pair(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        given, flagged = overlap(monkeypatch, GRADED, submitting(held, 1), partial(flag, held, pair))
        assert (type(given), type(flagged)) == (Answer, Answer)
        assert flagged.held.answered == Judgment.objects.count() == Flag.objects.count() == 1

    def test_the_same_flag_twice_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        work = partial(flag, held, pairs_of(held.batch)[0])
        overlap(monkeypatch, (judgments, "_lease_renew"), work, work)
        assert Flag.objects.count() == 1

    def test_a_sweep_does_not_take_the_batch_out_of_a_grade(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        given, ended = overlap(monkeypatch, GRADED, submitting(held, 1, now=NOW + 19 * MINUTES), sweeping)
        assert (type(given), ended) == (Answer, 0)
        held.refresh_from_db()
        assert (held.state, held.expires_at) == ("open", NOW + 39 * MINUTES)

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_no_grade_after_the_sweep(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        held = AssignmentFactory()
        ended, refusal = overlap(monkeypatch, place, sweeping, submitting(held, 1, now=NOW + 19 * MINUTES))
        assert (ended, type(refusal)) == (1, LeaseLost)
        assert not Judgment.objects.exists()

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_no_grade_after_giving_back(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        held = AssignmentFactory()
        _, refusal = overlap(monkeypatch, place, partial(give_back, held), submitting(held, 1))
        assert type(refusal) is LeaseLost
        assert not Judgment.objects.exists()

    def test_a_grade_is_in_what_is_given_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        given, returned = overlap(monkeypatch, GRADED, submitting(held, 1), partial(give_back, held))
        assert (type(given), returned, state_of(held)) == (Answer, True, "returned")
        assert Judgment.objects.get().grade == 1

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_no_change_after_finishing(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        _, refusal = overlap(monkeypatch, place, partial(finish, held), submitting(held, 4))
        assert type(refusal) is LeaseLost
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1}

    def test_a_change_just_before_finishing_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        given, finished = overlap(monkeypatch, CHANGED, submitting(held, 4), partial(finish, held))
        assert (type(given), finished) == (Answer, True)
        assert set(Judgment.objects.values_list("grade", flat=True)) == {1, 4}

    def test_a_heartbeat_meets_a_sweep(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The seat is gone when the heartbeat arrives; it does not bring it back."""
        held = AssignmentFactory()
        beat = partial(
            assignments.assignment_renew, project=held.project, annotator=held.annotator, now=NOW + 19 * MINUTES
        )
        ended, refusal = overlap(monkeypatch, ENDED, sweeping, beat)
        assert (ended, type(refusal), state_of(held)) == (1, LeaseLost, "lapsed")


class TestFinish:
    @pytest.fixture
    def held(self) -> Assignment:
        """A fully graded assignment; its lease ends 20 minutes from NOW."""
        made: Assignment = AssignmentFactory()
        grade(made, [1, 1])
        return made

    def finishing(self, held: Assignment) -> Work:
        return partial(finish, held, now=NOW + 19 * MINUTES)

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_a_sweep_meets_a_finish(self, monkeypatch: pytest.MonkeyPatch, held: Assignment, place: Place) -> None:
        assert overlap(monkeypatch, place, self.finishing(held), sweeping) == [True, 0]
        held.refresh_from_db()
        assert (held.state, held.ended_at) == ("finished", NOW + 19 * MINUTES)

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_a_finish_meets_a_sweep(self, monkeypatch: pytest.MonkeyPatch, held: Assignment, place: Place) -> None:
        ended, refusal = overlap(monkeypatch, place, sweeping, self.finishing(held))
        assert (ended, type(refusal)) == (1, LeaseLost)
        held.refresh_from_db()
        assert (held.state, held.ended_at) == ("lapsed", NOW + 20 * MINUTES)

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_two_sweeps(self, monkeypatch: pytest.MonkeyPatch, held: Assignment, place: Place) -> None:
        assert overlap(monkeypatch, place, sweeping, sweeping) == [1, 0]

    @pytest.mark.parametrize("place", [ENDING, ENDED], ids=["about to end", "ended"])
    def test_two_presses(self, monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
        """The second is told that there was nothing to finish, and one message is sent."""
        batch = BatchFactory()
        judge(batch, [1, 1])
        held = take(batch)
        grade(held, [1, 1])
        sent: list[object] = []
        monkeypatch.setattr(assignments, "send_on_commit", lambda *message: sent.append(message))
        assert overlap(monkeypatch, place, self.finishing(held), self.finishing(held)) == [True, False]
        assert len(sent) == 1

    def test_one_finishes_what_another_tab_gives_back(self, monkeypatch: pytest.MonkeyPatch, held: Assignment) -> None:
        returned, refusal = overlap(monkeypatch, ENDED, partial(give_back, held), self.finishing(held))
        assert (returned, type(refusal), state_of(held)) == (True, LeaseLost, "returned")

    def test_a_flag_does_not_slip_into_what_was_finished(
        self, monkeypatch: pytest.MonkeyPatch, held: Assignment
    ) -> None:
        flagging = partial(flag, held, pairs_of(held.batch)[0])
        finished, refusal = overlap(monkeypatch, ENDED, self.finishing(held), flagging)
        assert (finished, type(refusal), Flag.objects.exists()) == (True, LeaseLost, False)

    def test_a_flag_just_before_finishing_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        held = AssignmentFactory()
        flagged, other = pairs_of(held.batch)
        give(held, other, 1)
        place = (judgments, "_lease_renew")
        answer, finished = overlap(monkeypatch, place, partial(flag, held, flagged), partial(finish, held))
        assert (type(answer), finished, state_of(held)) == (Answer, True, "finished")

    def test_two_who_flagged_the_same_pair_finish_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever is second sees the other's flag: the pair is withdrawn."""
        batch = BatchFactory()
        both = [take(batch), take(batch)]
        flagged, other = pairs_of(batch)
        for held in both:
            flag(held, flagged)
            give(held, other, 2)
        assert overlap(monkeypatch, ENDED, *(partial(finish, held) for held in both)) == [True, True]
        assert outcomes(batch)[0] == ("withdrawn", None)
        batches.batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_two_who_finish_at_once_wake_the_task(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each alone would leave it to the other."""
        batch = BatchFactory()
        both = [take(batch), take(batch)]
        for held in both:
            grade(held, [1, 1])
        sent: list[object] = []
        monkeypatch.setattr(assignments, "send_on_commit", lambda *message: sent.append(message))
        assert overlap(monkeypatch, ENDED, *(partial(finish, held) for held in both)) == [True, True]
        assert sent == [(batches.ADVANCE_TASK, batch.pk)]


class TestDecide:
    def test_one_batch_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = BatchFactory()
        for seat, grades in ((1, [0, 2]), (2, [4, 2])):
            grade(AssignmentFactory(batch=batch, seat=seat), grades)
        Assignment.objects.update(state="finished", ended_at=NOW)
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assert overlap(monkeypatch, (batches, "_pairs_decide"), advance, advance) == [None, None]
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


class TestHours:
    def test_two_leads_take_the_same_time_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second waits, and is told that the day holds no more."""
        project = ProjectFactory()
        person, actor = annotator(project), lead(project)
        values = {"project": project, "annotator": person, "day": NOW.date(), "reason": "r", "actor": actor}
        hours_correct(seconds=600, **values)
        taking_away = partial(hours_correct, seconds=-400, **values)
        answers = overlap(monkeypatch, (selectors, "pay_statement"), taking_away, taking_away)
        assert sorted(type(answer).__name__ for answer in answers) == ["HoursCorrection", "NotPossible"]
        assert HoursCorrection.objects.aggregate(left=Sum("seconds")) == {"left": 200}
