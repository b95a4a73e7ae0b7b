"""People and their roles in a project."""

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


def _next_number(project: Project) -> int:
    highest = project.memberships.aggregate(highest=Max("number"))["highest"]
    return 1 if highest is None else highest + 1
