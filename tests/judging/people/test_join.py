"""Joining and leaving, as the person sees it."""

import logging

import pytest
from django.contrib.auth import get_user
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from accounts.services.identities import identity_set
from judging.models import Invitation
from judging.people.services import invitation_create, invitation_revoke
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    MembershipFactory,
    ProjectFactory,
    UserFactory,
    annotator,
    lead,
)

pytestmark = pytest.mark.django_db
FORM = {
    "username": "newcomer",
    "name": "New Comer",
    "email": "new@example.org",
    "password": "quite a long one",
    "again": "quite a long one",
}


@pytest.fixture
def project() -> Project:
    return ProjectFactory(name="a campaign")  # type: ignore[no-any-return]


@pytest.fixture
def link(project: Project) -> str:
    return invitation_create(project=project, actor=lead(project), role="annotator")[1]


def body(answer: HttpResponse) -> str:
    return answer.content.decode()


def who(client: Client) -> str:
    return str(get_user(client).username)  # type: ignore[arg-type]


class TestInvitation:
    def test_says_what_for_and_what_is_saved(self, client: Client, link: str) -> None:
        page = client.get(link)
        assert "a campaign" in body(page)
        assert "Only the leads of this project see them" in body(page)
        assert "exports carry only the number" in body(page)

    def test_no_other_page_learns_the_link(self, client: Client, link: str) -> None:
        headers = client.get(link).headers
        assert headers["Referrer-Policy"] == "strict-origin"
        assert "noindex" in headers["X-Robots-Tag"]
        assert headers["Cache-Control"] == "no-store"

    def test_leads_to_the_own_desk(self, client: Client, project: Project, link: str) -> None:
        answer = client.post(link, FORM)
        assert answer.headers["Location"] == reverse("judging:desk", args=[project.uuid])
        member = project.memberships.get(role="annotator")
        assert (member.number, member.standing, member.user.username) == (1, "candidate", "newcomer")
        assert who(client) == "newcomer"
        assert "You are annotator 1" in body(client.get(answer.headers["Location"]))

    def test_with_the_account_one_has(self, client: Client, project: Project, link: str) -> None:
        person = UserFactory(username="known")
        client.force_login(person)
        assert "Join as known" in body(client.get(link))
        client.post(link)
        assert project.memberships.get(user=person).number == 1

    def test_who_is_here_already_reads_so_and_uses_nothing_up(
        self, client: Client, project: Project, link: str
    ) -> None:
        client.force_login(annotator(project))
        for answer in (client.get(link), client.post(link)):
            assert "You are in this project already" in body(answer)
        assert Invitation.objects.get().accepted_at is None

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"username": ""}, "This field is required"),
            ({"username": "two words"}, "Enter a valid username"),
            ({"username": "nul\0l"}, "Null characters are not allowed"),
            ({"username": "x" * 151}, "at most 150 characters"),
            ({"username": "Taken"}, "This user name is taken"),
            ({"name": "nul\0l"}, "Null characters are not allowed"),
            ({"email": "nowhere"}, "Enter a valid email address"),
            ({"email": "Taken@Example.org"}, "belongs to another account"),
            ({"again": "quite another one"}, "The two passwords differ"),
            ({"password": "short", "again": "short"}, "too short"),
            ({"password": "password123", "again": "password123"}, "too common"),
            ({"username": "longername1", "password": "longername1", "again": "longername1"}, "too similar"),
        ],
    )
    def test_a_form_to_look_at_again(self, client: Client, link: str, change: dict[str, str], message: str) -> None:
        other = MembershipFactory(user__username="taken").user
        identity_set(user=other, name="", email="taken@example.org")
        answer = client.post(link, {**FORM, **change})
        assert answer.status_code == 422
        assert message in body(answer)
        assert "quite a long one" not in body(answer)
        assert Invitation.objects.get().accepted_at is None

    def test_sent_twice_it_arrives_once(self, client: Client, project: Project, link: str) -> None:
        first, second = client.post(link, FORM), Client().post(link, FORM)
        assert first.headers["Location"] == second.headers["Location"]
        assert project.memberships.filter(role="annotator").count() == 1

    def test_used_by_somebody_else(self, client: Client, link: str) -> None:
        client.post(link, FORM)
        answer = Client().post(link, {**FORM, "username": "another"})
        assert answer.status_code == 410
        assert "used already" in body(answer)

    def test_revoked(self, client: Client, project: Project, link: str) -> None:
        invitation_revoke(invitation=Invitation.objects.get(), actor=lead(project))
        assert client.get(link).status_code == 410

    @pytest.mark.parametrize("secret", ["nonsense", "%00", "%ff%fe", "x" * 3000, "..", "é"])
    def test_garbled(self, client: Client, secret: str) -> None:
        for answer in (client.get(f"/invitations/{secret}/"), client.post(f"/invitations/{secret}/", FORM)):
            assert answer.status_code == 404
        assert not User.objects.filter(username="newcomer").exists()

    def test_the_secret_is_not_logged(self, client: Client, link: str, caplog: pytest.LogCaptureFixture) -> None:
        client.post(link, FORM)
        with caplog.at_level(logging.INFO):
            assert Client().get(link).status_code == 410
            assert Client(enforce_csrf_checks=True).post(link, FORM).status_code == 403
        assert "/invitations/[secret]" in caplog.text
        assert link.split("/")[2] not in caplog.text

    def test_nothing_without_a_token(self, link: str) -> None:
        assert Client(enforce_csrf_checks=True).post(link, FORM).status_code == 403
        assert Invitation.objects.get().accepted_at is None


class TestRegistration:
    def test_closed_is_as_if_it_were_not_there(self, client: Client, project: Project) -> None:
        assert client.get(reverse("judging:join", args=[project.uuid])).status_code == 404
        assert "Take part" not in body(client.get(reverse("login")))

    def test_open(self, client: Client, project: Project) -> None:
        Project.objects.update(registration_is_open=True)
        page = reverse("judging:join", args=[project.uuid])
        assert page in body(client.get(reverse("login")))
        client.post(page, FORM)
        assert Membership.objects.get(user__username="newcomer").standing == "candidate"


class TestLeaving:
    def test_asks_then_gives_back_the_assignment(self, client: Client) -> None:
        assignment = AssignmentFactory(batch=BatchFactory())
        client.force_login(assignment.annotator)
        page = reverse("judging:leave-project", args=[assignment.project.uuid])
        assert "Leave the project" in body(client.get(page))
        client.post(page, {"reason": "Exams"})
        assignment.refresh_from_db()
        member = Membership.objects.get(user=assignment.annotator)
        assert (assignment.state, member.standing) == ("returned", "left")
        assert member.standing_changes.get().reason == "Exams"
        assert client.post(page).status_code == 302
        assert "You have left this project" in body(client.get(page))
        assert mail.outbox == []
