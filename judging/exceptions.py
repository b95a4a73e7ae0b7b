"""What can go wrong in judging, by name."""

from collections.abc import Sequence

from core.exceptions import MomentJudgeError


class JudgingError(MomentJudgeError):
    """Refused; nothing was written."""

    status = 409
    code = "judging"


class LeaseLost(JudgingError):
    """The assignment has ended or its time has run out."""

    code = "lease_lost"


class NotAssigned(JudgingError):
    """The pair is not in the assignment."""

    status = 404
    code = "not_assigned"


class NotAnnotator(JudgingError):
    """The person is no annotator of the project any more."""

    status = 403
    code = "not_annotator"


class NotQualified(JudgingError):
    """Only qualified annotators are handed batches."""

    status = 403
    code = "not_qualified"


class GuidelineUnconfirmed(JudgingError):
    """The version in force has not been read and confirmed by the annotator."""

    code = "guideline_unconfirmed"


class FormStale(JudgingError):
    """The form is older than what it would change."""

    code = "form_stale"


class PairWithdrawn(JudgingError):
    """Nobody needs to judge the pair any more."""

    code = "pair_withdrawn"


class AssignmentIncomplete(JudgingError):
    """Some pairs still need a grade."""

    code = "assignment_incomplete"


class NotPossibleNow(JudgingError):
    """A lead's step does not fit what the pair or batch is by now."""

    code = "not_possible_now"


class NotReviewable(JudgingError):
    """The batch is not waiting for the lead."""

    code = "not_reviewable"


class AlreadyReviewed(NotReviewable):
    """Somebody else has decided about the query."""

    code = "already_reviewed"


class NothingBeyond(NotReviewable):
    """No candidate is left for a second batch."""

    code = "nothing_beyond"


class ReviewStands(JudgingError):
    """What followed from a decision has been begun, so it is not taken back."""

    code = "review_stands"


class InvitationUnknown(JudgingError):
    """No invitation has this secret."""

    status = 404
    code = "invitation_unknown"


class InvitationGone(JudgingError):
    """The invitation has expired, was used, or was revoked."""

    status = 410
    code = "invitation_gone"


class GuidelineStale(JudgingError):
    """There is a newer version of the guideline than the one at hand."""

    code = "guideline_stale"


class PolicyStale(JudgingError):
    """There is a newer version of the policy than the one looked at."""

    code = "policy_stale"


class GateTooShort(JudgingError):
    """The gate has fewer questions than it asks."""

    code = "gate_too_short"


class GateClosed(JudgingError):
    """There is no test to take, or this person may not take it."""

    code = "gate_closed"


class AnswersIncomplete(JudgingError):
    """A question of the test has no answer, or one that was not offered."""

    status = 422
    code = "answers_incomplete"


class Unfinished(JudgingError):
    """Some people have not given all their grades for the exam; closing it must be confirmed."""

    code = "unfinished"

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = list(numbers)
        who = ", ".join(map(str, self.numbers))
        people = "Annotator" if len(self.numbers) == 1 else "Annotators"
        verb = "has" if len(self.numbers) == 1 else "have"
        super().__init__(f"{people} {who} {verb} not handed in all grades yet.")


class TooFewPairs(JudgingError):
    """There are too few pairs of known truth that serve, or that the person has never seen."""

    code = "too_few_pairs"


class WarmUpDue(JudgingError):
    """The session begins with a warm-up."""

    code = "warm_up_due"


class SittingOver(JudgingError):
    """The sitting takes no (more) grades of this kind: it was handed in, its exam was closed, or it is done."""

    code = "sitting_over"
