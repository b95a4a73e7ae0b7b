"""The way of an annotator, taken as far as it goes by itself: what is passed, confirmed and done decides."""

from django.db import transaction

from annotation.models import Membership, Project, User
from annotation.services.members import standing_change
from judging.models import GateAttempt, KnownPair, Sitting
from judging.selectors.annotator import readiness
from judging.services.policies import policy_in_force

Standing = Membership.Standing


@transaction.atomic
def way_advance(*, project: Project, annotator: User) -> Membership | None:
    """Take an annotator the steps that are theirs by now; None for who is no annotator of the project."""
    members = Membership.objects.select_for_update(of=("self",)).select_related("project", "user")
    member = members.filter(project=project, user=annotator, role=Membership.Role.ANNOTATOR).first()
    if member is None:
        return None
    if member.standing == Standing.CANDIDATE and gate_is_behind(project=project, annotator=annotator):
        member = standing_change(membership=member, to=Standing.TRAINING, actor=None, reason="The gate is behind them.")
    if member.standing == Standing.TRAINING and training_is_done(project=project, annotator=annotator):
        member = standing_change(membership=member, to=Standing.EXAM, actor=None, reason="Training is done.")
    return member


def gate_is_behind(*, project: Project, annotator: User) -> bool:
    """Whether the multiple-choice test is passed, or the project has none."""
    if not policy_in_force(project.pk).gate_is_open:
        return True
    attempts = GateAttempt.objects.filter(project=project, annotator=annotator)
    return any(attempt.passed for attempt in attempts)


def training_is_done(*, project: Project, annotator: User) -> bool:
    """Whether the guideline in force is confirmed and the tutorial, if there is one, gone through."""
    if not readiness(project_id=project.pk, annotator_id=annotator.pk).confirmed:
        return False
    tutorial = KnownPair.objects.filter(project=project, tutorial_position__isnull=False, is_retired=False)
    if not tutorial.exists():
        return True
    done = Sitting.objects.filter(
        project=project, annotator=annotator, purpose=Sitting.Purpose.TUTORIAL, state=Sitting.State.DONE
    )
    return done.exists()
