"""Keeping a slot by a lease, and losing it."""

from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging.exceptions import LeaseLost, NotAssigned
from judging.models import Assignment
from judging.work.rules import LEAVING
from judging.work.selectors.assignments import current_assignment
from judging.work.services.assignments import assignment_leave, assignment_renew, assignment_take, assignments_sweep
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import flag_withdraw
from tests.conftest import Messages
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, annotator
from tests.judging.play import finish, flag, give, grade, judge, outcomes, pairs_by_rank, pairs_of, take
from tests.judging.work.acts import LATE, SECOND, State, free_slots_of, state_of

pytestmark = pytest.mark.django_db


class TestLease:
    def test_a_heartbeat_a_grade_and_a_flag_start_the_lease_anew(self) -> None:
        assignment = AssignmentFactory()
        pair, other = pairs_of(assignment.batch)
        person = {"annotator": assignment.annotator}
        steps: list[Callable[[datetime], object]] = [
            lambda now: assignment_renew(project=assignment.project, **person, now=now),
            lambda now: give(assignment, pair, 1, now=now),
            lambda now: give(assignment, pair, 1, now=now),  # changes nothing
            lambda now: flag(assignment, other, now=now),
            lambda now: flag_withdraw(**person, pair_uuid=other.uuid, now=now),
        ]
        for minute, step in enumerate(steps, start=5):
            step(NOW + minute * MINUTES)
            assignment.refresh_from_db()
            assert assignment.expires_at == NOW + (minute + 20) * MINUTES

    def test_leaving_keeps_it_for_a_moment(self) -> None:
        assignment = AssignmentFactory()
        assignment_leave(project=assignment.project, annotator=assignment.annotator, now=NOW)
        assignment.refresh_from_db()
        assert assignment.expires_at == NOW + LEAVING
        assert assignments_sweep(now=NOW + LEAVING - SECOND) == 0
        assert assignments_sweep(now=NOW + LEAVING) == 1

    def test_leaving_never_makes_it_longer(self) -> None:
        assignment = AssignmentFactory()
        now = NOW + 20 * MINUTES - 30 * SECOND
        assignment_leave(project=assignment.project, annotator=assignment.annotator, now=now)
        assignment.refresh_from_db()
        assert assignment.expires_at == NOW + 20 * MINUTES

    def test_whoever_comes_back_within_the_minute_has_it_in_full(self) -> None:
        open_assignment, other = AssignmentFactory(), AssignmentFactory()
        for assignment in (open_assignment, other):
            assignment_leave(project=assignment.project, annotator=assignment.annotator, now=NOW)
        assignment_renew(project=open_assignment.project, annotator=open_assignment.annotator, now=NOW + 59 * SECOND)
        give(other, pairs_of(other.batch)[0], 1, now=NOW + 59 * SECOND)
        for assignment in (open_assignment, other):
            assignment.refresh_from_db()
            assert assignment.expires_at == NOW + 59 * SECOND + 20 * MINUTES

    @pytest.mark.parametrize(
        ("state", "now"), [(State.FINISHED, NOW), (State.LAPSED, NOW), (State.RETURNED, NOW), (State.OPEN, LATE)]
    )
    def test_nothing_is_renewed_that_has_ended_or_run_out(self, state: str, now: datetime) -> None:
        assignment = AssignmentFactory(state=state)
        assignment_leave(project=assignment.project, annotator=assignment.annotator, now=now)
        with pytest.raises(LeaseLost):
            assignment_renew(project=assignment.project, annotator=assignment.annotator, now=now)
        assert Assignment.objects.get().expires_at == LATE

    def test_only_ones_own_of_this_project(self) -> None:
        assignment, other = AssignmentFactory(), AssignmentFactory()
        AssignmentFactory(batch=assignment.batch, slot=2)
        assignment_renew(project=assignment.project, annotator=assignment.annotator, now=NOW + MINUTES)
        assert Assignment.objects.filter(expires_at=NOW + 20 * MINUTES).count() == 2
        with pytest.raises(LeaseLost):
            assignment_renew(project=other.project, annotator=assignment.annotator, now=NOW)


@pytest.mark.parametrize("lock", [False, True])
def test_only_who_asks_for_it_locks_the_assignment(lock: bool) -> None:
    assignment = AssignmentFactory()
    person = {"annotator_id": assignment.annotator_id, "project_id": assignment.project.pk}
    with CaptureQueriesContext(connection) as statements:
        assert current_assignment(**person, **({"lock": True} if lock else {}))
    assert any("FOR UPDATE" in statement["sql"] for statement in statements) is lock


class TestLapse:
    def test_sweep_ends_only_what_is_overdue(self) -> None:
        overdue, elsewhere = AssignmentFactory(), AssignmentFactory()
        running = AssignmentFactory(expires_at=LATE + MINUTES)
        assert assignments_sweep(now=LATE, project=overdue.project) == 1
        assert (state_of(elsewhere), assignments_sweep(now=LATE), assignments_sweep(now=LATE)) == (State.OPEN, 1, 0)
        overdue.refresh_from_db()
        assert (overdue.state, overdue.ended_at, state_of(running)) == (State.LAPSED, LATE, State.OPEN)
        assert (free_slots_of(overdue.batch), free_slots_of(running.batch)) == (2, 1)

    def test_grades_stay_and_a_third_person_finishes_only_the_rest(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=3)
        judge(batch, [0, 1, 2])
        second = take(batch)
        grade(second, [1])
        with messages():
            assignments_sweep(now=LATE)
            batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("settled", 1), ("open", None), ("open", None)]

        third = take(batch, now=LATE)
        assert third.slot == second.slot
        assert pairs_by_rank(third) == pairs_of(batch)[1:]
        with pytest.raises(NotAssigned):
            give(third, pairs_of(batch)[0], 4, now=LATE)
        with messages():
            grade(third, [1, 3], now=LATE)
            finish(third, now=LATE)
        assert outcomes(batch) == [("settled", 1), ("settled", 1), ("settled", 3)]
        assert [pair.judgments.count() for pair in pairs_of(batch)] == [2, 2, 2]
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_the_one_who_lapsed_may_take_up_the_rest_again_and_no_more(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        grade(take(batch, person), [1])
        again = take(batch, person, now=LATE)
        assert (again.slot, pairs_by_rank(again)) == (1, pairs_of(batch)[1:])
        flag(again, pairs_of(batch)[1], now=LATE)
        assert assignment_take(project=batch.project, annotator=person, now=LATE + 20 * MINUTES) is None
        take(batch, now=LATE + 20 * MINUTES)

    def test_grades_of_an_open_assignment_decide_nothing_yet(self) -> None:
        batch = BatchFactory(pairs=1)
        judge(batch, [0])
        grade(take(batch), [4])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("open", None)]
