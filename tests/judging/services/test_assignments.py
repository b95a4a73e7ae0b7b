"""Taking a seat in turn, keeping it, finishing, giving it back, and losing the lease."""

from collections.abc import Iterable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Project, User
from judging import selectors
from judging.exceptions import AssignmentIncomplete, LeaseLost, NotAssigned
from judging.models import Assignment, Batch, Pair
from judging.rules.leasing import LEAVING, shuffled
from judging.services.assignments import (
    assignment_leave,
    assignment_renew,
    assignment_take,
    assignment_take_of,
    assignments_sweep,
)
from judging.services.batches import batch_advance, batches_sweep
from judging.services.judgments import flag_withdraw
from judging.services.policies import policy_publish
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    AssignmentFactory,
    BatchFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
)
from tests.judging.play import asked, finish, flag, give, give_back, grade, judge, judge_round, outcomes, pairs_of, take

pytestmark = pytest.mark.django_db
State = Assignment.State
LATE = NOW + 20 * MINUTES  # the first instant at which a lease of 20 minutes has run out
SECOND = MINUTES / 60


def take_next(project: Project, person: User | None = None) -> Assignment | None:
    return assignment_take(project=project, annotator=person or annotator(project), now=NOW)


def batches(project: Project, n: int, **values: object) -> list[Batch]:
    return [BatchFactory(query=QueryFactory(project=project), **values) for _ in range(n)]


def turns(project: Project, people: Iterable[User]) -> list[Batch | None]:
    """What each is handed, one after the other."""
    taken = [take_next(project, person) for person in people]
    return [assignment.batch if assignment else None for assignment in taken]


def state_of(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).state


def free_seats_of(batch: Batch) -> int:
    return Batch.objects.get(pk=batch.pk).free_seats


def escalate(batch: Batch) -> None:
    """A first round that ends far apart on the first pair, whatever else is waiting."""
    for seat, grades in ((1, [0, 1]), (2, [4, 1])):
        held = AssignmentFactory(batch=batch, seat=seat)
        grade(held, grades)
        finish(held)
    batch_advance(batch_id=batch.pk)


