"""A game of annotators, batches and time: what can be done and seen in it, and what must hold after every step."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from accounts.models import User
from judging.exceptions import LeaseLost, PairWithdrawn
from judging.models import Assignment, Batch, Flag, Judgment, JudgmentChange, Pair
from judging.work.rules import TVR_RANKING, Rules, rules_of, slot_for
from judging.work.selectors.assignments import (
    OpenAssignment,
    PairView,
    assignment_by_pair,
    current_assignment,
    open_assignment,
    pairs_requested,
    slots_taken,
)
from judging.work.services.assignments import assignment_finish, assignment_take
from judging.work.services.batches import batches_sweep
from judging.work.services.judgments import Answer, flag_set, judgment_submit
from tests.factories import NOW, BatchFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import next_pair
from tests.judging.rows import ENDED, Rows

PEOPLE, BATCHES, PAIRS = 5, 2, 3
OPEN = Assignment.State.OPEN
WITHDRAWN = Pair.State.WITHDRAWN
LEASE = timedelta(minutes=20)
YES_OR_NO = Rules(top_grade=1, judges=3, max_spread=0, max_rounds=1)
RULES = (TVR_RANKING, YES_OR_NO, Rules(top_grade=2, judges=3, max_spread=1, max_rounds=2))
MOMENT = timedelta(seconds=1)


class Form(NamedTuple):
    """A form that was taken, and the pair that was shown in answer."""

    person: int
    pair: Pair
    key: UUID
    grade: int
    at: datetime
    shown_next: int | None


class Game(RuleBasedStateMachine):
    """The project lives in a transaction that is undone at the end. Messages are never sent: ``advance`` is a step
    like any other, so it comes late, twice and out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.now = NOW
        self.decided: dict[int, tuple[str, int | None]] = {}
        self.last_grade: dict[int, int] = {}
        self.final_flags: dict[int, tuple[Any, ...]] = {}
        self.forms: list[Form] = []

    def teardown(self) -> None:
        try:
            if hasattr(self, "batches"):
                self.newcomers_bring_everything_to_its_end()
        finally:
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    @initialize(rules=st.sampled_from(RULES))
    def project_of_few_batches(self, rules: Rules) -> None:
        self.project = ProjectFactory(**rules._asdict())
        self.people = [annotator(self.project) for _ in range(PEOPLE)]
        self.newcomer = annotator(self.project)
        self.batches = [BatchFactory(query=QueryFactory(project=self.project), pairs=PAIRS) for _ in range(BATCHES)]

    # what must hold

    @invariant()
    def everything_holds(self) -> None:
        """One look at the rows, then every check on it."""
        if not hasattr(self, "batches"):
            return
        self.rows = Rows(self.project.pk)
        self.rows.check()
        self.rows.check_times()
        for pair in self.rows.pairs:
            self.what_is_decided_stays_decided(pair)
        self.grades_are_the_last_ones_given()
        self.flags_are_final_with_their_assignment()
        for batch in self.rows.batches:
            self.what_is_left_can_be_done_by_somebody_new(batch)

    def what_is_decided_stays_decided(self, pair: Pair) -> None:
        if pair.state in ENDED:
            assert self.decided.setdefault(pair.pk, (pair.state, pair.relevance)) == (pair.state, pair.relevance)
        else:
            assert pair.pk not in self.decided

    def grades_are_the_last_ones_given(self) -> None:
        assert {j.pk: j.grade for j in self.rows.judgments} == self.last_grade

    def flags_are_final_with_their_assignment(self) -> None:
        for flag in self.rows.flags:
            if flag.assignment.state != OPEN:
                stands = (flag.reason, flag.comment, flag.withdrawn_at)
                assert self.final_flags.setdefault(flag.pk, stands) == stands
        assert self.final_flags.keys() <= {flag.pk for flag in self.rows.flags}

    def what_is_left_can_be_done_by_somebody_new(self, batch: Batch) -> None:
        """An open batch never gets stuck: it has a slot for a newcomer, or it is in somebody's hands, or it waits
        for no more than being decided."""
        free = self.rows.free_slots_of(batch)
        assert self.could_take(self.newcomer, batch) == bool(free)
        has_holder = any(a.batch_id == batch.pk and a.state == OPEN for a in self.rows.assignments)
        if batch.state == Batch.State.OPEN and not free and not has_holder:
            with transaction.atomic():
                before = self.progress_rows()
                batches_sweep()
                assert self.progress_rows() != before
                transaction.set_rollback(True)

    def newcomers_bring_everything_to_its_end(self) -> None:
        Batch.objects.filter(project=self.project).update(is_paused=False)
        self.now += 2 * LEASE
        for _ in range(
            self.project.judges * self.project.max_rounds * BATCHES * PAIRS
        ):  # a newcomer ends a slot; every pair may need one of its own
            batches_sweep()
            if not self.open_batches():
                break
            self.people.append(annotator(self.project))
            self.grade_all_and_finish_as_newcomer(len(self.people) - 1)
        assert not self.open_batches()
        Rows(self.project.pk).check()

    def grade_all_and_finish_as_newcomer(self, person: int) -> None:
        assignment = self.taken_by(person)
        assert assignment is not None
        self.answer_all(assignment, person, (0, 3), None)
        assert assignment_finish(project=self.project, annotator=self.people[person], now=self.now)

    # doing

    def tick(self) -> datetime:
        """No two grades are given at the same instant."""
        self.now += MOMENT
        return self.now

    def taken_by(self, person: int) -> Assignment | None:
        return assignment_take(project=self.project, annotator=self.people[person], now=self.now)

    def grade_of(self, value: int) -> int:
        """The grade of the project's scale for a value of 0 to 4."""
        return min(value, self.project.top_grade)

    def submit(self, person: int, pair: Pair, grade: int, key: UUID | None) -> Answer:
        return judgment_submit(
            annotator=self.people[person], pair_uuid=pair.uuid, grade=self.grade_of(grade), key=key, now=self.tick()
        )

    def record_grade(self, person: int, pair: Pair, key: UUID, grade: int, answer: Answer) -> None:
        self.forms.append(Form(person, pair, key, grade, self.now, next_pair(answer)))
        self.last_grade[Judgment.objects.get(pair=pair, annotator=self.people[person]).pk] = grade

    def answer_all(self, assignment: Assignment, person: int, values: tuple[int, int], flagged: int | None) -> None:
        for index in range(len(assignment.pair_ids)):
            pair = self.pair_of(assignment, index)
            pair_view = self.pair_view_of(person, pair)
            if not pair_view.needs_answer:
                continue
            if index == flagged:
                flag_set(annotator=self.people[person], pair_uuid=pair.uuid, reason="broken", now=self.tick())
            else:
                key, value = self.key_of(person, pair), self.grade_of(values[index % 2])
                self.record_grade(person, pair, key, value, self.submit(person, pair, value, key))

    def refused(self, assignment: Assignment, pair: Pair, submit: Any) -> bool:
        """Whether a submit must be refused as things stand; it is tried then, and named rightly."""
        if assignment.state != OPEN or assignment.expires_at <= self.now + MOMENT:
            reason: type[Exception] = LeaseLost
        elif pair.state == WITHDRAWN:
            reason = PairWithdrawn
        else:
            return False
        self.now += MOMENT
        with pytest.raises(reason):
            submit()
        return True

    # looking

    def holding(self, person: int) -> Assignment | None:
        return open_assignment(project_id=self.project.pk, annotator=self.people[person])

    def latest(self, person: int) -> Assignment | None:
        return Assignment.objects.filter(annotator=self.people[person]).order_by("-pk").first()

    def at_a_pair(self, person: int, index: int) -> tuple[Assignment | None, Pair | None]:
        assignment = self.latest(person) or self.taken_by(person)
        return assignment, self.pair_of(assignment, index) if assignment else None

    def pair_of(self, assignment: Assignment, index: int) -> Pair:
        return Pair.objects.get(pk=assignment.pair_ids[index % len(assignment.pair_ids)])

    def assignment_with(self, person: int, pair: Pair) -> OpenAssignment:
        assignment = assignment_by_pair(annotator_id=self.people[person].pk, pair=pair.uuid)
        assert assignment is not None
        return assignment

    def pair_view_of(self, person: int, pair: Pair) -> PairView:
        assignment = self.assignment_with(person, pair)
        return assignment.pair_views[assignment.index_of(pair.uuid)]

    def key_of(self, person: int, pair: Pair) -> UUID:
        return self.assignment_with(person, pair).key_of(self.pair_view_of(person, pair))

    def left_in(self, person: int) -> int:
        assignment = current_assignment(annotator_id=self.people[person].pk, project_id=self.project.pk)
        return len(assignment.pair_views) - assignment.answered if assignment else 0

    def could_take(self, person: User, batch: Batch) -> bool:
        """Whether a slot of the batch fits this person, looked at without what the batch says of its slots."""
        pairs = pairs_requested(batch_id=batch.pk, annotator_id=person.pk)
        return slot_for(pairs, taken_slots=slots_taken(batch.pk), slots=rules_of(batch).slots) is not None

    def open_batches(self) -> list[Batch]:
        """Those that are handed out."""
        return list(Batch.objects.filter(project=self.project, state=Batch.State.OPEN, is_paused=False))

    def shows_what_was_next_then(self, answer: Answer, form: Form) -> None:
        """Pairs withdrawn since are passed over; a flag taken back since is not known of any more."""
        taken_back = Flag.objects.filter(annotator=self.people[form.person], withdrawn_at__gt=form.at).exists()
        withdrawn = any(pair_view.withdrawn for pair_view in answer.assignment.pair_views)
        if not taken_back and not withdrawn:
            assert next_pair(answer) == form.shown_next
        assert answer.index is None or not answer.assignment.pair_views[answer.index].withdrawn

    def everything(self) -> list[Any]:
        """All that a submit may write."""
        tables: list[Any] = [Assignment, Judgment, JudgmentChange, Flag, Pair, Batch]
        return [list(model.objects.order_by("pk").values()) for model in tables]

    def progress_rows(self) -> list[object]:
        batches = Batch.objects.filter(project=self.project).order_by("pk")
        pairs = Pair.objects.filter(batch__project=self.project).order_by("pk")
        return [
            list(batches.values_list("pk", "round", "state", "free_slots", "begun")),
            list(pairs.values_list("pk", "state", "relevance", "reason")),
        ]
