"""Taking a slot in turn: what is handed out, to whom, in which order."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from judging.exceptions import NotAssigned
from judging.guidelines.services import policy_publish
from judging.models import Batch
from judging.work.rules import shuffled
from judging.work.selectors.assignments import work_waits
from judging.work.services.assignments import assignment_take_of
from judging.work.services.batches import batch_advance, batches_sweep
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, JudgmentFactory, ProjectFactory, annotator
from tests.judging.play import give, judge, judge_round, pairs_by_rank, pairs_of, take
from tests.judging.work.acts import State, batches, escalate, free_slots_of, take_next, turns

pytestmark = pytest.mark.django_db


class TestTake:
    def test_new_batch(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        assignment = take(batch, person)
        assert (assignment.batch, assignment.round, assignment.slot, assignment.annotator) == (batch, 1, 1, person)
        assert (assignment.state, assignment.expires_at, assignment.ended_at) == (State.OPEN, NOW + 20 * MINUTES, None)
        batch.refresh_from_db()
        assert (batch.begun, batch.free_slots) == (True, 1)
        assert take(batch, person) == assignment
        policy_publish(project=batch.project, actor=None, lease_minutes=3)
        assert take(batch).expires_at == NOW + 3 * MINUTES
        assert free_slots_of(batch) == 0
        assert take_next(batch.project) is None

    def test_the_order_shown_is_saved_and_follows_from_its_seed(self) -> None:
        batch = BatchFactory(pairs=20)
        assignment = take(batch)
        by_rank = [pair.pk for pair in pairs_of(batch)]
        assert assignment.pair_ids == shuffled(by_rank, seed=assignment.shuffle_seed)
        assert assignment.pair_ids != by_rank
        assert take(batch).pair_ids != assignment.pair_ids

    def test_nobody_grades_a_pair_twice(self) -> None:
        """Who has graded a batch is not handed it again, and the database takes no second grade of theirs."""
        batch = BatchFactory(pairs=1)
        person = annotator(batch.project)
        judge(batch, [1], person)
        assert take_next(batch.project, person) is None
        with pytest.raises(IntegrityError, match="judgment_once_per_pair_and_annotator"), transaction.atomic():
            JudgmentFactory(assignment=AssignmentFactory(batch=batch, slot=2, annotator=person))

    def test_nothing_is_left_when_both_have_finished(self) -> None:
        batch = BatchFactory(pairs=1)
        for _ in range(2):
            judge(batch, [1])
        assert take_next(batch.project) is None

    def test_judges_of_round_1_do_not_judge_in_round_2(self) -> None:
        batch = BatchFactory(pairs=1)
        people = [annotator(batch.project) for _ in range(2)]
        judge(batch, [0], people[0])
        judge(batch, [4], people[1])
        batch_advance(batch_id=batch.pk)
        assert turns(batch.project, people) == [None, None]
        assert take(batch).round == 2

    def test_round_2_asks_for_escalated_pairs_only(self) -> None:
        batch = BatchFactory(pairs=3)
        judge_round(batch, [0, 1, 4], [4, 1, 0])
        escalated, settled, other = pairs_of(batch)
        assignment = take(batch)
        assert pairs_by_rank(assignment) == [escalated, other]
        with pytest.raises(NotAssigned):
            give(assignment, settled, 1)

    @pytest.mark.parametrize("batch_state", ["open", "done"])
    def test_batches_done_or_withdrawn_and_other_projects_are_not_offered(self, batch_state: str) -> None:
        batch = BatchFactory(state=batch_state)
        batch.pairs.update(state="withdrawn", reason="withdrawn_by_lead")
        BatchFactory()
        assert take_next(batch.project) is None

    def test_a_slot_of_a_named_batch(self) -> None:
        """As the demo takes it: never what the person knows, nothing when no slot is free."""
        first, batch = batches(ProjectFactory(), 2)
        people = [annotator(batch.project) for _ in range(3)]
        assignments = [assignment_take_of(batch=batch, annotator=person, now=NOW) for person in people]
        assert [assignment and (assignment.batch, assignment.slot) for assignment in assignments] == [
            (batch, 1),
            (batch, 2),
            None,
        ]
        assert free_slots_of(first) == 2


class TestOrder:
    def test_priority_then_escalated_then_begun_then_new(self) -> None:
        project = ProjectFactory()
        low, new, begun, escalated = batches(project, 4)
        (first,) = batches(project, 1, priority=1)
        Batch.objects.filter(pk=low.pk).update(priority=-1)
        escalate(escalated)
        AssignmentFactory(batch=begun)
        due = turns(project, [annotator(project) for _ in range(10)])
        assert due == [first, first, escalated, escalated, begun, new, new, low, low, None]

    def test_the_oldest_new_batch_first(self) -> None:
        project = ProjectFactory()
        first, second = batches(project, 2)
        assert [take(batch).slot for batch in (first, first, second, second)] == [1, 2, 1, 2]

    def test_among_begun_ones_that_of_whom_one_has_shared_the_fewest_with(self) -> None:
        project = ProjectFactory()
        person, familiar, acquaintance, stranger = (annotator(project) for _ in range(4))
        for other, times in ((familiar, 2), (acquaintance, 1)):
            for batch in batches(project, times, pairs=1):
                judge(batch, [1], person)
                judge(batch, [1], other)
        due = []
        for other in (familiar, acquaintance, stranger):
            (batch,) = batches(project, 1, pairs=1)
            AssignmentFactory(batch=batch, annotator=other)
            due.append(batch)
        for batch in reversed(due):
            judge(batch, [1], person)
        assert take_next(project, person) is None

    def test_to_have_shared_few_is_less_than_priority_and_escalation(self) -> None:
        project = ProjectFactory()
        person, familiar = annotator(project), annotator(project)
        (shared,) = batches(project, 1, pairs=1)
        judge(shared, [1], person)
        judge(shared, [1], familiar)
        stranger_s, escalated, urgent = batches(project, 3)
        AssignmentFactory(batch=stranger_s)
        escalate(escalated)
        Batch.objects.filter(pk=urgent.pk).update(priority=1)
        AssignmentFactory(batch=urgent, annotator=familiar)
        for batch in (urgent, escalated, stranger_s):
            judge(batch, [1, 1], person)

    def test_work_waits_exactly_when_taking_gives_something(self) -> None:
        project = BatchFactory(pairs=1).project
        BatchFactory(query__project=project, is_paused=True)
        people = [annotator(project) for _ in range(3)]
        for person, waits in zip(people, [True, True, False], strict=True):
            assert work_waits(project_id=project.pk, annotator_id=person.pk) == waits
            assert (take_next(project, person) is not None) == waits

    def test_batches_that_claim_a_free_slot_are_put_right_meanwhile(self) -> None:
        """However many claim it, somebody who asks gets the slot there is."""
        project = ProjectFactory()
        wrong = batches(project, 8, pairs=1)
        for batch in wrong:
            judge(batch, [1])
            judge(batch, [1])
        (right,) = batches(project, 1)
        Batch.objects.filter(pk__in=[batch.pk for batch in wrong]).update(free_slots=2)
        take(right)
        assert [free_slots_of(batch) for batch in wrong] == [0] * 8

    def test_a_batch_that_hides_its_slots_is_put_right_by_the_sweep(self) -> None:
        batch = BatchFactory()
        Batch.objects.update(free_slots=0)
        assert take_next(batch.project) is None
        batches_sweep()
        assert free_slots_of(batch) == 2
        take(batch)

    def test_one_look_however_many_batches_wait(self) -> None:
        project = ProjectFactory()
        batches(project, 3)
        take_next(project)
        people = [annotator(project) for _ in range(2)]
        with CaptureQueriesContext(connection) as few:
            take_next(project, people[0])
        batches(project, 20)
        with CaptureQueriesContext(connection) as many:
            take_next(project, people[1])
        assert len(many) == len(few)
