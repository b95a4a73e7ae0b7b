"""Many annotators at work in any order: what must hold after every step, whoever took, graded, lapsed or finished."""

from collections import Counter
from collections.abc import Iterable
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

PEOPLE, BATCHES, PAIRS = 5, 2, 2
people = st.integers(0, PEOPLE - 1)
grades = st.integers(0, 4)
OPEN, LAPSED = Assignment.State.OPEN, Assignment.State.LAPSED
ENDED = {Pair.State.SETTLED, Pair.State.DROPPED}
ASKED = {1: Pair.State.OPEN, 2: Pair.State.ESCALATED}  # by the batch's round


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
        self.newcomer = annotator(self.project)
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
        """A grade for a pair of the latest assignment; a first one is taken if need be."""
        held = self.latest(person) or assignment_take(project=self.project, annotator=self.people[person], now=self.now)
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
        held = assignment_take(project=self.project, annotator=self.people[person], now=self.now)
        if held is None:
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

    @rule(minutes=st.sampled_from([1, 12, 20]))
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
    def everything_holds(self) -> None:
        """One look at the rows, then every check on it."""
        self.judgments = list(Judgment.objects.filter(pair__batch__project=self.project).select_related("assignment"))
        self.pairs = list(Pair.objects.filter(batch__project=self.project).order_by("pk"))
        self.assignments = list(Assignment.objects.filter(project=self.project))
        self.rows = list(Batch.objects.filter(project=self.project).order_by("pk"))
        self.two_grades_at_most_per_pair_and_round()
        self.nobody_grades_a_pair_twice()
        self.one_holder_per_seat_and_one_open_assignment_per_person()
        for pair in self.pairs:
            self.the_pair_is_what_the_rule_says_of_its_final_grades(pair)
            self.round_2_is_for_pairs_that_two_disagreed_on(pair)
            self.what_is_decided_stays_decided(pair)
        for batch in self.rows:
            self.a_batch_is_done_when_nothing_is_left(batch)
            self.what_is_left_can_be_done_by_somebody_new(batch)
        self.grades_are_the_last_ones_given_and_changes_lead_to_them()

    def two_grades_at_most_per_pair_and_round(self) -> None:
        assert most((j.pair_id, j.round) for j in self.judgments) <= 2

    def nobody_grades_a_pair_twice(self) -> None:
        assert most((j.pair_id, j.annotator_id) for j in self.judgments) <= 1

    def one_holder_per_seat_and_one_open_assignment_per_person(self) -> None:
        assert most((a.batch_id, a.round, a.seat) for a in self.assignments if a.state != LAPSED) <= 1
        assert most(a.annotator_id for a in self.assignments if a.state == OPEN) <= 1

    def the_pair_is_what_the_rule_says_of_its_final_grades(self, pair: Pair) -> None:
        final = [j.grade for j in self.judgments if j.pair_id == pair.pk and j.assignment.state != OPEN]  # type: ignore[union-attr]
        outcome = consensus.settle(final)
        if pair.state == Pair.State.SETTLED:
            assert outcome == (consensus.State.SETTLED, pair.relevance)
        elif pair.state == Pair.State.DROPPED:
            assert outcome.state == consensus.State.DROPPED
        elif pair.state == Pair.State.ESCALATED:
            assert consensus.settle(self.grades_of(pair, 1)).state == consensus.State.ESCALATED

    def round_2_is_for_pairs_that_two_disagreed_on(self, pair: Pair) -> None:
        if self.grades_of(pair, 2):
            assert pair.state != Pair.State.OPEN
            assert consensus.settle(self.grades_of(pair, 1)).state == consensus.State.ESCALATED

    def what_is_decided_stays_decided(self, pair: Pair) -> None:
        if pair.state in ENDED:
            assert self.final.setdefault(pair.pk, (pair.state, pair.relevance)) == (pair.state, pair.relevance)
        else:
            assert pair.pk not in self.final

    def a_batch_is_done_when_nothing_is_left(self, batch: Batch) -> None:
        states = {pair.state for pair in self.pairs if pair.batch_id == batch.pk}
        assert (batch.state == Batch.State.DONE) == (states <= ENDED)

    def what_is_left_can_be_done_by_somebody_new(self, batch: Batch) -> None:
        """An open batch never gets stuck: a seat that nobody holds and that lacks a grade is free for a newcomer."""
        if batch.state == Batch.State.DONE:
            return
        here = [a for a in self.assignments if a.batch_id == batch.pk and a.round == batch.round]
        held = {a.seat for a in here if a.state != LAPSED}
        asked = {p.pk for p in self.pairs if p.batch_id == batch.pk and p.state == ASKED[batch.round]}
        given = {(j.pair_id, j.seat) for j in self.judgments if j.round == batch.round}
        lacking = {seat for seat in (1, 2) if any((pk, seat) not in given for pk in asked)}
        free = selectors.free_seats(project=self.project, annotator=self.newcomer, batch=batch)
        assert {seat.number for seat in free} == lacking - held

    def grades_are_the_last_ones_given_and_changes_lead_to_them(self) -> None:
        assert {j.pk: j.grade for j in self.judgments} == self.last_grade
        changes: dict[int, list[JudgmentChange]] = {}
        for change in JudgmentChange.objects.filter(judgment__in=self.judgments).order_by("id"):
            changes.setdefault(change.judgment_id, []).append(change)
        for pk, steps in changes.items():
            assert all(one.to_grade == other.from_grade for one, other in pairwise(steps))
            assert steps[-1].to_grade == self.last_grade[pk]

    # looking

    def latest(self, person: int) -> Assignment | None:
        return Assignment.objects.filter(annotator=self.people[person]).order_by("-pk").first()

    def grades_of(self, pair: Pair, number: int) -> list[int]:
        return [j.grade for j in self.judgments if j.pair_id == pair.pk and j.round == number]

    def undecided(self) -> bool:
        return hasattr(self, "batches") and Batch.objects.filter(project=self.project, state="open").exists()

    def standing(self) -> list[object]:
        batches = Batch.objects.filter(project=self.project).order_by("pk").values_list("pk", "round", "state")
        pairs = Pair.objects.filter(batch__project=self.project).order_by("pk")
        return [list(batches), list(pairs.values_list("pk", "state", "relevance", "reason"))]


def most(things: Iterable[object]) -> int:
    """How often the most frequent of ``things`` appears."""
    return max(Counter(things).values(), default=0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "examples", [8, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
def test_playing(examples: int) -> None:
    run_state_machine_as_test(
        Playing,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
