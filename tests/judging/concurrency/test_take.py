"""Two people want a slot, or one person wants two, at the same instant."""

from functools import partial

import pytest

from accounts.models import User
from judging.models import Assignment, Batch
from judging.work.services import assignments, batches
from tests.factories import NOW, AssignmentFactory, BatchFactory, annotator
from tests.judging.concurrency.meeting import (
    ABOUT_TO_WRITE,
    AROUND_THE_CHOICE,
    ENDED,
    LETTING_GO,
    CallSite,
    Meet,
    Work,
    rush,
    state_of,
    taking,
)
from tests.judging.play import give_back, judge, take
from tests.judging.rows import Rows

pytestmark = pytest.mark.django_db(transaction=True)


class TestTake:
    @AROUND_THE_CHOICE
    def test_two_people_want_the_last_slot(self, meet: Meet, call_site: CallSite) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        people = [annotator(batch.project) for _ in range(2)]
        answers = meet(call_site, *(taking(batch, person) for person in people))
        assert sorted(type(answer).__name__ for answer in answers) == ["Assignment", "NoneType"]
        assert batch.assignments.filter(slot=2).count() == 1

    @AROUND_THE_CHOICE
    def test_two_people_and_two_slots_of_one_batch(self, meet: Meet, call_site: CallSite) -> None:
        """The second may have to wait, but is never told that there is nothing."""
        batch = BatchFactory()
        people = [annotator(batch.project) for _ in range(2)]
        answers = meet(call_site, *(taking(batch, person) for person in people))
        assert {(answer.annotator, answer.batch) for answer in answers} == {(person, batch) for person in people}
        assert {answer.slot for answer in answers} == {1, 2}

    def test_two_people_and_two_batches_and_neither_waits(self, meet: Meet) -> None:
        """While the first is just taking the one that is due, the second takes the next and has ended before."""
        first = BatchFactory()
        second = BatchFactory(query__project=first.project)
        people = [annotator(first.project) for _ in range(2)]
        ended: list[int] = []

        def noting(person: User) -> Work:
            def take_and_note() -> Assignment | None:
                answer = taking(first, person)()
                ended.append(person.pk)
                return answer

            return take_and_note

        answers = meet(ABOUT_TO_WRITE, noting(people[0]), noting(people[1]), until_it_ends=True)
        assert [answer.batch for answer in answers] == [first, second]
        assert ended == [people[1].pk, people[0].pk]

    @AROUND_THE_CHOICE
    def test_one_person_presses_twice(self, meet: Meet, call_site: CallSite) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        person = annotator(batch.project)
        first, second = meet(call_site, taking(batch, person), taking(batch, person))
        assert first == second
        assert Assignment.objects.count() == 1

    def test_one_tab_gives_back_what_another_believes_free(self, meet: Meet) -> None:
        """The one waits for the batch, so the other must not wait for the one's assignment."""
        assignment = AssignmentFactory()
        taking_of = partial(
            assignments.assignment_take_of, batch=assignment.batch, annotator=assignment.annotator, now=NOW
        )
        assert meet(LETTING_GO, partial(give_back, assignment), taking_of) == [True, None]
        assert state_of(assignment) == "returned"

    @pytest.mark.parametrize("n", [4, 12])
    def test_as_many_people_as_slots(self, n: int) -> None:
        """All at once: everybody gets one, no slot twice."""
        batch = BatchFactory()
        all_batches = [batch, *(BatchFactory(query__project=batch.project) for _ in range(n // 2 - 1))]
        answers = rush([taking(batch, annotator(batch.project)) for _ in range(n)])
        slots = [(answer.batch_id, answer.slot) for answer in answers if answer]
        assert sorted(slots) == sorted((row.pk, slot) for row in all_batches for slot in (1, 2))

    def test_more_people_than_slots(self) -> None:
        batch = BatchFactory()
        other = BatchFactory(query__project=batch.project)
        answers = rush([taking(batch, annotator(batch.project)) for _ in range(8)])
        slots = [(answer.batch_id, answer.slot) for answer in answers if answer]
        assert sorted(slots) == [(row.pk, slot) for row in (batch, other) for slot in (1, 2)]

    def test_a_take_meets_the_decision_of_its_batch(self, meet: Meet) -> None:
        """The first round ends while somebody asks: they get a slot of the second, or nothing, never of the first."""
        batch = BatchFactory(pairs=1)
        judge(batch, [0])
        judge(batch, [4])
        Batch.objects.update(free_slots=1)  # as if not put right yet
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        _, assignment = meet((batches, "_pairs_decide"), advance, taking(batch, annotator(batch.project)))
        assert (assignment.round, assignment.slot) == (2, 1)
        batch.refresh_from_db()
        assert (batch.round, batch.free_slots, batch.begun) == (2, 1, True)

    def test_the_decision_meets_a_take(self, meet: Meet) -> None:
        batch = BatchFactory(pairs=2)
        judge(batch, [0, 1])
        advance = partial(batches.batch_advance, batch_id=batch.pk)
        assignment, _ = meet(ABOUT_TO_WRITE, taking(batch, annotator(batch.project)), advance)
        batch.refresh_from_db()
        assert (assignment.round, assignment.slot, batch.round, batch.free_slots) == (1, 2, 1, 0)

    def test_a_slot_given_back_meets_a_take(self, meet: Meet) -> None:
        batch = BatchFactory()
        assignment = take(batch)
        judge(batch, [1, 1])
        person = annotator(batch.project)
        returned, _ = meet(ENDED, partial(give_back, assignment), taking(batch, person))
        assert returned is True
        next_assignment = assignments.assignment_take(project=batch.project, annotator=person, now=NOW)
        assert next_assignment is not None and (next_assignment.batch, next_assignment.slot) == (batch, assignment.slot)
        Rows(batch.project_id).check()
