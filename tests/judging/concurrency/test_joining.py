"""Joining, and being suspended, at the same time."""

from typing import Any

import pytest

from accounts.models import Membership, User
from accounts.services import members
from accounts.services.identities import NewAccount
from core.exceptions import NotPossible
from judging.exceptions import InvitationGone, NotQualified
from judging.models import Assignment, Batch
from judging.people import services
from tests.factories import BatchFactory, MembershipFactory, ProjectFactory, annotator, lead
from tests.judging.concurrency.meeting import Meet, Work, taking

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_is_suspended_while_they_take_gives_it_back(meet: Meet) -> None:
    """The taking has its row; the suspension waits for it to commit."""
    batch = BatchFactory()
    person, chief = annotator(batch.project), lead(batch.project)
    member = Membership.objects.get(user=person)

    def suspending() -> Any:
        return services.annotator_suspend(membership=member, actor=chief, reason="Too fast")

    assignment, suspended = meet((Batch, "save"), taking(batch, person), suspending)
    assert (assignment.state, suspended.status) == ("open", "suspended")
    assert Assignment.objects.get().state == Assignment.State.RETURNED


def test_who_is_suspended_first_takes_nothing(meet: Meet) -> None:
    batch = BatchFactory()
    person, chief = annotator(batch.project), lead(batch.project)
    member = Membership.objects.get(user=person)

    def suspending() -> Any:
        return services.annotator_suspend(membership=member, actor=chief, reason="Too fast")

    suspended, refused = meet((services, "assignment_return"), suspending, taking(batch, person))
    assert suspended.status == "suspended"
    assert isinstance(refused, NotQualified)
    assert not Assignment.objects.exists()


def test_one_invitation_lets_one_person_join(meet: Meet) -> None:
    project = ProjectFactory()
    _, path = services.invitation_create(project=project, actor=lead(project), role="annotator")
    secret = path.split("/")[2]

    def joining(name: str) -> Work:
        new = NewAccount(name, "a long password", name)
        return lambda: services.invitation_accept(secret=secret, person=new)

    member, refused = meet((services, "role_add"), joining("first"), joining("second"))
    assert member.user.username == "first"
    assert isinstance(refused, InvitationGone)
    assert project.memberships.filter(roles=["annotator"]).count() == 1
    assert not User.objects.filter(username="second").exists()


def test_two_leads_cannot_take_the_role_from_each_other(meet: Meet) -> None:
    """The second waits for the first, and finds that nobody else would lead."""
    first = MembershipFactory(roles=["lead", "admin"])
    second = MembershipFactory(project=first.project, roles=["lead", "admin"])

    def removing(member: Membership, actor: Membership) -> Work:
        change = {"membership": member, "role": "lead", "is_theirs": False, "actor": actor.user}
        return lambda: services.staff_role_change(**change)

    meeting = (members, "audit_record")
    member, refused = meet(meeting, removing(second, actor=first), removing(first, actor=second))
    assert member.roles == ["admin"]
    assert isinstance(refused, NotPossible) and "Nobody else leads" in str(refused)
    assert Membership.objects.get(roles__contains=["lead"]) == first


def test_one_user_name_for_two_who_register(meet: Meet) -> None:
    project = ProjectFactory(registration_is_open=True)
    new = NewAccount("first", "a long password", "First")

    def joining() -> Any:
        return services.registration_join(project_uuid=project.uuid, person=new)

    member, refused = meet((services, "member_add"), joining, joining)
    assert member.number == 1
    assert isinstance(refused, NotPossible)
    assert User.objects.filter(username="first").count() == 1
