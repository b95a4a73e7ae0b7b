"""The way of an annotator as their desk shows it: the steps, where they are, and the one thing to do next."""

from dataclasses import dataclass
from random import SystemRandom

from accounts.models import Membership, Project, User
from judging.exceptions import TooFewPairs
from judging.models import Exam, Sitting
from judging.qualification.rules.way import Facts, Step, next_step, standing_due
from judging.qualification.selectors.exams import sittings_of
from judging.qualification.selectors.sittings import way_facts
from judging.qualification.services.sittings import stored_pairs
from judging.qualification.services.way import way_advance

NAMES = {
    Step.GATE: "Test",
    Step.GUIDELINE: "Guideline",
    Step.TUTORIAL: "Tutorial",
    Step.EXAM: "Exam",
    Step.FEEDBACK: "Feedback",
    Step.JUDGE: "Judging",
}
PLACES = {
    Step.NO_EXAM: Step.EXAM,
    Step.NO_PAIRS: Step.EXAM,
    Step.NO_ATTEMPT: Step.EXAM,
    Step.WAITING: Step.EXAM,
    Step.COUNTING: Step.FEEDBACK,
}


@dataclass(frozen=True)
class Stop:
    """One step as it is listed."""

    name: str
    state: str  # done, now or later


@dataclass(frozen=True)
class Way:
    """``stops`` is empty for who is past them, or out."""

    step: Step
    stops: list[Stop]
    exam: Exam | None = None
    running: Sitting | None = None
    failed: Sitting | None = None  # the latest exam that was not passed
    without_result: Sitting | None = None  # the latest exam, where it decided nothing
    missed: Sitting | None = None  # the latest exam, where it was closed before all grades were given
    attempts_left: int = 0

    @property
    def qualified(self) -> bool:
        return self.step == Step.JUDGE

    @property
    def waits(self) -> bool:
        """Whether the page goes on by itself."""
        return self.step in (Step.WAITING, Step.COUNTING)


def way_of(*, project: Project, annotator: User) -> Way:
    """What comes next; steps that are due are taken first, as when the lead closed the test or the tutorial."""
    facts = way_facts(project_id=project.pk, annotator_id=annotator.pk)
    if standing_due(facts) != facts.standing:
        way_advance(project=project, annotator=annotator)
        facts = way_facts(project_id=project.pk, annotator_id=annotator.pk)
    step = next_step(facts)
    if facts.standing != Membership.Standing.EXAM:
        return Way(step, _stops(facts, step))
    sat = list(sittings_of(project=project, annotator_id=annotator.pk))
    running = next((row for row in sat if row.purpose == Sitting.Purpose.EXAM and row.ended_at is None), None)
    failed = next((row for row in sat if row.passed is False), None)
    latest = next((row for row in sat if row.purpose == Sitting.Purpose.EXAM), None)
    missed = latest if latest and latest.state == Sitting.State.MISSED else None
    without_result = latest if latest and latest.has_no_result else None
    exam = project.exams.filter(state=Exam.State.OPEN).first()
    if step == Step.EXAM and running is None and exam and not _pairs_are_left(exam, annotator):
        step = Step.NO_PAIRS
    return Way(step, _stops(facts, step), exam, running, failed, without_result, missed, facts.attempts_left)


def _pairs_are_left(exam: Exam, annotator: User) -> bool:
    if exam.kind == Exam.Kind.COHORT:
        return True
    try:
        return bool(stored_pairs(exam, annotator.pk, SystemRandom().randrange(2**31)).known_ids)
    except TooFewPairs:
        return False


def _stops(facts: Facts, step: Step) -> list[Stop]:
    """The steps of this project in their order; none for who is qualified or out."""
    if facts.standing not in ("candidate", "training", "exam"):
        return []
    skipped = {*([] if facts.gate_is_open else [Step.GATE]), *([] if facts.has_tutorial else [Step.TUTORIAL])}
    order = [stop for stop in NAMES if stop not in skipped]
    place = order.index(PLACES.get(step, step))
    states = ["done" if at < place else "now" if at == place else "later" for at in range(len(order))]
    return [Stop(NAMES[stop], state) for stop, state in zip(order, states, strict=True)]
