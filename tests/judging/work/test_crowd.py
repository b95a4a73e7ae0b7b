"""Everybody does everything at once on few batches, in real threads: nothing but named refusals may come of it, and
what is there afterwards obeys every rule and can be brought to its end."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections, transaction

from accounts.models import Project, User
from judging.exceptions import JudgingError
from judging.models import Assignment, Batch, Pair
from judging.work.selectors.assignments import OpenAssignment, PairView, current_assignment
from judging.work.services.assignments import (
    assignment_finish,
    assignment_leave,
    assignment_renew,
    assignment_return,
    assignment_take,
    assignments_sweep,
)
from judging.work.services.batches import batch_advance, batches_sweep
from judging.work.services.judgments import flag_set, flag_withdraw, judgment_submit
from tests.factories import MINUTES, NOW, BatchFactory, ProjectFactory, annotator
from tests.judging.rows import Rows

pytestmark = pytest.mark.django_db(transaction=True)
Step = Callable[[User], Any]
CROWD, BATCHES, PAIRS = 6, 3, 3  # every person sits at two pages


class Crowd:
    """The clock goes on by half a minute a step, so that leases run out on the way."""

    def __init__(self, *, seed: int) -> None:
        self.project: Project = ProjectFactory()
        self.batches = [BatchFactory(query__project=self.project, pairs=PAIRS) for _ in range(BATCHES)]
        self.people = [annotator(self.project) for _ in range(CROWD)]
        self.seed = seed
        self.ticks: Iterator[int] = count()
        self.done: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.used: list[tuple[User, UUID, UUID, int]] = []  # forms that were sent

    def play(self, steps: int) -> None:
        """Every person twice, each in a thread of their own; what is no named refusal is raised here."""
        with ThreadPoolExecutor(2 * CROWD) as crowd:
            list(crowd.map(lambda worker: self.live(worker, steps), range(2 * CROWD)))

    def live(self, worker: int, steps: int) -> None:
        chance = random.Random(f"{self.seed}/{worker}")
        person = self.people[worker % CROWD]
        try:
            for _ in range(steps):
                name, step = chance.choice(self.steps(chance))
                try:
                    step(person)
                except JudgingError as refusal:
                    name = f"{name}: {refusal.code}"
                with self.lock:
                    self.done[name] += 1
        finally:
            connections.close_all()

    def steps(self, chance: random.Random) -> list[tuple[str, Step]]:
        """Return the steps, frequent ones repeated."""
        often: list[tuple[str, Step]] = [("take", self.take), *[("grade", partial(self.grade, chance))] * 6]
        often += [("finish", partial(self.call, assignment_finish))] * 3
        return [
            *often * 2,
            ("again", lambda person: self.send_again(chance)),
            ("flag", partial(self.flag, chance)),
            ("unflag", partial(self.take_flag_back, chance)),
            ("give back", partial(self.call, assignment_return)),
            ("leave", partial(self.call, assignment_leave)),
            ("renew", partial(self.call, assignment_renew)),
            ("sweep", lambda person: assignments_sweep(now=self.now())),
            ("sweep batches", lambda person: batches_sweep()),
            ("advance", lambda person: batch_advance(batch_id=chance.choice(self.batches).pk)),
            ("pause", lambda person: self.pause(chance)),
        ]

    def call(self, service: Callable[..., object], person: User) -> None:
        service(project=self.project, annotator=person, now=self.now())

    def now(self) -> datetime:
        return NOW + next(self.ticks) * MINUTES / 2

    def take(self, person: User) -> None:
        """Where nothing is left, a new batch is opened."""
        assignment = assignment_take(project=self.project, annotator=person, now=self.now())
        with self.lock:
            if assignment is None and Batch.objects.filter(state=Batch.State.OPEN).count() < BATCHES:
                with transaction.atomic():  # nobody sees a batch before its pairs
                    self.batches.append(BatchFactory(query__project=self.project, pairs=PAIRS))

    def grade(self, chance: random.Random, person: User) -> None:
        assignment = self.assignment_of(person)
        if assignment is None:
            return self.take(person)
        pair_view = (
            assignment.pair_views[chance.randrange(len(assignment.pair_views))]
            if chance.random() < 0.3
            else self.next_view(assignment)
        )
        key = uuid4() if chance.random() < 0.05 else assignment.key_of(pair_view)
        grade = chance.randrange(5)
        judgment_submit(annotator=person, pair_uuid=pair_view.uuid, grade=grade, key=key, now=self.now())
        self.used.append((person, pair_view.uuid, key, grade))

    def send_again(self, chance: random.Random) -> None:
        if self.used:
            person, pair, key, grade = chance.choice(self.used)
            judgment_submit(annotator=person, pair_uuid=pair, grade=grade, key=key, now=self.now())

    def flag(self, chance: random.Random, person: User) -> None:
        assignment = self.assignment_of(person)
        if assignment is not None:
            pair_view = chance.choice(assignment.pair_views)
            flag_set(annotator=person, pair_uuid=pair_view.uuid, reason="broken", now=self.now())

    def take_flag_back(self, chance: random.Random, person: User) -> None:
        assignment = self.assignment_of(person)
        if assignment is not None:
            flag_withdraw(annotator=person, pair_uuid=chance.choice(assignment.pair_views).uuid, now=self.now())

    def pause(self, chance: random.Random) -> None:
        Batch.objects.filter(pk=chance.choice(self.batches).pk).update(is_paused=chance.random() < 0.3)

    def assignment_of(self, person: User) -> OpenAssignment | None:
        return current_assignment(annotator_id=person.pk, project_id=self.project.pk)

    def next_view(self, assignment: OpenAssignment) -> PairView:
        return assignment.pair_views[assignment.next_index() or 0]

    def bring_to_its_end(self) -> None:
        """Newcomers, one after the other, find a slot until everything is decided."""
        Batch.objects.update(is_paused=False)
        assignments_sweep(now=self.now() + 60 * MINUTES)
        for _ in range(4 * len(self.batches) * PAIRS):
            batches_sweep()
            if not Batch.objects.filter(state=Batch.State.OPEN).exists():
                return
            self.judge_as(annotator(self.project))
        raise AssertionError("newcomers found slots, but came to no end")

    def judge_as(self, person: User) -> None:
        assignment = assignment_take(project=self.project, annotator=person, now=self.now())
        assert assignment is not None, "something is left, but nobody new can take it"
        for pair in Pair.objects.filter(pk__in=assignment.pair_ids):
            judgment_submit(annotator=person, pair_uuid=pair.uuid, grade=2, now=self.now())
        assert assignment_finish(project=self.project, annotator=person, now=self.now())


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(1, 40), *(pytest.param(n, 400, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]) for n in range(2, 8))],
)
def test_everybody_at_once(seed: int, steps: int) -> None:
    crowd = Crowd(seed=seed)
    crowd.play(steps)
    Rows(crowd.project.pk).check()
    assert Assignment.objects.filter(state=Assignment.State.FINISHED).exists()
    crowd.bring_to_its_end()
    Rows(crowd.project.pk).check()
