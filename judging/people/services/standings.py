"""What becomes of an annotator besides the way itself: suspended, back, qualified by a lead's word, gone, forgotten."""

from typing import Any

from django.db import transaction

from accounts.models import Membership, StandingChange, User
from accounts.rules import WAY
from accounts.services.identities import account_led_or_refused, identity_erase, identity_forget, password_link
from accounts.services.members import standing_change
from core.audit import audit_record
from judging.exceptions import NotPossibleNow
from judging.work.services.assignments import assignment_return

Standing = Membership.Standing
REASON_IS_KEPT = "Say why: the reason is kept with the change."
ERASED = "Name and account were erased; nobody can log in as this annotator any more."


@transaction.atomic
def annotator_suspend(*, membership: Membership, actor: User, reason: str) -> Membership:
    """No batch is handed to them until they are back; what they hold goes to others at once."""
    return _taken_off(membership, Standing.SUSPENDED, actor, _said(reason))


@transaction.atomic
def annotator_leave(*, membership: Membership, actor: User, reason: str = "") -> Membership:
    """They leave the project; grades, hours and number stay, what they hold goes to others at once."""
    return _taken_off(membership, Standing.LEFT, actor, reason.strip())


@transaction.atomic
def annotator_reinstate(*, membership: Membership, actor: User, reason: str) -> Membership:
    """Back to where they were before they were suspended or left.

    Raises:
        NotPossibleNow: they are on their way, or were forgotten.
    """
    if not membership.user.is_active:
        raise NotPossibleNow(ERASED)
    if membership.standing in WAY:
        raise NotPossibleNow(f"{membership.label.capitalize()} is {membership.standing} and needs no way back.")
    return standing_change(membership=membership, to=standing_before(membership), actor=actor, reason=_said(reason))


@transaction.atomic
def annotator_qualify(*, membership: Membership, actor: User, reason: str) -> Membership:
    """Qualified by the lead's word, whatever is left of training and exam."""
    if not membership.user.is_active:
        raise NotPossibleNow(ERASED)
    return standing_change(membership=membership, to=Standing.QUALIFIED, actor=actor, reason=_said(reason))


@transaction.atomic
def annotator_erase(*, membership: Membership, actor: User) -> None:
    """Forget who they are, and mark them as gone everywhere; numbers, judgments and pay stay."""
    account_led_or_refused(user=membership.user, lead=actor)
    for held in membership.user.memberships.select_related("user", "project").order_by("project"):
        if held.standing != Standing.LEFT:
            annotator_leave(membership=held, actor=actor, reason="Name and account erased.")
    identity_erase(user=membership.user, actor=actor, project=membership.project)


@transaction.atomic
def person_forget(*, user: User, actor: User | None, reason: str) -> None:
    """As ``annotator_erase``, of anybody of whatever role; for the site's commands and its retention.

    Raises:
        NotPossibleNow: they are the only lead of a project.
    """
    for held in user.memberships.select_related("user", "project").order_by("project"):
        others = held.project.memberships.filter(role=Membership.Role.LEAD, user__is_active=True).exclude(user=user)
        if user.is_active and held.role == Membership.Role.LEAD and not others.exists():
            raise NotPossibleNow(f"Nobody else leads {held.project.name!r}. Give it another lead first.")
        if held.role == Membership.Role.ANNOTATOR and held.standing != Standing.LEFT:
            _taken_off(held, Standing.LEFT, actor, reason)
    identity_forget(user=user, actor=actor, project=None, reason=reason)


@transaction.atomic
def annotator_password_link(*, membership: Membership, actor: User) -> str:
    """The path of a page where the annotator chooses a new password; whoever has it can, so it is for them alone.

    Raises:
        NotPossible: the account is not the lead's to touch.
        NotPossibleNow: it was erased, or is a program's.
    """
    account_led_or_refused(user=membership.user, lead=actor)
    if not membership.user.is_active or membership.user.is_simulated:
        raise NotPossibleNow("Nobody logs in with this account.")
    audit_record(
        project=membership.project,
        actor=actor,
        action="annotator.password-link",
        subject=membership.user.uuid,
        number=membership.number,
    )
    return password_link(membership.user)


ACTIONS: dict[str, Any] = {
    "suspend": annotator_suspend,
    "reinstate": annotator_reinstate,
    "qualify": annotator_qualify,
    "leave": annotator_leave,
}


def standing_before(membership: Membership) -> str:
    """The last step of the way itself."""
    if membership.standing in WAY:
        return membership.standing
    change = StandingChange.objects.filter(membership=membership, from_standing__in=WAY).last()
    return change.from_standing if change else Standing.CANDIDATE


def _taken_off(membership: Membership, to: str, actor: User | None, reason: str) -> Membership:
    changed = standing_change(membership=membership, to=to, actor=actor, reason=reason)
    assignment_return(project=membership.project, annotator=membership.user)
    return changed


def _said(reason: str) -> str:
    """Raises NotPossibleNow when there is no reason."""
    if not reason.strip():
        raise NotPossibleNow(REASON_IS_KEPT)
    return reason.strip()