class TestTake:
    def test_new_batch(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        taken = take(batch, person)
        assert (taken.batch, taken.round, taken.seat, taken.annotator) == (batch, 1, 1, person)
        assert (taken.state, taken.expires_at, taken.ended_at) == (State.OPEN, NOW + 20 * MINUTES, None)
        batch.refresh_from_db()
        assert (batch.begun, batch.free_seats) == (True, 1)

    def test_the_order_shown_is_kept_and_follows_from_its_seed(self) -> None:
        batch = BatchFactory(pairs=20)
        taken = take(batch)
        by_rank = [pair.pk for pair in pairs_of(batch)]
        assert taken.pair_ids == shuffled(by_rank, seed=taken.shuffle_seed)
        assert taken.pair_ids != by_rank
        assert take(batch).pair_ids != taken.pair_ids

    def test_lease_follows_the_policy_in_force(self) -> None:
        batch = BatchFactory()
        policy_publish(project=batch.project, actor=None, lease_minutes=3)
        assert take(batch).expires_at == NOW + 3 * MINUTES

    def test_a_second_press_gives_the_same_assignment(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        assert take(batch, person) == take(batch, person)
        assert Assignment.objects.count() == 1

    def test_both_seats_held_leaves_nothing_for_a_third(self) -> None:
        batch = BatchFactory()
        take(batch)
        take(batch)
        assert free_seats_of(batch) == 0
        assert take_next(batch.project) is None

    def test_nothing_left_when_both_have_finished(self) -> None:
        batch = BatchFactory(pairs=1)
        judge(batch, [1])
        judge(batch, [1])
        assert take_next(batch.project) is None

    def test_nobody_takes_a_batch_twice(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        assert take_next(batch.project, person) is None

    def test_judges_of_round_1_are_not_asked_in_round_2(self) -> None:
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
        held = take(batch)
        assert asked(held) == [escalated, other]
        with pytest.raises(NotAssigned):
            give(held, settled, 1)

    def test_done_batches_and_other_projects_are_not_offered(self) -> None:
        done = BatchFactory(state="done")
        BatchFactory()
        assert take_next(done.project) is None

    def test_a_batch_whose_pairs_are_all_withdrawn_is_not_offered(self) -> None:
        batch = BatchFactory()
        batch.pairs.update(state="withdrawn", reason="withdrawn_by_lead")
        assert take_next(batch.project) is None

    def test_a_withdrawn_pair_is_not_asked_for(self) -> None:
        batch = BatchFactory()
        withdrawn, left = pairs_of(batch)
        Pair.objects.filter(pk=withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        assert asked(take(batch)) == [left]

    def test_own_history_cannot_hide_the_work_that_is_left(self) -> None:
        project = ProjectFactory()
        person = annotator(project)
        for batch in batches(project, 3, pairs=1):
            judge(batch, [1], person)
        last = BatchFactory(query__project=project)
        assert take(last, person).batch == last

    def test_an_overdue_lease_is_ended_on_the_way(self) -> None:
        batch = BatchFactory()
        held = take(batch), take(batch)
        assert take(batch, now=LATE).seat == 1
        assert [state_of(assignment) for assignment in held] == [State.LAPSED] * 2

    def test_a_seat_of_a_named_batch(self) -> None:
        """As the demo takes it: never what the person knows, nothing when no seat is free."""
        first, batch = batches(ProjectFactory(), 2)
        people = [annotator(batch.project) for _ in range(3)]
        taken = [assignment_take_of(batch=batch, annotator=person, now=NOW) for person in people]
        assert [held and (held.batch, held.seat) for held in taken] == [(batch, 1), (batch, 2), None]
        assert free_seats_of(first) == 2


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
        assert [take(batch).seat for batch in (first, first, second, second)] == [1, 2, 1, 2]

    def test_among_begun_ones_that_of_whom_one_has_shared_the_fewest_with(self) -> None:
        project = ProjectFactory()
        person, familiar, known, stranger = (annotator(project) for _ in range(4))
        for other, times in ((familiar, 2), (known, 1)):
            for batch in batches(project, times, pairs=1):
                judge(batch, [1], person)
                judge(batch, [1], other)
        due = []
        for other in (familiar, known, stranger):
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

    def test_paused_sets_are_left_out_and_come_back(self) -> None:
        project = ProjectFactory()
        paused, other = batches(project, 2, pairs=1)
        Batch.objects.filter(pk=paused.pk).update(is_paused=True, priority=1)
        person = annotator(project)
        judge(other, [1], person)
        assert take_next(project, person) is None
        assert not selectors.work_waits(project_id=project.pk, annotator_id=person.pk)
        Batch.objects.filter(pk=paused.pk).update(is_paused=False)
        assert selectors.work_waits(project_id=project.pk, annotator_id=person.pk)
        take(paused, person)

    def test_who_holds_a_batch_when_it_is_paused_goes_on(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        held = take(batch, person)
        Batch.objects.update(is_paused=True)
        assert take_next(batch.project, person) == held
        grade(held, [1, 1])
        assert finish(held)
        assert take_next(batch.project) is None

    def test_work_waits_exactly_when_taking_gives_something(self) -> None:
        project = BatchFactory(pairs=1).project
        people = [annotator(project) for _ in range(3)]
        for person, waits in zip(people, [True, True, False], strict=True):
            assert selectors.work_waits(project_id=project.pk, annotator_id=person.pk) == waits
            assert (take_next(project, person) is not None) == waits

    @pytest.mark.parametrize("n", [2, 8])
    def test_a_batch_that_claims_a_free_seat_is_put_right_on_the_way(self, n: int) -> None:
        """However many claim it, somebody who asks gets the seat there is."""
        project = ProjectFactory()
        wrong = batches(project, n, pairs=1)
        for batch in wrong:
            judge(batch, [1])
            judge(batch, [1])
        (right,) = batches(project, 1)
        Batch.objects.filter(pk__in=[batch.pk for batch in wrong]).update(free_seats=2)
        take(right)
        assert [free_seats_of(batch) for batch in wrong] == [0] * n

    def test_a_batch_that_hides_its_seats_is_put_right_by_the_sweep(self) -> None:
        batch = BatchFactory()
        Batch.objects.update(free_seats=0)
        assert take_next(batch.project) is None
        batches_sweep()
        assert free_seats_of(batch) == 2
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


class TestLease:
    def test_a_heartbeat_starts_the_lease_anew(self) -> None:
        held = AssignmentFactory()
        until = assignment_renew(project=held.project, annotator=held.annotator, now=NOW + 19 * MINUTES)
        held.refresh_from_db()
        assert until == held.expires_at == NOW + 39 * MINUTES

    def test_a_grade_starts_the_lease_anew_even_one_that_changes_nothing(self) -> None:
        held = AssignmentFactory()
        for minute in (5, 10, 15):
            give(held, pairs_of(held.batch)[0], 1, now=NOW + minute * MINUTES)
            held.refresh_from_db()
            assert held.expires_at == NOW + (minute + 20) * MINUTES

    def test_so_does_a_flag_and_taking_it_back(self) -> None:
        held = AssignmentFactory()
        pair = pairs_of(held.batch)[0]
        flag(held, pair, now=NOW + 5 * MINUTES)
        held.refresh_from_db()
        assert held.expires_at == NOW + 25 * MINUTES
        flag_withdraw(annotator=held.annotator, pair_uuid=pair.uuid, now=NOW + 6 * MINUTES)
        held.refresh_from_db()
        assert held.expires_at == NOW + 26 * MINUTES

    def test_leaving_keeps_it_for_a_moment(self) -> None:
        held = AssignmentFactory()
        assignment_leave(project=held.project, annotator=held.annotator, now=NOW)
        held.refresh_from_db()
        assert held.expires_at == NOW + LEAVING
        assert assignments_sweep(now=NOW + LEAVING - SECOND) == 0
        assert assignments_sweep(now=NOW + LEAVING) == 1

    def test_leaving_never_makes_it_longer(self) -> None:
        held = AssignmentFactory()
        assignment_leave(project=held.project, annotator=held.annotator, now=NOW + 20 * MINUTES - 30 * SECOND)
        held.refresh_from_db()
        assert held.expires_at == NOW + 20 * MINUTES

    def test_whoever_comes_back_within_the_minute_has_it_in_full(self) -> None:
        held, other = AssignmentFactory(), AssignmentFactory()
        for assignment in (held, other):
            assignment_leave(project=assignment.project, annotator=assignment.annotator, now=NOW)
        assignment_renew(project=held.project, annotator=held.annotator, now=NOW + 59 * SECOND)
        give(other, pairs_of(other.batch)[0], 1, now=NOW + 59 * SECOND)
        for assignment in (held, other):
            assignment.refresh_from_db()
            assert assignment.expires_at == NOW + 59 * SECOND + 20 * MINUTES

    @pytest.mark.parametrize("state", [State.FINISHED, State.LAPSED, State.RETURNED])
    def test_nothing_is_renewed_that_has_ended(self, state: str) -> None:
        held = AssignmentFactory(state=state)
        assignment_leave(project=held.project, annotator=held.annotator, now=NOW)
        with pytest.raises(LeaseLost):
            assignment_renew(project=held.project, annotator=held.annotator, now=NOW)
        assert Assignment.objects.get().expires_at == NOW + 20 * MINUTES

    def test_what_has_run_out_is_not_renewed_even_before_the_sweep(self) -> None:
        held = AssignmentFactory()
        with pytest.raises(LeaseLost):
            assignment_renew(project=held.project, annotator=held.annotator, now=LATE)
        assignment_leave(project=held.project, annotator=held.annotator, now=LATE)
        assert Assignment.objects.get().expires_at == LATE

    def test_only_ones_own_of_this_project(self) -> None:
        held, other = AssignmentFactory(), AssignmentFactory()
        AssignmentFactory(batch=held.batch, seat=2)
        assignment_renew(project=held.project, annotator=held.annotator, now=NOW + MINUTES)
        assert Assignment.objects.filter(expires_at=NOW + 20 * MINUTES).count() == 2
        with pytest.raises(LeaseLost):
            assignment_renew(project=other.project, annotator=held.annotator, now=NOW)


class TestFinish:
    @pytest.mark.parametrize(("given", "words"), [([], "2 pairs still need"), ([1], "One pair still needs")])
    def test_incomplete_is_refused(self, given: list[int], words: str) -> None:
        held = AssignmentFactory()
        grade(held, given)
        with pytest.raises(AssignmentIncomplete, match=words):
            finish(held)
        assert state_of(held) == State.OPEN

    def test_grades_are_final_and_the_batch_is_decided(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=3)
        with messages():
            judge(batch, [1, 0, 3])
        assert outcomes(batch) == [("open", None)] * 3
        with messages():
            judge(batch, [2, 4, 3])
        assert outcomes(batch) == [("settled", 2), ("escalated", None), ("settled", 3)]
        batch.refresh_from_db()
        assert (batch.state, batch.round, batch.free_seats, batch.begun) == ("open", 2, 2, False)

    def test_a_second_press_changes_nothing(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=1)
        held = judge(batch, [1])
        with messages() as sent:
            assert finish(held, now=NOW + MINUTES) is False
        held.refresh_from_db()
        assert (held.ended_at, sent) == (NOW, [])

    def test_too_late(self) -> None:
        held = AssignmentFactory()
        grade(held, [1, 1])
        with pytest.raises(LeaseLost):
            finish(held, now=LATE)
        assignments_sweep(now=LATE)
        assert finish(held) is False
        assert state_of(held) == State.LAPSED

    def test_withdrawn_pairs_need_no_grade(self) -> None:
        held = AssignmentFactory()
        withdrawn = pairs_of(held.batch)[1]
        grade(held, [1])
        Pair.objects.filter(pk=withdrawn.pk).update(state="withdrawn", reason="withdrawn_by_lead")
        assert finish(held)
        assert state_of(held) == State.FINISHED

    def test_a_flag_stands_for_a_grade(self) -> None:
        held = AssignmentFactory()
        graded, flagged = pairs_of(held.batch)
        give(held, graded, 1)
        flag(held, flagged)
        assert finish(held)

    def test_a_flag_taken_back_asks_for_a_grade_again(self) -> None:
        held = AssignmentFactory()
        graded, flagged = pairs_of(held.batch)
        give(held, graded, 1)
        flag(held, flagged)
        flag_withdraw(annotator=held.annotator, pair_uuid=flagged.uuid, now=NOW)
        with pytest.raises(AssignmentIncomplete, match="One pair"):
            finish(held)

    def test_only_what_one_holds_in_this_project(self) -> None:
        held, elsewhere = AssignmentFactory(), ProjectFactory()
        grade(held, [1, 1])
        MembershipFactory(project=elsewhere, user=held.annotator)
        elsewhere_too = AssignmentFactory(batch__query__project=elsewhere, annotator=held.annotator)
        grade(elsewhere_too, [1])
        assert finish(held)
        assert (state_of(held), state_of(elsewhere_too)) == (State.FINISHED, State.OPEN)


class TestFlagged:
    """What becomes of a pair that somebody cannot judge, once their assignment has ended."""

    def end_with_flag(self, held: Assignment) -> None:
        """Flag the first pair of the batch, grade the rest 2 and finish."""
        flagged, *rest = pairs_of(held.batch)
        flag(held, flagged)
        for pair in rest:
            give(held, pair, 2)
        finish(held)

    def test_one_flag_needs_a_third_person_for_that_seat(self, messages: Messages) -> None:
        batch = BatchFactory()
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
            grade(second, [3, 2])
            finish(second)
        assert (outcomes(batch)[0], free_seats_of(batch)) == (("open", None), 1)
        assert turns(batch.project, [first.annotator, second.annotator]) == [None, None]
        third = take(batch)
        assert (third.seat, asked(third)) == (first.seat, pairs_of(batch)[:1])
        with messages():
            grade(third, [3])
            finish(third)
        assert outcomes(batch) == [("settled", 3), ("settled", 2)]

    def test_two_flags_withdraw(self, messages: Messages) -> None:
        batch = BatchFactory()
        first, second = take(batch), take(batch)
        with messages():
            self.end_with_flag(first)
        assert outcomes(batch)[0] == ("open", None)
        with messages():
            self.end_with_flag(second)
        assert outcomes(batch) == [("withdrawn", None), ("settled", 2)]
        assert pairs_of(batch)[0].reason == "flagged_twice"
        batch.refresh_from_db()
        assert (batch.state, batch.free_seats) == ("done", 0)

    def test_a_flag_counts_when_its_assignment_has_ended(self) -> None:
        batch = BatchFactory()
        held = [take(batch), take(batch)]
        for assignment in held:
            flag(assignment, pairs_of(batch)[0])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch)[0] == ("open", None)
        give_back(held[0])
        assert outcomes(batch)[0] == ("open", None)
        assignments_sweep(now=LATE)
        assert outcomes(batch) == [("withdrawn", None), ("open", None)]
        assert free_seats_of(batch) == 2

    def test_a_flag_taken_back_does_not_count(self) -> None:
        batch = BatchFactory(pairs=1)
        (pair,) = pairs_of(batch)
        self.end_with_flag(take(batch))
        held = take(batch)
        flag(held, pair)
        flag_withdraw(annotator=held.annotator, pair_uuid=pair.uuid, now=NOW)
        give(held, pair, 1)
        finish(held)
        assert outcomes(batch) == [("open", None)]

    def test_two_people_who_flag_the_same_seat_withdraw_it_while_a_third_holds_the_other(
        self, messages: Messages
    ) -> None:
        """Whoever holds the pair then needs no grade for it, and the batch closes with them."""
        batch = BatchFactory(pairs=1)
        third = take(batch)
        self.end_with_flag(take(batch))
        self.end_with_flag(take(batch))
        assert outcomes(batch) == [("withdrawn", None)]
        with messages():
            assert finish(third)
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_escalated_pairs_are_withdrawn_too(self, messages: Messages) -> None:
        batch = BatchFactory(pairs=1)
        judge_round(batch, [0], [4])
        with messages():
            self.end_with_flag(take(batch))
            self.end_with_flag(take(batch))
        batch.refresh_from_db()
        assert (outcomes(batch), batch.state) == ([("withdrawn", None)], "done")


class TestReturn:
    def test_grades_are_final_and_the_rest_is_free_at_once(self) -> None:
        batch = BatchFactory()
        held = take(batch)
        grade(held, [1])
        assert give_back(held, now=NOW + MINUTES)
        held.refresh_from_db()
        assert (held.state, held.ended_at) == (State.RETURNED, NOW + MINUTES)
        full, rest = take(batch), take(batch)
        assert (full.seat, asked(full)) == (2, pairs_of(batch))
        assert (rest.seat, asked(rest)) == (held.seat, pairs_of(batch)[1:])
        with pytest.raises(LeaseLost, match="given this batch back"):
            give(held, pairs_of(batch)[0], 4)

    def test_it_comes_last_for_that_person_but_first_for_others(self) -> None:
        project = ProjectFactory()
        person = annotator(project)
        first, second = batches(project, 2)
        give_back(take(first, person))
        other = take(first, annotator(project))
        assert other.seat == 1
        give_back(other)
        held = take(second, person)
        grade(held, [1, 1])
        finish(held)
        take(first, person)

    def test_what_one_graded_before_giving_it_back_is_not_asked_again(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        held = take(batch, person)
        grade(held, [1])
        give_back(held)
        again = take(batch, person)
        assert (again.seat, asked(again)) == (held.seat, pairs_of(batch)[1:])

    def test_with_everything_graded_it_is_like_finishing(self, messages: Messages) -> None:
        batch = BatchFactory()
        judge(batch, [1, 1])
        held = take(batch)
        grade(held, [1, 1])
        with messages():
            give_back(held)
        assert outcomes(batch) == [("settled", 1)] * 2

    def test_a_second_press_finds_nothing(self) -> None:
        held = AssignmentFactory()
        assert give_back(held)
        assert give_back(held) is False
        assert finish(held) is False
        assert state_of(held) == State.RETURNED


class TestLapse:
    def test_sweep_ends_only_what_is_overdue(self) -> None:
        overdue, running = AssignmentFactory(), AssignmentFactory(expires_at=LATE + MINUTES)
        assert assignments_sweep(now=LATE) == 1
        assert assignments_sweep(now=LATE) == 0
        overdue.refresh_from_db()
        assert (overdue.state, overdue.ended_at, state_of(running)) == (State.LAPSED, LATE, State.OPEN)
        assert (free_seats_of(overdue.batch), free_seats_of(running.batch)) == (2, 1)

    def test_sweep_of_one_project(self) -> None:
        here, elsewhere = AssignmentFactory(), AssignmentFactory()
        assert assignments_sweep(now=LATE, project=here.project) == 1
        assert state_of(elsewhere) == State.OPEN

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
        assert third.seat == second.seat
        assert asked(third) == pairs_of(batch)[1:]
        with pytest.raises(NotAssigned):
            give(third, pairs_of(batch)[0], 4, now=LATE)
        with messages():
            grade(third, [1, 3], now=LATE)
            finish(third, now=LATE)
        assert outcomes(batch) == [("settled", 1), ("settled", 1), ("settled", 3)]
        assert [pair.judgments.count() for pair in pairs_of(batch)] == [2, 2, 2]
        batch.refresh_from_db()
        assert batch.state == "done"

    def test_the_one_who_lapsed_may_take_up_the_rest_again(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        grade(take(batch, person), [1])
        again = take(batch, person, now=LATE)
        assert (again.seat, asked(again)) == (1, pairs_of(batch)[1:])

    def test_one_who_lapsed_is_not_offered_the_other_seat_of_pairs_they_graded(self) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        grade(take(batch, person), [1, 1])  # all graded, not finished
        assert assignment_take(project=batch.project, annotator=person, now=LATE) is None

    def test_nor_a_seat_that_asks_for_what_they_flagged(self) -> None:
        batch = BatchFactory(pairs=1)
        person = annotator(batch.project)
        flag(take(batch, person), pairs_of(batch)[0])
        assert assignment_take(project=batch.project, annotator=person, now=LATE) is None
        take(batch, now=LATE)

    def test_grades_of_an_open_assignment_decide_nothing_yet(self) -> None:
        batch = BatchFactory(pairs=1)
        judge(batch, [0])
        grade(take(batch), [4])
        batch_advance(batch_id=batch.pk)
        assert outcomes(batch) == [("open", None)]
