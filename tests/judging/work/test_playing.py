"""Many annotators at work in any order: what must hold after every step, whoever took, graded, flagged, left, gave
back, lapsed or finished; and at the end, whatever happened, newcomers can bring every batch to its end."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from judging.exceptions import AssignmentIncomplete, FormStale, LeaseLost
from judging.models import Assignment, Batch, Flag, Judgment, JudgmentChange
from judging.work.rules import LEAVING, form_key
from judging.work.services.assignments import (
    assignment_finish,
    assignment_leave,
    assignment_renew,
    assignment_return,
    assignments_sweep,
)
from judging.work.services.batches import batch_advance, batches_sweep
from judging.work.services.judgments import flag_set, flag_withdraw
from tests.judging.game import BATCHES, LEASE, OPEN, PAIRS, PEOPLE, Game

people = st.integers(0, PEOPLE - 1)
positions = st.integers(0, PAIRS - 1)
grades = st.integers(0, 4)
reasons = st.sampled_from(Flag.Reason.values)


class Playing(Game):
    """Every step that can be taken, in any order."""

    @rule(person=people)
    def take(self, person: int) -> None:
        assignment = self.holding(person)
        new_assignment = self.taken_by(person)
        if assignment is not None and assignment.expires_at > self.now:
            assert new_assignment == assignment
        elif new_assignment is None:
            assert not any(self.could_take(self.people[person], batch) for batch in self.open_batches())
        else:
            assert (new_assignment.state, new_assignment.expires_at) == (OPEN, self.now + LEASE)
            assert not Batch.objects.get(pk=new_assignment.batch_id).is_paused
            assert not Judgment.objects.filter(pair__in=new_assignment.pair_ids, annotator=self.people[person]).exists()

    @rule(person=people, position=positions, grade=grades, with_key=st.booleans())
    def grade(self, person: int, position: int, grade: int, with_key: bool) -> None:
        """A grade, or a change of one, in the latest assignment; a first one is taken if need be."""
        grade, (assignment, pair) = self.grade_of(grade), self.at_a_pair(person, position)
        if assignment is None or pair is None:
            return
        key = self.key_of(person, pair)
        if not self.refused(assignment, pair, lambda: self.submit(person, pair, grade, key if with_key else None)):
            if self.pair_view_of(person, pair).flag:
                with pytest.raises(FormStale, match="Take the flag back"):
                    self.submit(person, pair, grade, key if with_key else None)
                return
            answer = self.submit(person, pair, grade, key if with_key else None)
            self.record_grade(person, pair, key, grade, answer)

    @precondition(lambda self: self.forms)
    @rule(which=st.integers(0, 1000), grade=st.none() | grades)
    def a_form_arrives_again(self, which: int, grade: int | None) -> None:
        """With the same grade it is answered as the first time, with another it is refused; nothing is written."""
        form = self.forms[which % len(self.forms)]
        if form.key == self.key_of(form.person, form.pair):
            return  # it said what was there: the pair stands as it did
        before = self.everything()
        if grade is None or self.grade_of(grade) == form.grade:
            answer = self.submit(form.person, form.pair, form.grade, form.key)
            self.shows_what_was_next_then(answer, form)
        else:
            with pytest.raises(FormStale):
                self.submit(form.person, form.pair, self.grade_of(grade), form.key)
        assert self.everything() == before

    @rule(person=people, position=positions, grade=grades, ahead=st.integers(1, 3), random=st.booleans())
    def a_form_of_another_state_arrives(self, person: int, position: int, grade: int, ahead: int, random: bool) -> None:
        assignment = self.latest(person)
        if assignment is None:
            return
        pair = self.pair_of(assignment, position)
        n_answers = ahead + JudgmentChange.objects.filter(judgment__assignment=assignment, judgment__pair=pair).count()
        n_answers += 1 + assignment.flags.filter(pair=pair).count()
        key = uuid4() if random else form_key(assignment=assignment.uuid, pair=pair.uuid, n_answers=n_answers)
        before = self.everything()
        with pytest.raises(FormStale):
            self.submit(person, pair, grade, key)
        assert self.everything() == before

    @rule(person=people, worst=grades, best=grades, flagged=st.none() | positions)
    def grade_all_and_finish(self, person: int, worst: int, best: int, flagged: int | None) -> None:
        """The way most rounds go; without it a long life would be rare."""
        assignment = self.taken_by(person)
        if assignment is None:
            return
        self.answer_all(assignment, person, (worst, best), flagged)
        assert assignment_finish(project=self.project, annotator=self.people[person], now=self.now)

    @rule(person=people, position=positions, reason=reasons)
    def flag(self, person: int, position: int, reason: str) -> None:
        assignment, pair = self.at_a_pair(person, position)
        if assignment is None or pair is None:
            return
        who: dict[str, Any] = {"annotator": self.people[person], "pair_uuid": pair.uuid, "reason": reason}
        if not self.refused(assignment, pair, lambda: flag_set(**who, now=self.now)):
            answer = flag_set(**who, now=self.tick())
            assert not answer.assignment.pair_views[answer.assignment.index_of(pair.uuid)].needs_answer

    @rule(person=people, position=positions)
    def take_the_flag_back(self, person: int, position: int) -> None:
        assignment = self.latest(person)
        if assignment is None:
            return
        pair = self.pair_of(assignment, position)
        if assignment.state != OPEN or assignment.expires_at <= self.now:
            with pytest.raises(LeaseLost):
                flag_withdraw(annotator=self.people[person], pair_uuid=pair.uuid, now=self.now)
            return
        flag_withdraw(annotator=self.people[person], pair_uuid=pair.uuid, now=self.tick())
        assert not Flag.objects.filter(pair=pair, annotator=self.people[person], withdrawn_at=None).exists()

    @rule(person=people)
    def finish(self, person: int) -> None:
        assignment = self.holding(person)
        pairs_left = self.left_in(person)
        try:
            ended = assignment_finish(project=self.project, annotator=self.people[person], now=self.now)
        except AssignmentIncomplete:
            assert pairs_left
        except LeaseLost:
            assert assignment is not None and assignment.expires_at <= self.now
        else:
            assert ended == (assignment is not None)
            assert not pairs_left

    @rule(person=people)
    def give_back(self, person: int) -> None:
        assignment = self.holding(person)
        given_back = assignment_return(project=self.project, annotator=self.people[person], now=self.now)
        assert given_back == (assignment is not None)
        if assignment is not None:
            assert Assignment.objects.get(pk=assignment.pk).state == Assignment.State.RETURNED

    @rule(person=people)
    def leave(self, person: int) -> None:
        assignment = self.holding(person)
        assignment_leave(project=self.project, annotator=self.people[person], now=self.now)
        if assignment is not None and assignment.expires_at > self.now:
            assert Assignment.objects.get(pk=assignment.pk).expires_at == min(assignment.expires_at, self.now + LEAVING)

    @rule(person=people)
    def heartbeat(self, person: int) -> None:
        assignment = self.holding(person)
        if assignment is None or assignment.expires_at <= self.now:
            with pytest.raises(LeaseLost):
                assignment_renew(project=self.project, annotator=self.people[person], now=self.now)
        else:
            until = assignment_renew(project=self.project, annotator=self.people[person], now=self.now)
            assert until == Assignment.objects.get(pk=assignment.pk).expires_at == self.now + LEASE

    @rule(minutes=st.sampled_from([1, 12, 20]))
    def time_goes_by(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule()
    def sweep(self) -> None:
        assignments_sweep(now=self.now)
        assert not Assignment.objects.filter(state=OPEN, expires_at__lte=self.now).exists()

    @rule(position=st.integers(0, BATCHES - 1), is_paused=st.booleans(), priority=st.integers(-1, 1))
    def the_lead_pauses_or_prefers_a_set(self, position: int, is_paused: bool, priority: int) -> None:
        Batch.objects.filter(pk=self.batches[position].pk).update(is_paused=is_paused, priority=priority)

    @rule(order=st.permutations(range(BATCHES)), repeats=st.integers(1, 2))
    def advance(self, order: list[int], repeats: int) -> None:
        for index in order * repeats:
            batch_advance(batch_id=self.batches[index].pk)

    @rule()
    def sweep_batches(self) -> None:
        batches_sweep()

    @precondition(lambda self: hasattr(self, "batches") and self.open_batches())
    @rule(order=st.permutations(range(BATCHES)))
    def order_of_deciding_does_not_matter(self, order: list[int]) -> None:
        results = []
        for batches in (self.batches, [self.batches[index] for index in (*order, *reversed(order))]):
            with transaction.atomic():
                for batch in batches:
                    batch_advance(batch_id=batch.pk)
                results.append(self.progress_rows())
                transaction.set_rollback(True)
        assert results[0] == results[1]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "examples", [4, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
def test_playing(examples: int) -> None:
    run_state_machine_as_test(
        Playing,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
