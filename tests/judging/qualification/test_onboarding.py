"""Next steps of an annotator, by what they have done."""

from typing import Any

import pytest

from judging.qualification.rules.onboarding import Facts, Step, next_step, status_due

NEW = Facts(
    status="candidate",
    screening_is_open=False,
    is_screened=False,
    confirmed=False,
    has_tutorial=False,
    tutorial_done=False,
    exam_passed=False,
)
READ, TRAINED = {"confirmed": True}, {"has_tutorial": True, "tutorial_done": True}
SCREENING, OPEN = {"screening_is_open": True}, {"exam_is_open": True}
CASES: list[tuple[str, dict[str, Any], str, Step]] = [  # status, what is so, status due, what comes next
    ("candidate", {}, "training", Step.GUIDELINE),
    ("candidate", SCREENING, "candidate", Step.SCREENING),
    ("candidate", {**SCREENING, "is_screened": True}, "training", Step.GUIDELINE),
    ("candidate", READ, "exam", Step.NO_EXAM),
    ("candidate", {**SCREENING, **READ}, "candidate", Step.SCREENING),
    ("candidate", {**READ, "exam_passed": True}, "qualified", Step.JUDGE),
    ("training", SCREENING, "training", Step.GUIDELINE),
    ("training", {"has_tutorial": True}, "training", Step.GUIDELINE),
    ("training", {**READ, "has_tutorial": True}, "training", Step.TUTORIAL),
    ("training", TRAINED, "training", Step.GUIDELINE),
    ("training", {**READ, **TRAINED}, "exam", Step.NO_EXAM),
    ("training", {**READ, **OPEN}, "exam", Step.EXAM),
    ("exam", {}, "exam", Step.NO_EXAM),
    ("exam", OPEN, "exam", Step.EXAM),
    ("exam", {**OPEN, "has_tutorial": True}, "exam", Step.EXAM),  # a tutorial that came later is not asked for
    ("exam", {**OPEN, "waiting": True}, "exam", Step.WAITING),
    ("exam", {"feedback": True}, "exam", Step.FEEDBACK),
    ("exam", {"feedback": True, "attempts_left": 0}, "exam", Step.FEEDBACK),
    ("exam", {"counting": True}, "exam", Step.COUNTING),
    ("exam", {**OPEN, "attempts_left": 0}, "exam", Step.NO_ATTEMPT),
    ("exam", {"attempts_left": -1}, "exam", Step.NO_ATTEMPT),
    ("exam", {**OPEN, "exam_passed": True}, "qualified", Step.GUIDELINE),
    ("exam", {**OPEN, **READ, "exam_passed": True}, "qualified", Step.JUDGE),
    ("qualified", READ, "qualified", Step.JUDGE),
    ("qualified", {}, "qualified", Step.GUIDELINE),
    ("suspended", {**READ, "exam_passed": True}, "suspended", Step.SUSPENDED),
    ("left", {**READ, "exam_passed": True}, "left", Step.LEFT),
]


@pytest.mark.parametrize(("status", "changes", "due", "step"), CASES)
def test_what_follows(status: str, changes: dict[str, Any], due: str, step: Step) -> None:
    facts = NEW._replace(status=status, **changes)
    assert (status_due(facts), next_step(facts)) == (due, step)
