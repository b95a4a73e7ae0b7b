"""Many annotators at work in any order: what must hold after every step, whoever took, graded, flagged, left, gave
back, lapsed or finished; and at the end, whatever happened, newcomers can bring every batch to its end."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

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

from annotation.models import User
from judging import selectors
from judging.exceptions import AssignmentIncomplete, FormStale, LeaseLost, PairWithdrawn
from judging.models import Assignment, Batch, Flag, Judgment, JudgmentChange, Pair
from judging.rules.keys import form_key
from judging.rules.leasing import LEAVING, seat_for
from judging.selectors import Held
from judging.services.assignments import (
    assignment_finish,
    assignment_leave,
    assignment_renew,
    assignment_return,
    assignment_take,
    assignments_sweep,
)
from judging.services.batches import batch_advance, batches_sweep
from judging.services.judgments import Answer, flag_set, flag_withdraw, judgment_submit
from tests.factories import NOW, BatchFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import next_pair
from tests.judging.rows import ENDED, Rows

PEOPLE, BATCHES, PAIRS = 5, 2, 3
people = st.integers(0, PEOPLE - 1)
places = st.integers(0, PAIRS - 1)
grades = st.integers(0, 4)
reasons = st.sampled_from(Flag.Reason.values)
OPEN = Assignment.State.OPEN
WITHDRAWN = Pair.State.WITHDRAWN
LEASE = timedelta(minutes=20)
MOMENT = timedelta(seconds=1)


class Form(NamedTuple):
    """A form that was taken, and the pair that was shown in answer."""

    person: int
    pair: Pair
    key: UUID
    grade: int
    at: datetime
    shown_next: int | None


class Playing(RuleBasedStateMachine):
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

    @initialize()
    def project_of_few_batches(self) -> None:
        self.project = ProjectFactory()
        self.people = [annotator(self.project) for _ in range(PEOPLE)]
        self.newcomer = annotator(self.project)
        self.batches = [BatchFactory(query=QueryFactory(project=self.project), pairs=PAIRS) for _ in range(BATCHES)]

    # what may happen

    @rule(person=people)
    def take(self, person: int) -> None:
        held = self.holding(person)
        taken = self.taken_by(person)
        if held is not None and held.expires_at > self.now:
            assert taken == held
        elif taken is None:
            assert not any(self.could_take(self.people[person], batch) for batch in self.open_batches())
        else:
            assert (taken.state, taken.expires_at) == (OPEN, self.now + LEASE)
            assert not Batch.objects.get(pk=taken.batch_id).is_paused
            assert not Judgment.objects.filter(pair__in=taken.pair_ids, annotator=self.people[person]).exists()

    @rule(person=people, place=places, grade=grades, with_key=st.booleans())
    def grade(self, person: int, place: int, grade: int, with_key: bool) -> None:
        """A grade, or a change of one, in the latest assignment; a first one is taken if need be."""
        held, pair = self.at_a_pair(person, place)
        if held is None or pair is None:
            return
        key = self.key_of(person, pair)
        if not self.refused(held, pair, lambda: self.submit(person, pair, grade, key if with_key else None)):
            if self.card_of(person, pair).flag:
                with pytest.raises(FormStale, match="Take the flag back"):
                    self.submit(person, pair, grade, key if with_key else None)
                return
            answer = self.submit(person, pair, grade, key if with_key else None)
            self.kept(person, pair, key, grade, answer)

    @precondition(lambda self: self.forms)
    @rule(which=st.integers(0, 1000), grade=st.none() | grades)
    def a_form_arrives_again(self, which: int, grade: int | None) -> None:
        """With the same grade it is answered as the first time, with another it is refused; nothing is written."""
        form = self.forms[which % len(self.forms)]
        if form.key == self.key_of(form.person, form.pair):
            return  # it said what was there: the pair stands as it did
        before = self.everything()
        if grade is None or grade == form.grade:
            answer = self.submit(form.person, form.pair, form.grade, form.key)
            self.shows_what_was_next_then(answer, form)
        else:
            with pytest.raises(FormStale):
                self.submit(form.person, form.pair, grade, form.key)
        assert self.everything() == before

    @rule(person=people, place=places, grade=grades, ahead=st.integers(1, 3), random=st.booleans())
    def a_form_of_another_state_arrives(self, person: int, place: int, grade: int, ahead: int, random: bool) -> None:
        held = self.latest(person)
        if held is None:
            return
        pair = self.pair_of(held, place)
        given = ahead + JudgmentChange.objects.filter(judgment__assignment=held, judgment__pair=pair).count()
        given += 1 + held.flags.filter(pair=pair).count()
        key = uuid4() if random else form_key(assignment=held.uuid, pair=pair.uuid, given=given)
        before = self.everything()
        with pytest.raises(FormStale):
            self.submit(person, pair, grade, key)
        assert self.everything() == before

    @rule(person=people, worst=grades, best=grades, flagged=st.none() | places)
    def grade_all_and_finish(self, person: int, worst: int, best: int, flagged: int | None) -> None:
        """The way most rounds go; without it a long life would be rare."""
        held = self.taken_by(person)
        if held is None:
            return
        self.answer_all(held, person, (worst, best), flagged)
        assert assignment_finish(project=self.project, annotator=self.people[person], now=self.now)

    @rule(person=people, place=places, reason=reasons)
    def flag(self, person: int, place: int, reason: str) -> None:
        held, pair = self.at_a_pair(person, place)
        if held is None or pair is None:
            return
        who: dict[str, Any] = {"annotator": self.people[person], "pair_uuid": pair.uuid, "reason": reason}
        if not self.refused(held, pair, lambda: flag_set(**who, now=self.now)):
            answer = flag_set(**who, now=self.tick())
            assert not answer.held.cards[answer.held.index_of(pair.uuid)].needs_answer

    @rule(person=people, place=places)
    def take_the_flag_back(self, person: int, place: int) -> None:
        held = self.latest(person)
        if held is None:
            return
        pair = self.pair_of(held, place)
        if held.state != OPEN or held.expires_at <= self.now:
            with pytest.raises(LeaseLost):
                flag_withdraw(annotator=self.people[person], pair_uuid=pair.uuid, now=self.now)
            return
        flag_withdraw(annotator=self.people[person], pair_uuid=pair.uuid, now=self.tick())
        assert not Flag.objects.filter(pair=pair, annotator=self.people[person], withdrawn_at=None).exists()

    @rule(person=people)
    def finish(self, person: int) -> None:
        held = self.holding(person)
        left = self.left_in(person)
        try:
            ended = assignment_finish(project=self.project, annotator=self.people[person], now=self.now)
        except AssignmentIncomplete:
            assert left
        except LeaseLost:
            assert held is not None and held.expires_at <= self.now
        else:
            assert ended == (held is not None)
            assert not left

    @rule(person=people)
    def give_back(self, person: int) -> None:
        held = self.holding(person)
        given_back = assignment_return(project=self.project, annotator=self.people[person], now=self.now)
        assert given_back == (held is not None)
        if held is not None:
            assert Assignment.objects.get(pk=held.pk).state == Assignment.State.RETURNED

    @rule(person=people)
    def leave(self, person: int) -> None:
        held = self.holding(person)
        assignment_leave(project=self.project, annotator=self.people[person], now=self.now)
        if held is not None and held.expires_at > self.now:
            assert Assignment.objects.get(pk=held.pk).expires_at == min(held.expires_at, self.now + LEAVING)

    @rule(person=people)
    def heartbeat(self, person: int) -> None:
        held = self.holding(person)
        if held is None or held.expires_at <= self.now:
            with pytest.raises(LeaseLost):
                assignment_renew(project=self.project, annotator=self.people[person], now=self.now)
        else:
            until = assignment_renew(project=self.project, annotator=self.people[person], now=self.now)
            assert until == Assignment.objects.get(pk=held.pk).expires_at == self.now + LEASE

    @rule(minutes=st.sampled_from([1, 12, 20]))
    def time_goes_by(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule()
    def sweep(self) -> None:
        assignments_sweep(now=self.now)
        assert not Assignment.objects.filter(state=OPEN, expires_at__lte=self.now).exists()

    @rule(place=st.integers(0, BATCHES - 1), is_paused=st.booleans(), priority=st.integers(-1, 1))
    def the_lead_pauses_or_prefers_a_set(self, place: int, is_paused: bool, priority: int) -> None:
        Batch.objects.filter(pk=self.batches[place].pk).update(is_paused=is_paused, priority=priority)

    @rule(order=st.permutations(range(BATCHES)), repeats=st.integers(1, 2))
    def advance(self, order: list[int], repeats: int) -> None:
        for place in order * repeats:
            batch_advance(batch_id=self.batches[place].pk)

    @rule()
    def sweep_batches(self) -> None:
        batches_sweep()

    @precondition(lambda self: hasattr(self, "batches") and self.open_batches())
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
        """An open batch never gets stuck: it has a seat for a newcomer, or it is in somebody's hands, or it waits
        for no more than being decided."""
        free = self.rows.free_seats_of(batch)
        assert self.could_take(self.newcomer, batch) == bool(free)
        held = any(a.batch_id == batch.pk and a.state == OPEN for a in self.rows.assignments)
        if batch.state == Batch.State.OPEN and not free and not held:
            with transaction.atomic():
                before = self.standing()
                batches_sweep()
                assert self.standing() != before
                transaction.set_rollback(True)

    def newcomers_bring_everything_to_its_end(self) -> None:
        Batch.objects.filter(project=self.project).update(is_paused=False)
        self.now += 2 * LEASE
        for _ in range(4 * BATCHES * PAIRS):  # a newcomer ends a seat; every pair may need one of its own
            batches_sweep()
            if not self.open_batches():
                break
            self.people.append(annotator(self.project))
            self.grade_all_and_finish_as_newcomer(len(self.people) - 1)
        assert not self.open_batches()
        Rows(self.project.pk).check()

    def grade_all_and_finish_as_newcomer(self, person: int) -> None:
        held = self.taken_by(person)
        assert held is not None
        self.answer_all(held, person, (0, 3), None)
        assert assignment_finish(project=self.project, annotator=self.people[person], now=self.now)

    # doing

    def tick(self) -> datetime:
        """No two grades are given at the same instant."""
        self.now += MOMENT
        return self.now

    def taken_by(self, person: int) -> Assignment | None:
        return assignment_take(project=self.project, annotator=self.people[person], now=self.now)

    def submit(self, person: int, pair: Pair, grade: int, key: UUID | None) -> Answer:
        return judgment_submit(
            annotator=self.people[person], pair_uuid=pair.uuid, grade=grade, key=key, now=self.tick()
        )

    def kept(self, person: int, pair: Pair, key: UUID, grade: int, answer: Answer) -> None:
        self.forms.append(Form(person, pair, key, grade, self.now, next_pair(answer)))
        self.last_grade[Judgment.objects.get(pair=pair, annotator=self.people[person]).pk] = grade

    def answer_all(self, held: Assignment, person: int, values: tuple[int, int], flagged: int | None) -> None:
        for place in range(len(held.pair_ids)):
            pair = self.pair_of(held, place)
            card = self.card_of(person, pair)
            if not card.needs_answer:
                continue
            if place == flagged:
                flag_set(annotator=self.people[person], pair_uuid=pair.uuid, reason="broken", now=self.tick())
            else:
                key, value = self.key_of(person, pair), values[place % 2]
                self.kept(person, pair, key, value, self.submit(person, pair, value, key))

    def refused(self, held: Assignment, pair: Pair, submit: Any) -> bool:
        """Whether a submit must be refused as things stand; it is tried then, and named rightly."""
        if held.state != OPEN or held.expires_at <= self.now + MOMENT:
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
        return selectors.open_assignment(project=self.project, annotator=self.people[person])

    def latest(self, person: int) -> Assignment | None:
        return Assignment.objects.filter(annotator=self.people[person]).order_by("-pk").first()

    def at_a_pair(self, person: int, place: int) -> tuple[Assignment | None, Pair | None]:
        held = self.latest(person) or self.taken_by(person)
        return held, self.pair_of(held, place) if held else None

    def pair_of(self, held: Assignment, place: int) -> Pair:
        return Pair.objects.get(pk=held.pair_ids[place % len(held.pair_ids)])

    def held_with(self, person: int, pair: Pair) -> Held:
        held = selectors.held_by_pair(annotator_id=self.people[person].pk, pair=pair.uuid)
        assert held is not None
        return held

    def card_of(self, person: int, pair: Pair) -> selectors.Card:
        held = self.held_with(person, pair)
        return held.cards[held.index_of(pair.uuid)]

    def key_of(self, person: int, pair: Pair) -> UUID:
        return self.held_with(person, pair).key_of(self.card_of(person, pair))

    def left_in(self, person: int) -> int:
        held = selectors.held_open(annotator_id=self.people[person].pk, project_id=self.project.pk)
        return len(held.cards) - held.answered if held else 0

    def could_take(self, person: User, batch: Batch) -> bool:
        """Whether a seat of the batch fits this person, looked at without what the batch says of its seats."""
        pairs = selectors.pairs_asked_now(batch_id=batch.pk, annotator_id=person.pk)
        return seat_for(pairs, held=selectors.seats_held(batch.pk)) is not None

    def open_batches(self) -> list[Batch]:
        """Those that are handed out."""
        return list(Batch.objects.filter(project=self.project, state=Batch.State.OPEN, is_paused=False))

    def shows_what_was_next_then(self, answer: Answer, form: Form) -> None:
        """Pairs withdrawn since are passed over; a flag taken back since is not known of any more."""
        taken_back = Flag.objects.filter(annotator=self.people[form.person], withdrawn_at__gt=form.at).exists()
        withdrawn = any(card.withdrawn for card in answer.held.cards)
        if not taken_back and not withdrawn:
            assert next_pair(answer) == form.shown_next
        assert answer.index is None or not answer.held.cards[answer.index].withdrawn

    def everything(self) -> list[Any]:
        """All that a submit may write."""
        tables: list[Any] = [Assignment, Judgment, JudgmentChange, Flag, Pair, Batch]
        return [list(model.objects.order_by("pk").values()) for model in tables]

    def standing(self) -> list[object]:
        batches = Batch.objects.filter(project=self.project).order_by("pk")
        pairs = Pair.objects.filter(batch__project=self.project).order_by("pk")
        return [
            list(batches.values_list("pk", "round", "state", "free_seats", "begun")),
            list(pairs.values_list("pk", "state", "relevance", "reason")),
        ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "examples", [6, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
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
