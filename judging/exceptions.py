"""Errors of judging, by name; programs get the code."""

from collections.abc import Sequence
from typing import Any

from core.exceptions import MomentJudgeError, NotPossible


class JudgingError(MomentJudgeError):
    """Refused; nothing was written. A class names its code, and its status where it is no conflict."""

    status = 409
    code = "judging"

    def __init_subclass__(cls, *, code: str, status: int | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.code, cls.status = code, status or cls.status


class LeaseLost(JudgingError, code="lease_lost"):
    """The assignment has ended or its time has run out."""


class NotAssigned(JudgingError, code="not_assigned", status=404):
    """The pair is not in the assignment."""


class NotAnnotator(JudgingError, code="not_annotator", status=403):
    """The person is no annotator of the project any more."""


class NotQualified(JudgingError, code="not_qualified", status=403):
    """Only qualified annotators are handed batches."""


class GuidelineUnconfirmed(JudgingError, code="guideline_unconfirmed"):
    """The version in force has not been read and confirmed by the annotator."""


class FormStale(JudgingError, code="form_stale"):
    """The form is older than what it would change."""


class GradeUnknown(JudgingError, NotPossible, code="invalid", status=422):
    """The scale of the project has no such grade."""

    def __init__(self, top_grade: int) -> None:
        super().__init__(f"A grade is a whole number from 0 to {top_grade}.")


def grade_known_or_refused(grade: int, top_grade: int) -> None:
    """Raises GradeUnknown: the scale has no such grade."""
    if not 0 <= grade <= top_grade:
        raise GradeUnknown(top_grade)


class PairWithdrawn(JudgingError, code="pair_withdrawn"):
    """Nobody needs to judge the pair any more."""


class AssignmentIncomplete(JudgingError, code="assignment_incomplete"):
    """Some pairs still need a grade."""


class NotPossibleNow(JudgingError, NotPossible, code="not_possible_now"):
    """A lead's step does not fit what the pair or batch is by now."""


class NotReviewable(JudgingError, code="not_reviewable"):
    """The batch is not waiting for the lead."""


class AlreadyReviewed(NotReviewable, code="already_reviewed"):
    """Somebody else has decided about the query."""


class NothingBeyond(NotReviewable, code="nothing_beyond"):
    """No candidate is left for a second batch."""


class ReviewStands(JudgingError, code="review_stands"):
    """A decision is not taken back once what followed from it has begun."""


class InvitationUnknown(JudgingError, code="invitation_unknown", status=404):
    """No invitation has this secret."""


class InvitationGone(JudgingError, code="invitation_gone", status=410):
    """The invitation has expired, was used, or was revoked."""


class GuidelineStale(JudgingError, code="guideline_stale"):
    """There is a newer version of the guideline than the one at hand."""


class PolicyStale(JudgingError, code="policy_stale"):
    """There is a newer version of the policy than the one looked at."""


class ScreeningTooShort(JudgingError, code="gate_too_short"):
    """The screening test has fewer questions than it asks."""


class ScreeningClosed(JudgingError, code="gate_closed"):
    """There is no test to take, or this person may not take it."""


class AnswersIncomplete(JudgingError, code="answers_incomplete", status=422):
    """A question of the test has no answer, or one that was not offered."""


class Unfinished(JudgingError, code="unfinished"):
    """Some people have not given all their grades for the exam; closing it must be confirmed."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = list(numbers)
        people, verb = ("Annotator", "has") if len(self.numbers) == 1 else ("Annotators", "have")
        super().__init__(f"{people} {', '.join(map(str, self.numbers))} {verb} not handed in all grades yet.")


class TooFewPairs(JudgingError, code="too_few_pairs"):
    """There are too few pairs of known truth that serve, or that the person has never seen."""


class WarmUpDue(JudgingError, code="warm_up_due"):
    """The session begins with a warm-up."""


class AttemptOver(JudgingError, code="sitting_over"):
    """The attempt takes no (more) grades of this kind: it was handed in, its exam was closed, or it is done."""


class QueryRefused(JudgingError, NotPossible, code="query_refused", status=422):
    """A check of the round finds problems in a written query; ``problems`` has them in the order of the fields."""

    def __init__(self, problems: Sequence[Any]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(problem.message for problem in self.problems))
