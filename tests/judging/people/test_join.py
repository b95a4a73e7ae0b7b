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
from judging.people.services import invitation_create
from tests.accounts.acts import give_phone
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
    **{"username": "newcomer", "name": "New Comer", "email": "new@example.org"},
    **{"password": "quite a long one", "again": "quite a long one"},
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
    def test_says_what_for_and_what_is_saved_and_no_other_page_learns_the_link(self, client: Client, link: str) -> None:
        page = client.get(link)
        assert "a campaign" in body(page)
        assert "Only the leads of this project see them" in body(page)
        assert "exports carry only the number" in body(page)
        assert page.headers["Referrer-Policy"] == "strict-origin"
        assert "noindex" in page.headers["X-Robots-Tag"]
        assert page.headers["Cache-Control"] == "no-store"

    def test_leads_to_the_own_desk(self, client: Client, project: Project, link: str) -> None:
        answer = client.post(link, FORM)
        assert answer.headers["Location"] == reverse("judging:desk", args=[project.uuid])
        member = project.memberships.get(roles=["annotator"])
        assert (member.number, member.status, member.user.username) == (1, "candidate", "newcomer")
        assert who(client) == "newcomer"
        assert "You are annotator 1" in body(client.get(answer.headers["Location"]))

    def test_with_the_account_one_has(self, client: Client, project: Project, link: str) -> None:
        person = UserFactory(username="known")
        client.force_login(here := annotator(project))
        for answer in (client.get(link), client.post(link)):
            assert "You are in this project already" in body(answer)
        assert Invitation.objects.get().accepted_at is None
        client.force_login(person)
        assert "Join as known" in body(client.get(link))
        client.post(link)
        assert project.memberships.get(user=person).number == here.memberships.get().number + 1

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"username": "nul\0l"}, "Null characters are not allowed"),
            ({"username": "Taken"}, "This user name is taken"),
            ({"email": "Taken@Example.org"}, "belongs to another account"),
            ({"again": "quite another one"}, "The two passwords differ"),
            ({"password": "short", "again": "short"}, "too short"),
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
        assert project.memberships.filter(roles=["annotator"]).count() == 1
        answer = Client().post(link, {**FORM, "username": "another"})
        assert (answer.status_code, "used already" in body(answer)) == (410, True)

    def test_sent_twice_with_another_password_it_is_a_wrong_log_in(self, client: Client, link: str) -> None:
        """Whoever finds a used link tries no more passwords there than at the log-in."""
        client.post(link, FORM)
        wrong = {**FORM, "password": "quite another one"}
        assert [Client().post(link, wrong).status_code for _ in range(6)] == [410] * 5 + [429]
        assert Client().post(link, FORM).status_code == 429

    def test_sent_twice_it_logs_in_nobody_whose_account_it_did_not_make(self, client: Client, link: str) -> None:
        person = User.objects.create_user(FORM["username"], FORM["password"])
        client.force_login(person)
        client.post(link)
        assert person.memberships.exists()
        assert Client().post(link, FORM).status_code == 410

    def test_sent_twice_it_asks_for_the_second_step_set_up_meanwhile(self, client: Client, link: str) -> None:
        client.post(link, FORM)
        give_phone(User.objects.get(username=FORM["username"]))
        again = Client()
        assert again.post(link, FORM).headers["Location"] == reverse("login-code")
        assert again.get(reverse("account")).status_code == 302

    def test_the_secret_is_not_logged(self, client: Client, link: str, caplog: pytest.LogCaptureFixture) -> None:
        client.post(link, FORM)
        with caplog.at_level(logging.INFO):
            assert Client().get(link).status_code == 410
            assert Client(enforce_csrf_checks=True).post(link, FORM).status_code == 403
        assert "/invitations/[secret]" in caplog.text
        assert link.split("/")[2] not in caplog.text


def test_registration_is_as_if_it_were_not_there_until_it_is_open(client: Client, project: Project) -> None:
    page = reverse("judging:join", args=[project.uuid])
    assert client.get(page).status_code == 404
    assert "Take part" not in body(client.get(reverse("login")))
    Project.objects.update(registration_is_open=True)
    assert page in body(client.get(reverse("login")))
    client.post(page, FORM)
    assert Membership.objects.get(user__username="newcomer").status == "candidate"


def test_leaving_asks_then_gives_back_the_assignment(client: Client) -> None:
    assignment = AssignmentFactory(batch=BatchFactory())
    client.force_login(assignment.annotator)
    page = reverse("judging:leave-project", args=[assignment.project.uuid])
    assert "Leave the project" in body(client.get(page))
    client.post(page, {"reason": "Exams"})
    assignment.refresh_from_db()
    member = Membership.objects.get(user=assignment.annotator)
    assert (assignment.state, member.status) == ("returned", "left")
    assert member.status_changes.get().reason == "Exams"
    assert client.post(page).status_code == 302
    assert "You have left this project" in body(client.get(page))
    assert mail.outbox == []
