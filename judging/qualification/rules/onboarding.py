"""The next step of an annotator, derived from what they have done so far. Pure."""

from enum import StrEnum
from typing import NamedTuple

CANDIDATE, TRAINING, EXAM, QUALIFIED = "candidate", "training", "exam", "qualified"


class Facts(NamedTuple):
    """State of one annotator of a project, by the rows. What happened before somebody came back from suspended or left
    counts for the training, not for the exam."""

    status: str
    screening_is_open: bool
    is_screened: bool
    confirmed: bool  # the guideline in force
    has_tutorial: bool
    tutorial_done: bool
    exam_passed: bool
    waiting: bool = False  # all first grades are in; the lead closes the round
    feedback: bool = False  # misaligned pairs have come back
    counting: bool = False  # all is given; the result is being computed
    attempts_left: int = 1
    exam_is_open: bool = False


class Step(StrEnum):
    """Step that an annotator takes, or waits for."""

    SCREENING = "screening"
    GUIDELINE = "guideline"
    TUTORIAL = "tutorial"
    EXAM = "exam"
    NO_EXAM = "no exam"  # none is open
    NO_PAIRS = "no pairs"  # too few that they have never seen; said by whoever draws them
    NO_ATTEMPT = "no attempt"
    WAITING = "waiting"
    FEEDBACK = "feedback"
    COUNTING = "counting"
    JUDGE = "judge"
    SUSPENDED = "suspended"
    LEFT = "left"


def status_due(facts: Facts) -> str:
    """The status that the facts entitle to: as far along the way as they go, never back, never back onto it."""
    status = facts.status
    if status == CANDIDATE and (not facts.screening_is_open or facts.is_screened):
        status = TRAINING
    if status == TRAINING and facts.confirmed and (facts.tutorial_done or not facts.has_tutorial):
        status = EXAM
    if status == EXAM and facts.exam_passed:
        status = QUALIFIED
    return status


def may_confirm(facts: Facts) -> bool:
    """Whether the guideline can be confirmed by now: after the test before the training, where there is one."""
    return status_due(facts) != CANDIDATE


def next_step(facts: Facts) -> Step:
    """The one thing to do next, or what is waited for."""
    status = status_due(facts)
    if status == CANDIDATE:
        return Step.SCREENING
    if status == TRAINING:
        return Step.TUTORIAL if facts.confirmed else Step.GUIDELINE
    if status == QUALIFIED:
        return Step.JUDGE if facts.confirmed else Step.GUIDELINE
    if status != EXAM:
        return Step(status)
    cases = (
        (facts.waiting, Step.WAITING),
        (facts.feedback, Step.FEEDBACK),
        (facts.counting, Step.COUNTING),
        (facts.attempts_left < 1, Step.NO_ATTEMPT),
        (not facts.exam_is_open, Step.NO_EXAM),
    )
    return next((step for holds, step in cases if holds), Step.EXAM)
