"""Whether a session begins with a warm-up."""

from datetime import datetime
from enum import StrEnum
from random import SystemRandom

from annotation.models import Project, User
from judging import selectors
from judging.exceptions import TooFewPairs
from judging.models import Policy
from judging.services.policies import policy_in_force
from judging.services.sittings.starting import session_begins, warm_up_pairs


class WarmUp(StrEnum):
    NO = "no"
    DUE = "due"
    TOO_FEW = "too few"  # due, but too few pairs are left that the person has never seen


def warm_up_due(*, project: Project, annotator: User, policy: Policy, now: datetime) -> WarmUp:
    """Whether the person sits a warm-up before they are handed the next batch."""
    if not policy.warm_up:
        return WarmUp.NO
    if selectors.work_lately(project_id=project.pk, annotator_id=annotator.pk, since=now).warming_up:
        return WarmUp.DUE
    if not session_begins(project_id=project.pk, annotator_id=annotator.pk, policy=policy, now=now):
        return WarmUp.NO
    try:
        warm_up_pairs(project.pk, annotator.pk, seed=SystemRandom().randrange(2**31))
    except TooFewPairs:
        return WarmUp.TOO_FEW
    return WarmUp.DUE


def warm_up_lacks(*, project: Project, annotator: User, now: datetime) -> bool:
    """Whether a session goes without the warm-up it should begin with, for want of pairs."""
    policy = policy_in_force(project.pk)
    return warm_up_due(project=project, annotator=annotator, policy=policy, now=now) == WarmUp.TOO_FEW
