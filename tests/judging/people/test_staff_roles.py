"""Several roles of one person, on the pages: by an invitation, and by another lead."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from accounts.services.identities import identity_set
from core.exceptions import NotPossible
from judging.models import Invitation
from judging.people.services import invitation_accept, invitation_create, staff_role_change
from tests.factories import JudgmentFactory, MembershipFactory, ProjectFactory, admin, annotator, lead

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return ProjectFactory(name="films")  # type: ignore[no-any-return]


@pytest.fixture
def chief(project: Project, client: Client) -> User:
    person = lead(project)
    client.force_login(person)
    return person


def body(answer: HttpResponse) -> str:
    return answer.content.decode()


def link_for(project: Project, role: str) -> str:
    return invitation_create(project=project, actor=lead(project), role=role)[1]


def change(client: Client, project: Project, person: User, role: str, kind: str) -> HttpResponse:
    form = {"person": person.uuid, "role": role, "change": kind}
    return client.post(reverse("judging:staff-role", args=[project.uuid]), form)  # type: ignore[return-value]


class TestInvitations:
    @pytest.mark.parametrize(("role", "other"), [("lead", "admin"), ("admin", "lead")])
    def test_one_to_the_other_staff_role_widens_the_membership(
        self, client: Client, project: Project, role: str, other: str
    ) -> None:
        member = MembershipFactory(project=project, role=role)
        link = link_for(project, other)
        client.force_login(member.user)
        page = body(client.get(link))
        assert f"You are {role} of this project. This invitation makes you {other} as well" in page
        answer = client.post(link, follow=True)
        assert "You are lead and admin of films." in body(answer) and "Welcome" not in body(answer)
        member.refresh_from_db()
        assert member.roles == ["lead", "admin"]
        assert Invitation.objects.get().accepted_by == member.user
        assert project.audit_events.filter(action="member.role.add", actor=member.user).count() == 1

    def test_one_to_a_role_they_have_says_so_and_is_not_used_up(self, client: Client, project: Project) -> None:
        link = link_for(project, "lead")
        client.force_login(lead(project))
        for answer in (client.get(link), client.post(link)):
            assert "There is nothing to join" in body(answer)
        assert Invitation.objects.get().accepted_at is None

    @pytest.mark.parametrize(
        ("role", "other"),
        [("annotator", "lead"), ("annotator", "admin"), ("participant", "lead"), ("lead", "annotator"),
         ("admin", "participant"), ("participant", "annotator")],
    )  # fmt: skip
    def test_one_that_would_mix_what_stands_alone_is_refused(
        self, client: Client, project: Project, role: str, other: str
    ) -> None:
        member, link = MembershipFactory(project=project, role=role), link_for(project, other)
        client.force_login(member.user)
        for answer in (client.get(link), client.post(link)):
            assert f"you cannot be {other} as well" in body(answer)
        with pytest.raises(NotPossible, match=f"cannot be {other} as well"):
            invitation_accept(secret=link.split("/")[2], person=member.user)
        member.refresh_from_db()
        assert (member.roles, Invitation.objects.get().accepted_at) == ([role], None)

    def test_who_has_grades_accepts_no_staff_role(self, project: Project) -> None:
        judgment = JudgmentFactory(assignment__batch__query__project=project)
        link = link_for(project, "admin")
        with pytest.raises(NotPossible, match="has grades in 'films'"):
            invitation_accept(secret=link.split("/")[2], person=judgment.annotator)
        assert Invitation.objects.get().accepted_at is None

    def test_one_by_mail_goes_to_a_member_where_it_widens_and_is_refused_else(self, project: Project) -> None:
        for person, address in ((admin(project), "admin@example.org"), (annotator(project), "ann@example.org")):
            identity_set(user=person, name="A Person", email=address)
        invitation_create(project=project, actor=lead(project), role="lead", email="admin@example.org")
        for role, address in (("admin", "admin@example.org"), ("lead", "ann@example.org")):
            with pytest.raises(NotPossible, match="has a role"):
                invitation_create(project=project, actor=lead(project), role=role, email=address)
        assert Invitation.objects.count() == 1


@pytest.mark.usefixtures("chief")
class TestByALead:
    def test_roles_are_shown_and_changed(self, client: Client, project: Project) -> None:
        person, people = admin(project), reverse("judging:people", args=[project.uuid])
        assert "Make lead as well" in body(client.get(people))
        assert "is lead and admin of this project now" in body(
            client.get(change(client, project, person, "lead", "add").headers["Location"])
        )
        assert person.memberships.get().roles == ["lead", "admin"]
        page = body(client.get(people))
        assert '<span class="state">lead</span> <span class="state">admin</span>' in page
        change(client, project, person, "admin", "remove")
        assert person.memberships.get().roles == ["lead"]

    def test_an_address_followed_by_hand_leads_back(self, client: Client, project: Project) -> None:
        answer = client.get(reverse("judging:staff-role", args=[project.uuid]))
        assert answer.headers["Location"] == reverse("judging:people", args=[project.uuid])

    @pytest.mark.parametrize(
        ("role", "change_of", "message"),
        [
            ("admin", ("admin", "remove"), "is admin and nothing else"),
            ("admin", ("admin", "add"), "has a role in &#x27;films&#x27; already"),
            ("annotator", ("lead", "add"), "cannot be lead as well"),
            ("participant", ("admin", "add"), "cannot be admin as well"),
        ],
    )
    def test_what_is_not_possible_is_refused(
        self, client: Client, project: Project, role: str, change_of: tuple[str, str], message: str
    ) -> None:
        member = MembershipFactory(project=project, role=role)
        answer = change(client, project, member.user, *change_of)
        assert (answer.status_code, message in body(answer)) == (409, True)
        assert member.user.memberships.get().roles == [role]

    def test_who_has_grades_stays_what_they_are(self, client: Client, project: Project) -> None:
        judgment = JudgmentFactory(assignment__batch__query__project=project)
        answer = change(client, project, judgment.annotator, "lead", "add")
        assert (answer.status_code, "has grades in" in body(answer)) == (409, True)

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ({"role": "annotator"}, "Lead, admin, writer and checker alone"),
            ({"change": "swap"}, "Add the role, or remove it."),
            ({"person": "nobody"}, "Choose a person."),
            ({"person": ""}, "Choose whose roles change."),
        ],
    )
    def test_a_form_that_makes_no_sense(
        self, client: Client, project: Project, form: dict[str, str], message: str
    ) -> None:
        values = {"person": str(admin(project).uuid), "role": "lead", "change": "add", **form}
        answer = client.post(reverse("judging:staff-role", args=[project.uuid]), values)
        assert (answer.status_code, message in body(answer)) == (422, True)  # type: ignore[arg-type]
        assert not Membership.objects.filter(roles=["lead", "admin"]).exists()

    def test_somebody_of_another_project_is_nobody_here(self, client: Client, project: Project) -> None:
        assert change(client, project, admin(ProjectFactory()), "lead", "add").status_code == 404

    def test_nobody_changes_their_own(self, client: Client, project: Project, chief: User) -> None:
        answer = change(client, project, chief, "admin", "add")
        assert (answer.status_code, "changed by another lead" in body(answer)) == (409, True)
        with pytest.raises(NotPossible, match="Only lead and admin"):
            staff_role_change(
                membership=admin(project).memberships.get(), role="annotator", is_theirs=True, actor=chief
            )
