"""Suspended, back, qualified by a lead's word, gone, forgotten."""

from collections.abc import Callable

import pytest

from accounts.models import Membership, User
from accounts.services.members import status_change
from core.exceptions import NotPossible
from judging.exceptions import NotPossibleNow
from judging.models import Judgment
from judging.people.services import (
    annotator_erase,
    annotator_leave,
    annotator_password_link,
    annotator_qualify,
    annotator_reinstate,
    annotator_suspend,
)
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    UserFactory,
    lead,
)

pytestmark = pytest.mark.django_db
Act = Callable[..., object]


@pytest.fixture
def member() -> Membership:
    return MembershipFactory()  # type: ignore[no-any-return]


@pytest.fixture
def chief(member: Membership) -> User:
    return lead(member.project)


def now(member: Membership) -> Membership:
    return Membership.objects.select_related("user", "project").get(pk=member.pk)


@pytest.mark.parametrize(("act", "to"), [(annotator_suspend, "suspended"), (annotator_leave, "left")])
def test_who_is_taken_off_gives_back_what_they_hold(member: Membership, chief: User, act: Act, to: str) -> None:
    assignment = AssignmentFactory(batch=BatchFactory(query__project=member.project), annotator=member.user)
    JudgmentFactory(assignment=assignment)
    act(membership=member, actor=chief, reason="Away")
    assignment.refresh_from_db()
    assert (assignment.state, now(member).status) == ("returned", to)
    assert Judgment.objects.filter(assignment=assignment).count() == 1


@pytest.mark.parametrize("step", ["exam", "qualified"])
def test_who_is_reinstated_goes_on_where_they_were(chief: User, step: str) -> None:
    other = MembershipFactory(status="training")
    status_change(membership=other, to=step, actor=None)
    annotator_suspend(membership=other, actor=chief, reason="Too fast")
    annotator_leave(membership=now(other), actor=chief)
    assert annotator_reinstate(membership=now(other), actor=chief, reason="Talked").status == step


def test_a_leads_word_qualifies_with_its_reason(chief: User, member: Membership) -> None:
    new = MembershipFactory(project=member.project, status="candidate")
    for act in (annotator_suspend, annotator_qualify):
        with pytest.raises(NotPossibleNow, match="Say why"):
            act(membership=new, actor=chief, reason="  ")
    with pytest.raises(NotPossibleNow, match="needs no way back"):
        annotator_reinstate(membership=new, actor=chief, reason="x")
    assert now(new).status == "candidate"
    annotator_qualify(membership=new, actor=chief, reason="Judged TVR for a year")
    change = new.status_changes.get()
    assert (change.to_status, change.actor, change.reason) == ("qualified", chief, "Judged TVR for a year")


class TestErased:
    def test_nobody_comes_back_as_them(self, member: Membership, chief: User) -> None:
        other = MembershipFactory(user=member.user)
        MembershipFactory(project=other.project, user=chief, role="lead")
        for _ in range(2):
            annotator_erase(membership=now(member), actor=chief)
        assert now(other).status == "left"
        for act in (annotator_reinstate, annotator_qualify):
            with pytest.raises(NotPossibleNow, match="erased"):
                act(membership=now(member), actor=chief, reason="x")
        with pytest.raises(NotPossibleNow, match="Nobody logs in"):
            annotator_password_link(membership=now(member), actor=chief)


@pytest.mark.parametrize("role", ["annotator", "lead", "admin"])
@pytest.mark.parametrize("act", [annotator_erase, annotator_password_link])
def test_an_account_of_another_leads_project_is_not_touched(
    member: Membership, chief: User, role: str, act: Act
) -> None:
    """A link to a new password would be a way into that project."""
    MembershipFactory(user=member.user, role=role)
    with pytest.raises(NotPossible):
        act(membership=member, actor=chief)
    assert now(member).user.is_active and now(member).status == "qualified"


def test_a_lead_of_the_other_project_only_is_refused() -> None:
    member = MembershipFactory(project=ProjectFactory())
    stranger = MembershipFactory(user=UserFactory(), role="lead").user
    with pytest.raises(NotPossible):
        annotator_erase(membership=member, actor=stranger)
