"""People and their roles in a project."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from accounts.models import Identity, Membership, Project, StatusChange, User
from accounts.rules import may_become
from core.audit import audit_record
from core.exceptions import NotPossible

logger = logging.getLogger(__name__)
Status = Membership.Status


def project_create(*, name: str, **fields: Any) -> Project:
    return Project.objects.create(name=name, **fields)


@transaction.atomic
def member_add(
    *,
    project: Project,
    user: User,
    role: str,
    actor: User | None = None,
    status: str = Status.CANDIDATE,
    reason: str = "",
) -> Membership:
    """Give somebody their role in a project; annotators get the next free number, and begin as candidates.

    Raises:
        NotPossible: they have a role in it already.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    if Membership.objects.filter(project=project, user=user).exists():
        raise NotPossible(f"{user.username} has a role in {project.name!r} already.")
    judges = role == Membership.Role.ANNOTATOR
    number = None
    if judges:
        number = (project.memberships.aggregate(highest=Max("number"))["highest"] or 0) + 1
    member = Membership.objects.create(
        project=project, user=user, role=role, number=number, status=status if judges else ""
    )
    if judges:
        StatusChange.objects.create(membership=member, to_status=status, actor=actor, reason=reason)
    audit_record(project=project, actor=actor, action="member.add", subject=user.uuid, role=role, number=number)
    return member


@transaction.atomic
def status_change(*, membership: Membership, to: str, actor: User | None, reason: str = "") -> Membership:
    """Give an annotator another status; who did it and why are kept. Repeating it changes nothing.

    Raises:
        NotPossible: this status does not follow the present one.
    """
    member = Membership.objects.select_for_update(of=("self",)).select_related("project").get(pk=membership.pk)
    if member.status == to:
        return member
    if member.role != Membership.Role.ANNOTATOR or not may_become(member.status, to):
        raise NotPossible(f"{member.label.capitalize()} is {member.status or member.role} and cannot become {to}.")
    change = {"from_status": member.status, "to_status": to, "actor": actor, "reason": reason}
    StatusChange.objects.create(membership=member, **change)
    data = {"number": member.number, "was": member.status, "reason": reason}
    audit_record(project=member.project, actor=actor, action=f"annotator.{to}", subject=member.user.uuid, **data)
    logger.info("annotator %s of project %s: %s to %s", member.number, member.project_id, member.status, to)
    member.status = to
    member.save(update_fields=["status"])
    return member


def leads_named(usernames: Sequence[str]) -> list[User]:
    """Who is to lead a new project: the people named, else the installation's only lead, else nobody yet.

    Raises:
        NotPossible: somebody named has no account.
    """
    if not usernames:
        leads = User.objects.filter(memberships__role=Membership.Role.LEAD).distinct()[:2]
        return list(leads) if len(leads) == 1 else []
    users_by_name = {user.username: user for user in User.objects.filter(username__in=usernames)}
    if missing := [name for name in usernames if name not in users_by_name]:
        raise NotPossible(f"There is no account named {', '.join(map(repr, missing))}.")
    return list(users_by_name.values())


def placeholder_user(*, project: Project, name: object, prefix: str) -> User:
    """Create an account that nobody can log in as."""
    return User.objects.create_user(f"{prefix}-{project.uuid.hex[:8]}-{name}")


def placeholder_annotators(*, project: Project, workers: Iterable[int], prefix: str) -> dict[int, int]:
    """Make a placeholder account a member for each worker number; the key of each account by the number."""
    users = {worker: placeholder_user(project=project, name=worker, prefix=prefix) for worker in sorted(workers)}
    values = {"role": Membership.Role.ANNOTATOR, "status": Status.LEFT}
    members = (Membership(project=project, user=user, number=number, **values) for number, user in users.items())
    Membership.objects.bulk_create(members)
    return {worker: user.pk for worker, user in users.items()}


def simulated_user(name: str) -> User:
    """Create an account for a program that judges."""
    return User.objects.create_user(name, is_simulated=True)


def invited_create(*, name: str, email: str) -> Identity:
    """Keep who is invited, until they have an account."""
    return Identity.objects.create(user=None, name=name, email=email)


def invited_forget(identities: QuerySet[Identity]) -> int:
    """Delete those of ``identities`` that have no account; returns how many rows went."""
    return identities.filter(user=None).delete()[0]
