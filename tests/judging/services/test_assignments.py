"""Taking a seat, grading, finishing, and losing the lease."""

import pytest

from annotation.models import User
from judging import selectors
from judging.exceptions import AssignmentIncomplete, JudgingError, LeaseLost, NotAssigned
from judging.models import Assignment, Batch, Judgment, Pair
from judging.services.assignments import assignment_finish, assignment_take, assignments_sweep, judgment_submit
from judging.services.batches import batch_advance
from judging.services.policies import guideline_publish, policy_publish
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    AssignmentFactory,
    BatchFactory,
    JudgmentFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
)
from tests.judging.play import grade, judge, judge_round, outcomes, pairs_of, take

pytestmark = pytest.mark.django_db
State = Assignment.State
LATE = NOW + 20 * MINUTES  # the first instant at which a lease of 20 minutes has run out


def take_next(batch: Batch, person: User) -> Assignment | None:
    return assignment_take(project=batch.project, annotator=person, now=NOW)


def batches(project: object, n: int, **values: object) -> list[Batch]:
    return [BatchFactory(query=QueryFactory(project=project), **values) for _ in range(n)]


class TestTake:
    def test_new_batch(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        taken = take_next(batch, person)
        assert taken is not None
        assert (taken.batch, taken.round, taken.seat, taken.annotator) == (batch, 1, 1, person)
        assert (taken.state, taken.expires_at, taken.ended_at) == (State.OPEN, NOW + 20 * MINUTES, None)

    def test_lease_follows_the_policy_in_force(self) -> None:
        batch = BatchFactory()
        policy_publish(project=batch.project, actor=None, lease_minutes=3)
        assert take(batch).expires_at == NOW + 3 * MINUTES

    def test_escalated_then_begun_then_new(self) -> None:
        project = ProjectFactory()
        new, begun, escalated = batches(project, 3)
        fresh = annotator(project)
        judge_round_on(escalated, [0, 0], [4, 0])
        AssignmentFactory(batch=begun)
        order = []
        for person in (annotator(project), annotator(project), fresh):
            taken = assignment_take(project=project, annotator=person, now=NOW)
            assert taken is not None
            order.append(taken.batch)
        assert order == [escalated, escalated, begun]
        assert take(new, annotator(project)).seat == 1

    def test_the_oldest_new_batch_first(self) -> None:
        project = ProjectFactory()
        first, second = batches(project, 2)
        assert [take(batch).seat for batch in (first, first, second, second)] == [1, 2, 1, 2]

    def test_a_second_press_gives_the_same_assignment(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        assert take(batch, person) == take(batch, person)
        assert Assignment.objects.count() == 1

    def test_both_seats_held_leaves_nothing_for_a_third(self) -> None:
        batch = BatchFactory()
        take(batch)
        take(batch)
        assert take_next(batch, annotator(batch.project)) is None

    def test_nothing_left_when_both_have_finished(self) -> None:
        batch = BatchFactory(pairs=1)
        judge(batch, [1])
        judge(batch, [1])
        assert take_next(batch, annotator(batch.project)) is None

    def test_nobody_takes_a_batch_twice(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        assert take_next(batch, person) is None

    def test_judges_of_round_1_are_not_asked_in_round_2(self) -> None:
        batch = BatchFactory(pairs=1)
        people = [annotator(batch.project) for _ in range(2)]
        judge(batch, [0], people[0])
        judge(batch, [4], people[1])
        batch_advance(batch_id=batch.pk)
        assert [take_next(batch, person) for person in people] == [None, None]
        assert take(batch).round == 2

    def test_done_batches_and_other_projects_are_not_offered(self) -> None:
        done = BatchFactory(state="done")
        BatchFactory()
        assert take_next(done, annotator(done.project)) is None

    def test_a_batch_whose_pairs_are_all_withdrawn_is_not_offered(self) -> None:
        batch = BatchFactory()
        batch.pairs.update(state="withdrawn", reason="withdrawn_by_lead")
        assert take_next(batch, annotator(batch.project)) is None

    def test_own_history_cannot_hide_the_work_that_is_left(self) -> None:
        project = ProjectFactory()
        person = annotator(project)
        for batch in batches(project, 3, pairs=1):
            judge(batch, [1], person)
        last = BatchFactory(query__project=project)
        assert take(last, person).batch == last

    def test_an_overdue_lease_is_ended_on_the_way(self) -> None:
        batch = BatchFactory()
        held = take(batch)
        other = take(batch)
        taken = assignment_take(project=batch.project, annotator=annotator(batch.project), now=LATE)
        assert taken is not None
        assert {a.state for a in Assignment.objects.filter(pk__in=[held.pk, other.pk])} == {State.LAPSED}


def judge_round_on(batch: Batch, first: list[int], second: list[int]) -> None:
    """A decided round 1 of this batch, whatever else is waiting."""
    for seat, grades in ((1, first), (2, second)):
        held = AssignmentFactory(batch=batch, seat=seat)
        grade(held, grades)
        assignment_finish(assignment=held, now=NOW)
    batch_advance(batch_id=batch.pk)


class TestSubmit:
    @pytest.mark.parametrize("value", range(5))
    def test_grade_is_stored_with_its_versions(self, value: int) -> None:
        batch = BatchFactory()
        guideline = guideline_publish(project=batch.project, actor=None, body="two", levels=["a"] * 5)
        policy = policy_publish(project=batch.project, actor=None, lease_minutes=30)
        held = take(batch)
        given = judgment_submit(assignment=held, pair=pairs_of(batch)[0], grade=value, now=NOW)
        given.refresh_from_db()
        assert (given.grade, given.annotator, given.assignment) == (value, held.annotator, held)
        assert (given.round, given.seat, given.occurrence) == (1, 1, 0)
        assert (given.guideline, given.policy, given.source) == (guideline, policy, Judgment.Source.PERSON)
        assert guideline.version == policy.version == 2

    def test_a_program_is_called_one(self) -> None:
        held = AssignmentFactory()
        User.objects.filter(pk=held.annotator_id).update(is_simulated=True)
        held.annotator.refresh_from_db()
        given = judgment_submit(assignment=held, pair=pairs_of(held.batch)[0], grade=1, now=NOW)
        assert given.source == Judgment.Source.SIMULATED

    @pytest.mark.parametrize("value", [-1, 5])
    def test_grade_out_of_range(self, value: int) -> None:
        held = AssignmentFactory()
        with pytest.raises(ValueError, match="0 to 4"):
            judgment_submit(assignment=held, pair=pairs_of(held.batch)[0], grade=value, now=NOW)
        assert not Judgment.objects.exists()

    def test_pair_of_another_batch(self) -> None:
        held, other = AssignmentFactory(), BatchFactory()
        with pytest.raises(NotAssigned) as refusal:
            judgment_submit(assignment=held, pair=pairs_of(other)[0], grade=1, now=NOW)
        assert refusal.value.status == 404

    def test_withdrawn_pair(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        Pair.objects.filter(pk=pair.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        with pytest.raises(NotAssigned):
            judgment_submit(assignment=held, pair=pair, grade=1, now=NOW)

    def test_round_2_asks_for_escalated_pairs_only(self) -> None:
        batch = BatchFactory()
        judge_round(batch, [0, 1], [4, 1])
        held = take(batch)
        escalated, settled = pairs_of(batch)
        judgment_submit(assignment=held, pair=escalated, grade=1, now=NOW)
        with pytest.raises(NotAssigned):
            judgment_submit(assignment=held, pair=settled, grade=1, now=NOW)

    @pytest.mark.parametrize("state", [State.FINISHED, State.LAPSED])
    def test_ended_assignment(self, state: str) -> None:
        held = AssignmentFactory(state=state)
        with pytest.raises(LeaseLost) as refusal:
            judgment_submit(assignment=held, pair=pairs_of(held.batch)[0], grade=1, now=NOW)
        assert refusal.value.status == 409

    def test_lease_ends_at_its_instant(self) -> None:
        held = AssignmentFactory()
        one, other = pairs_of(held.batch)
        with pytest.raises(LeaseLost):
            judgment_submit(assignment=held, pair=one, grade=1, now=held.expires_at)
        assert judgment_submit(assignment=held, pair=other, grade=1, now=held.expires_at - MINUTES / 60)
        assert Judgment.objects.count() == 1

    def test_activity_renews_the_lease(self) -> None:
        held = AssignmentFactory()
        judgment_submit(assignment=held, pair=pairs_of(held.batch)[0], grade=1, now=NOW + 19 * MINUTES)
        held.refresh_from_db()
        assert held.expires_at == NOW + 39 * MINUTES

    def test_change_is_kept(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        for value in (1, 4, 4, 2):
            given = judgment_submit(assignment=held, pair=pair, grade=value, now=NOW)
        given.refresh_from_db()
        assert given.grade == 2
        assert list(given.changes.values_list("from_grade", "to_grade")) == [(1, 4), (4, 2)]
        assert Judgment.objects.count() == 1

    def test_a_place_taken_by_somebody_else_is_a_named_refusal(self) -> None:
        """The unique constraint speaks last, even if two assignments sat on one seat."""
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        other = AssignmentFactory(batch=held.batch, seat=2)
        JudgmentFactory(assignment=other, pair=pair, annotator=held.annotator)
        with pytest.raises(JudgingError, match="graded already"):
            judgment_submit(assignment=held, pair=pair, grade=1, now=NOW)


class TestFinish:
    def test_incomplete_is_refused(self) -> None:
        held = AssignmentFactory()
        grade(held, [1])
        with pytest.raises(AssignmentIncomplete):
            assignment_finish(assignment=held, now=NOW)
        held.refresh_from_db()
        assert held.state == State.OPEN

    def test_grades_are_final_and_the_batch_is_decided(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=3)
        with messages():
            judge(batch, [1, 0, 3])
        assert outcomes(batch) == [("open", None)] * 3
        with messages():
            judge(batch, [2, 4, 3])
        assert outcomes(batch) == [("settled", 2), ("escalated", None), ("settled", 3)]
        batch.refresh_from_db()
        assert (batch.state, batch.round) == ("open", 2)

    def test_a_second_press_changes_nothing(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=1)
        held = judge(batch, [1])
        with messages() as sent:
            assignment_finish(assignment=held, now=NOW + MINUTES)
        held.refresh_from_db()
        assert (held.ended_at, sent) == (NOW, [])

    def test_too_late(self) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        with pytest.raises(LeaseLost):
            assignment_finish(assignment=held, now=LATE)
        assignments_sweep(now=LATE)
        with pytest.raises(LeaseLost):
            assignment_finish(assignment=held, now=NOW)

    def test_withdrawn_pairs_need_no_grade(self) -> None:
        held = AssignmentFactory()
        withdrawn = pairs_of(held.batch)[1]
        grade(held, [1])
        Pair.objects.filter(pk=withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        assignment_finish(assignment=held, now=NOW)
        held.refresh_from_db()
        assert held.state == State.FINISHED


class TestLapse:
    def test_sweep_ends_only_what_is_overdue(self) -> None:
        overdue, running = AssignmentFactory(), AssignmentFactory(expires_at=LATE + MINUTES)
        assert assignments_sweep(now=LATE) == 1
        assert assignments_sweep(now=LATE) == 0
        overdue.refresh_from_db()
        running.refresh_from_db()
        assert (overdue.state, overdue.ended_at, running.state) == (State.LAPSED, LATE, State.OPEN)

    def test_sweep_of_one_project(self) -> None:
        here, elsewhere = AssignmentFactory(), AssignmentFactory()
        assert assignments_sweep(now=LATE, project=here.project) == 1
        elsewhere.refresh_from_db()
        assert elsewhere.state == State.OPEN

    def test_grades_stay_and_a_third_person_finishes_only_the_rest(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=3)
        judge(batch, [0, 1, 2])
        second = take(batch)
        grade(second, [1])
        with messages():
            assignments_sweep(now=LATE)
        assert outcomes(batch) == [("settled", 1), ("open", None), ("open", None)]

        third = take(batch, now=LATE)
        assert third.seat == second.seat
        assert list(selectors.pairs_asked(third).order_by("candidate__rank")) == pairs_of(batch)[1:]
        with pytest.raises(NotAssigned):
            judgment_submit(assignment=third, pair=pairs_of(batch)[0], grade=4, now=LATE)
        with messages():
            grade(third, [1, 3], now=LATE)
            assignment_finish(assignment=third, now=LATE)
        assert outcomes(batch) == [("settled", 1), ("settled", 1), ("settled", 3)]
        assert [pair.judgments.count() for pair in pairs_of(batch)] == [2, 2, 2]
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_the_one_who_lapsed_may_take_up_the_rest_again(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        grade(take(batch, person), [1])
        again = assignment_take(project=batch.project, annotator=person, now=LATE)
        assert again is not None
        assert (again.seat, list(selectors.pairs_asked(again))) == (1, pairs_of(batch)[1:])

    def test_one_who_lapsed_is_not_offered_the_other_seat_of_pairs_they_graded(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        grade(take(batch, person), [1, 1])  # all graded, not finished
        assert assignment_take(project=batch.project, annotator=person, now=LATE) is None

    def test_grades_of_an_open_assignment_decide_nothing_yet(self) -> None:
        batch = BatchFactory(pairs=1)
        judge(batch, [0])
        grade(take(batch), [4])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("open", None)]
