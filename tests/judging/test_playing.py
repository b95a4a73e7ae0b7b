"""Many annotators at work in any order: what must hold after every step, whoever took, graded, lapsed or finished."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from judging import selectors
from judging.exceptions import AssignmentIncomplete, LeaseLost
from judging.models import Assignment, Batch, Judgment, JudgmentChange, Pair
from judging.rules import consensus
from judging.services.assignments import assignment_finish, assignment_take, assignments_sweep, judgment_submit
from judging.services.batches import batch_advance, batches_sweep
from tests.factories import NOW, BatchFactory, ProjectFactory, QueryFactory, annotator

PEOPLE, BATCHES, PAIRS = 6, 2, 2
people = st.integers(0, PEOPLE - 1)
grades = st.integers(0, 4)
OPEN, LAPSED, FINISHED = Assignment.State.OPEN, Assignment.State.LAPSED, Assignment.State.FINISHED


class Playing(RuleBasedStateMachine):
    """The project lives in a transaction that is undone at the end. Messages are never sent: ``advance`` is a step
    like any other, so it comes late, twice and out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.now = NOW
        self.final: dict[int, tuple[str, int | None]] = {}
        self.last_grade: dict[int, int] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.undo.__exit__(None, None, None)

    @initialize()
    def project_of_few_batches(self) -> None:
        self.project = ProjectFactory()
        self.people = [annotator(self.project) for _ in range(PEOPLE)]
        self.batches = [BatchFactory(query=QueryFactory(project=self.project), pairs=PAIRS) for _ in range(BATCHES)]

    # what may happen

    @rule(person=people)
    def take(self, person: int) -> None:
        held = selectors.open_assignment(project=self.project, annotator=self.people[person])
        taken = assignment_take(project=self.project, annotator=self.people[person], now=self.now)
        if held is not None and held.expires_at > self.now:
            assert taken == held
        if taken is not None:
            assert taken.state == OPEN
            assert selectors.pairs_ungraded(taken).exists() or taken == held

    @rule(person=people, place=st.integers(0, PAIRS - 1), grade=grades)
    def grade(self, person: int, place: int, grade: int) -> None:
        held = self.latest(person)
        pairs = list(selectors.pairs_asked(held).order_by("pk")) if held else []
        if held is None or not pairs:
            return
        pair = pairs[place % len(pairs)]
        if held.state != OPEN or held.expires_at <= self.now:
            with pytest.raises(LeaseLost):
                judgment_submit(assignment=held, pair=pair, grade=grade, now=self.now)
        else:
            given = judgment_submit(assignment=held, pair=pair, grade=grade, now=self.now)
            self.last_grade[given.pk] = grade

    @rule(person=people, worst=grades, best=grades)
    def grade_all_and_finish(self, person: int, worst: int, best: int) -> None:
        """The way most rounds go; without it a long life would be rare."""
        self.take(person)
        held = self.latest(person)
        if held is None or held.state != OPEN or held.expires_at <= self.now:
            return
        for place, pair in enumerate(selectors.pairs_ungraded(held).order_by("pk")):
            given = judgment_submit(assignment=held, pair=pair, grade=(worst, best)[place % 2], now=self.now)
            self.last_grade[given.pk] = given.grade
        assignment_finish(assignment=held, now=self.now)

    @rule(person=people)
    def finish(self, person: int) -> None:
        held = self.latest(person)
        if held is None:
            return
        try:
            assignment_finish(assignment=held, now=self.now)
        except AssignmentIncomplete:
            assert selectors.pairs_ungraded(held).exists()
        except LeaseLost:
            assert held.state == LAPSED or held.expires_at <= self.now
        else:
            assert not selectors.pairs_ungraded(held).exists()

    @rule(minutes=st.sampled_from([1, 12, 20, 45]))
    def time_goes_by(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule()
    def sweep(self) -> None:
        assignments_sweep(now=self.now)
        assert not Assignment.objects.filter(state=OPEN, expires_at__lte=self.now).exists()

    @rule(order=st.permutations(range(BATCHES)), repeats=st.integers(1, 2))
    def advance(self, order: list[int], repeats: int) -> None:
        for place in order * repeats:
            batch_advance(batch_id=self.batches[place].pk)

    @rule()
    def sweep_batches(self) -> None:
        batches_sweep()

    @precondition(lambda self: self.undecided())
    @rule(order=st.permutations(range(BATCHES)))
    def order_of_deciding_does_not_matter(self, order: list[int]) -> None:
        results = []
        for batches in (self.batches, [self.batches[place] for place in (*order, *reversed(order))]):
            with transaction.atomic():
                for batch in batches:
                    batch_advance(batch_id=batch.pk)
                results.append(self.standing())
                transaction.set_rollback(True)
        assert results[0] == results[1]

    # what must hold

    @invariant()
    def two_grades_at_most_per_pair_and_round(self) -> None:
        held = Counter(self.judgments().values_list("pair", "round"))
        assert max(held.values(), default=0) <= 2

    @invariant()
    def nobody_grades_a_pair_twice(self) -> None:
        held = Counter(self.judgments().values_list("pair", "annotator"))
        assert max(held.values(), default=0) <= 1

    @invariant()
    def a_seat_has_one_holder_and_a_person_one_open_assignment(self) -> None:
        live = Assignment.objects.filter(project=self.project).exclude(state=LAPSED)
        assert max(Counter(live.values_list("batch", "round", "seat")).values(), default=0) <= 1
        opened = live.filter(state=OPEN).values_list("annotator", flat=True)
        assert max(Counter(opened).values(), default=0) <= 1

    @invariant()
    def pairs_are_what_the_rule_says_of_their_grades(self) -> None:
        for pair in self.pairs():
            every = [(j.grade, j.assignment.state) for j in pair.judgments.select_related("assignment")]
            final = [grade for grade, state in every if state != OPEN]
            outcome = consensus.settle(final)
            if pair.state == Pair.State.SETTLED:
                assert outcome == (consensus.State.SETTLED, pair.relevance)
            elif pair.state == Pair.State.DROPPED:
                assert outcome.state == consensus.State.DROPPED
            elif pair.state == Pair.State.ESCALATED:
                assert len(final) >= 2
                assert consensus.settle(self.of_round(pair, 1)).state == consensus.State.ESCALATED
            else:
                assert not pair.judgments.filter(round=2).exists()

    @invariant()
    def round_2_holds_only_pairs_that_two_disagreed_on(self) -> None:
        for pair in self.pairs():
            if pair.judgments.filter(round=2).exists():
                assert consensus.settle(self.of_round(pair, 1)).state == consensus.State.ESCALATED

    @invariant()
    def what_is_decided_stays_decided(self) -> None:
        for pk, state, relevance in self.pairs().values_list("pk", "state", "relevance"):
            if state in (Pair.State.SETTLED, Pair.State.DROPPED):
                assert self.final.setdefault(pk, (state, relevance)) == (state, relevance)
            else:
                assert pk not in self.final

    @invariant()
    def done_batches_have_nothing_left_and_open_ones_have(self) -> None:
        ended = {Pair.State.SETTLED, Pair.State.DROPPED}
        for batch in Batch.objects.filter(project=self.project):
            states = set(batch.pairs.values_list("state", flat=True))
            assert (batch.state == Batch.State.DONE) == (states <= ended)

    @invariant()
    def grades_are_the_last_ones_given_and_changes_lead_to_them(self) -> None:
        assert dict(self.judgments().values_list("pk", "grade")) == self.last_grade
        for judgment in self.judgments():
            steps = list(JudgmentChange.objects.filter(judgment=judgment).order_by("id"))
            assert all(one.to_grade == other.from_grade for one, other in pairwise(steps))
            if steps:
                assert steps[-1].to_grade == judgment.grade

    @invariant()
    def work_that_is_left_can_be_done_by_somebody_new(self) -> None:
        """An open batch never gets stuck: unless it is held or only waits to be decided, a newcomer may take it."""
        for batch in Batch.objects.filter(project=self.project, state=Batch.State.OPEN):
            held = batch.assignments.filter(round=batch.round, state=OPEN).values_list("seat", flat=True)
            left = {1, 2} - set(held)
            complete = {seat for seat in left if self.seat_is_complete(batch, seat)}
            with transaction.atomic():
                free = selectors.free_seats(project=self.project, annotator=annotator(self.project), batch=batch)
                transaction.set_rollback(True)
            assert {seat.number for seat in free} == left - complete

    # looking

    def latest(self, person: int) -> Assignment | None:
        return Assignment.objects.filter(annotator=self.people[person]).order_by("-pk").first()

    def judgments(self):  # type: ignore[no-untyped-def]
        return Judgment.objects.filter(pair__batch__project=self.project)

    def pairs(self):  # type: ignore[no-untyped-def]
        return Pair.objects.filter(batch__project=self.project)

    def of_round(self, pair: Pair, number: int) -> list[int]:
        return list(pair.judgments.filter(round=number).values_list("grade", flat=True))

    def seat_is_complete(self, batch: Batch, seat: int) -> bool:
        state = Pair.State.OPEN if batch.round == 1 else Pair.State.ESCALATED
        asked = batch.pairs.filter(state=state)
        given = Judgment.objects.filter(pair__in=asked, round=batch.round, seat=seat)
        return asked.count() == given.count()

    def undecided(self) -> bool:
        return hasattr(self, "batches") and Batch.objects.filter(project=self.project, state="open").exists()

    def standing(self) -> list[object]:
        batches = Batch.objects.filter(project=self.project).order_by("pk").values_list("pk", "round", "state")
        return [list(batches), list(self.pairs().order_by("pk").values_list("pk", "state", "relevance", "reason"))]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "examples", [12, pytest.param(400, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
def test_playing(examples: int) -> None:
    run_state_machine_as_test(
        Playing,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
