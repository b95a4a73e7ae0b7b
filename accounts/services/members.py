"""People and their roles in a project."""

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.dispatch import Signal

from accounts.models import Identity, Membership, Project, StatusChange, User
from accounts.rules import may_become, may_combine, roles_in_order, roles_text
from core.audit import audit_record
from core.exceptions import NotPossible

logger = logging.getLogger(__name__)
Role, Status = Membership.Role, Membership.Status
ALONE = "Annotators and participants have no other role in their project: they must not see what the others see."
role_requested = Signal()  # of ``project``, ``user``, ``roles``, before they are theirs; a receiver raises NotPossible


def project_create(*, name: str, **fields: Any) -> Project:
    return Project.objects.create(name=name, **fields)


@transaction.atomic
def member_add(
    *,
    project: Project,
    user: User,
    roles: Collection[str],
    actor: User | None = None,
    status: str = Status.CANDIDATE,
    reason: str = "",
) -> Membership:
    """Make somebody a member of a project; annotators get the next free number, and begin as candidates.

    Raises:
        NotPossible: they are a member already, the roles do not combine, or they must not have one of these.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    if Membership.objects.filter(project=project, user=user).exists():
        raise NotPossible(f"{user.username} has a role in {project.name!r} already.")
    if not may_combine(roles):
        raise NotPossible(f"Nobody can be {roles_text(roles) or 'without a role'} in one project. {ALONE}")
    role_requested.send(sender=Membership, project=project, user=user, roles=roles)
    judges = Role.ANNOTATOR in roles
    number = None
    if judges:
        number = (project.memberships.aggregate(highest=Max("number"))["highest"] or 0) + 1
    member = Membership.objects.create(
        project=project, user=user, roles=roles_in_order(roles), number=number, status=status if judges else ""
    )
    if judges:
        StatusChange.objects.create(membership=member, to_status=status, actor=actor, reason=reason)
    data = {"role": roles_text(roles), "number": number}
    audit_record(project=project, actor=actor, action="member.add", subject=user.uuid, **data)
    return member


@transaction.atomic
def role_add(*, project: Project, user: User, role: str, actor: User | None = None, **joining: Any) -> Membership:
    """Give somebody a role in a project: as a new member (``joining``: see ``member_add``), or beside their others.

    Raises:
        NotPossible: they have this role already, it does not combine with theirs, or they must not have it.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    member = Membership.objects.filter(project=project, user=user).select_related("project", "user").first()
    if member is None:
        return member_add(project=project, user=user, roles=[role], actor=actor, **joining)
    role_requested.send(sender=Membership, project=project, user=user, roles=[role])
    if refusal := role_refusal(member, role):
        raise NotPossible(refusal)
    member.roles = roles_in_order([*member.roles, role])
    member.save(update_fields=["roles"])
    data = {"role": role, "roles": roles_text(member.roles)}
    audit_record(project=project, actor=actor, action="member.role.add", subject=user.uuid, **data)
    return member


def role_refusal(member: Membership, role: str) -> str:
    """Say why a member cannot have this role beside theirs; empty where they can."""
    if role in member.roles:
        return f"{member.user.username} has a role in {member.project.name!r} already: {member.label}."
    if not may_combine([*member.roles, role]):
        return (
            f"{member.user.username} has a role in {member.project.name!r} already, {member.label}, and cannot be"
            f" {role} as well. {ALONE}"
        )
    return ""


@transaction.atomic
def role_remove(*, membership: Membership, role: str, actor: User | None) -> Membership:
    """Take one of several roles from a member. Repeating it changes nothing.

    Raises:
        NotPossible: it is their only role, or nobody else leads the project.
    """
    Project.objects.select_for_update().get(pk=membership.project_id)
    member = Membership.objects.select_related("project", "user").get(pk=membership.pk)
    if role not in member.roles:
        return member
    if role == Role.LEAD and not leads_besides(member):
        raise NotPossible(f"Nobody else leads {member.project.name!r}. Give it another lead first.")
    if len(member.roles) == 1:
        raise NotPossible(
            f"{member.user.username} is {role} and nothing else. Give them another role first; whoever has seen"
            " captions stays a member, so that they do not come back as an annotator."
        )
    member.roles = [other for other in member.roles if other != role]
    member.save(update_fields=["roles"])
    data = {"role": role, "roles": roles_text(member.roles)}
    audit_record(project=member.project, actor=actor, action="member.role.remove", subject=member.user.uuid, **data)
    return member


def leads_besides(member: Membership) -> bool:
    """Whether somebody else, who can log in, leads the project."""
    leads = Membership.objects.filter(project=member.project_id, roles__contains=[Role.LEAD], user__is_active=True)
    return leads.exclude(pk=member.pk).exists()


@transaction.atomic
def status_change(*, membership: Membership, to: str, actor: User | None, reason: str = "") -> Membership:
    """Give an annotator another status; who did it and why are kept. Repeating it changes nothing.

    Raises:
        NotPossible: this status does not follow the present one.
    """
    member = Membership.objects.select_for_update(of=("self",)).select_related("project").get(pk=membership.pk)
    if member.status == to:
        return member
    if not member.is_annotator or not may_become(member.status, to):
        raise NotPossible(f"{member.label.capitalize()} is {member.status or 'no annotator'} and cannot become {to}.")
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
        leads = User.objects.filter(memberships__roles__contains=[Role.LEAD]).distinct()[:2]
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
    values = {"roles": [Role.ANNOTATOR], "status": Status.LEFT}
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
