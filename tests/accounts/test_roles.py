"""Which roles one person may have in a project: the rule, the database, and what roles together open."""

from itertools import chain, combinations, product

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from accounts.access import EVERYONE, LEAD
from accounts.menu import first_page, menu_of
from accounts.models import Membership
from accounts.rules import ROLES, may_combine, roles_in_order
from accounts.services.members import member_add, role_add, role_remove
from core.exceptions import NotPossible
from tests.factories import JudgmentFactory, MembershipFactory, ProjectFactory, UserFactory, annotator, lead

SUBSETS = list(chain.from_iterable(combinations(ROLES, size) for size in range(len(ROLES) + 1)))
LISTS = list(chain.from_iterable(product(ROLES, repeat=size) for size in range(4)))  # in any order, with repeats


def database_takes(roles: tuple[str, ...]) -> bool:
    """Whether the database takes the roles, as those of an annotator or of somebody else."""
    for number, status in ((1, "candidate"), (None, "")):
        try:
            with transaction.atomic():
                Membership.objects.create(
                    project=ProjectFactory(), user=UserFactory(), roles=list(roles), number=number, status=status
                )
        except IntegrityError:
            continue
        return True
    return False


def test_the_rule_knows_the_roles_of_the_table() -> None:
    assert list(ROLES) == Membership.Role.values


def test_annotator_and_participant_stand_alone_and_all_others_combine() -> None:
    for roles in SUBSETS:
        alone = {"annotator", "participant"} & set(roles)
        assert may_combine(roles) == (bool(roles) and (not alone or len(set(roles)) == 1))


@pytest.mark.django_db
@pytest.mark.parametrize("roles", LISTS, ids=",".join)
def test_the_database_takes_what_may_combine_each_once_and_in_order(roles: tuple[str, ...]) -> None:
    assert database_takes(roles) == (may_combine(roles) and list(roles) == roles_in_order(roles))


@pytest.mark.django_db
class TestServices:
    @pytest.mark.parametrize("roles", SUBSETS, ids=",".join)
    def test_a_member_gets_what_may_combine(self, roles: tuple[str, ...]) -> None:
        project, person = ProjectFactory(), UserFactory()
        if may_combine(roles):
            assert member_add(project=project, user=person, roles=roles[::-1]).roles == list(roles)
            return
        with pytest.raises(NotPossible, match="Nobody can be"):
            member_add(project=project, user=person, roles=roles)
        assert not project.memberships.exists()

    def test_a_further_role_comes_in_order_and_is_recorded(self) -> None:
        member, actor = MembershipFactory(role="admin"), UserFactory()
        role_add(project=member.project, user=member.user, role="lead", actor=actor)
        member.refresh_from_db()
        assert (member.roles, member.label) == (["lead", "admin"], "lead and admin")
        event = member.project.audit_events.get(action="member.role.add")
        assert (event.actor, event.subject) == (actor, member.user.uuid)
        assert event.data == {"role": "lead", "roles": "lead and admin"}

    @pytest.mark.parametrize(
        ("role", "other"), [(a, b) for a in ROLES for b in ROLES if a == b or {a, b} & {"annotator", "participant"}]
    )
    def test_a_role_that_does_not_join_theirs_is_refused(self, role: str, other: str) -> None:
        member = MembershipFactory(role=role)
        with pytest.raises(NotPossible, match="has a role in"):
            role_add(project=member.project, user=member.user, role=other)
        assert Membership.objects.get().roles == [role]

    @pytest.mark.parametrize("role", ["lead", "admin", "writer", "checker"])
    def test_who_has_grades_gets_no_role_that_sees_others(self, role: str) -> None:
        judgment = JudgmentFactory()
        project, person = judgment.assignment.project, judgment.annotator
        with pytest.raises(NotPossible, match="has grades in"):
            role_add(project=project, user=person, role=role)
        assert role_add(project=ProjectFactory(), user=person, role=role).roles == [role]
        person.memberships.filter(project=project).delete()
        with pytest.raises(NotPossible, match="has grades in"):
            member_add(project=project, user=person, roles=[role])
        assert member_add(project=project, user=person, roles=["annotator"]).is_annotator

    def test_a_role_is_taken_and_the_others_stay(self) -> None:
        member = MembershipFactory(roles=["lead", "admin"])
        lead(member.project)
        for _ in range(2):
            assert role_remove(membership=member, role="lead", actor=None).roles == ["admin"]
        event = member.project.audit_events.get(action="member.role.remove")
        assert event.data == {"role": "lead", "roles": "admin"}

    def test_the_last_lead_and_an_only_role_stay(self) -> None:
        member = MembershipFactory(roles=["lead", "admin"])
        inactive = MembershipFactory(project=member.project, role="lead", user__is_active=False)
        with pytest.raises(NotPossible, match="Nobody else leads"):
            role_remove(membership=member, role="lead", actor=None)
        with pytest.raises(NotPossible, match="is lead and nothing else"):
            role_remove(membership=inactive, role="lead", actor=None)
        assert Membership.objects.filter(roles__contains=["lead"]).count() == 2


@pytest.mark.django_db
class TestAccess:
    def test_any_of_the_roles_opens_a_page_and_the_menu_has_the_menu_of_all_once(
        self, client: Client, settings: Settings
    ) -> None:
        settings.MENU = {
            "lead": {"Judging": [("Overview", "judging:overview"), ("Pay", "judging:pay")]},
            "admin": {"Judging": [("Overview", "judging:overview"), ("Features", "models_runner:features")]},
        }
        member = MembershipFactory(roles=["lead", "admin"])
        assert [page.label for group in menu_of(member) for page in group.pages] == ["Overview", "Pay", "Features"]
        client.force_login(member.user)
        assert client.get("/").headers["Location"] == first_page(member)
        for name in ("judging:people", "models_runner:features"):  # of leads; of admins
            page = client.get(reverse(name, args=[member.project.uuid]))
            assert page.status_code == 200
            assert ">Overview</a>" in page.content.decode()
            assert "Lead and admin</a>" in page.content.decode()

    def test_the_roles_of_a_person_with_one_open_no_more_than_before(self) -> None:
        project = ProjectFactory()
        assert annotator(project).memberships.get().has(EVERYONE)
        assert not annotator(project).memberships.get().has(LEAD)
        assert not MembershipFactory(role="participant").has(EVERYONE)

    @pytest.mark.parametrize("required", ["lead", "admin"])
    def test_each_role_may_require_the_second_step(self, client: Client, settings: Settings, required: str) -> None:
        settings.TOTP_REQUIRED_FOR = [required]
        member = MembershipFactory(roles=["lead", "admin"])
        client.force_login(member.user)
        assert client.get(reverse("judging:overview", args=[member.project.uuid])).status_code == 302
