"""People and their roles in a project."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max

from annotation.exceptions import NotPossible
from annotation.models import Membership, Project, User
from annotation.services.audit import audit_record


@transaction.atomic
def member_add(*, project: Project, user: User, role: str, actor: User | None = None) -> Membership:
    """Give somebody their role in a project; annotators get the next free number.

    Raises:
        NotPossible: they have a role in it already.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    if Membership.objects.filter(project=project, user=user).exists():
        raise NotPossible(f"{user.username} has a role in {project.name!r} already.")
    number = _next_number(project) if role == Membership.Role.ANNOTATOR else None
    member = Membership.objects.create(project=project, user=user, role=role, number=number)
    audit_record(project=project, actor=actor, action="member.add", subject=user.uuid, role=role, number=number)
    return member


def leads_named(usernames: Sequence[str]) -> list[User]:
    """Who is to lead a new project: the people named, else the installation's only lead, else nobody yet.

    Raises:
        NotPossible: somebody named has no account.
    """
    if not usernames:
        leads = User.objects.filter(memberships__role=Membership.Role.LEAD).distinct()[:2]
        return list(leads) if len(leads) == 1 else []
    found = {user.username: user for user in User.objects.filter(username__in=usernames)}
    if missing := [name for name in usernames if name not in found]:
        raise NotPossible(f"There is no account named {', '.join(map(repr, missing))}.")
    return list(found.values())


def _next_number(project: Project) -> int:
    highest = project.memberships.aggregate(highest=Max("number"))["highest"]
    return 1 if highest is None else highest + 1
