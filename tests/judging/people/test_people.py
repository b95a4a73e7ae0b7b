"""The lead's pages of people; and that names are nowhere else."""

import re
from datetime import datetime, timedelta

import pytest
from django.contrib.auth import get_user
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from accounts.services.identities import identity_set
from accounts.services.members import status_change
from core.models import AuditEvent
from judging.models import Invitation, ScreeningAttempt
from judging.people.selectors import people_of
from judging.people.services import annotator_leave, invitation_create
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    ExamAttemptFactory,
    ExamFactory,
    ExamGradeFactory,
    FlagFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
    UserFactory,
    admin,
    lead,
)
from tests.judging.api import test_endpoints as api_endpoints
from tests.judging.money import gold_graded, judged, local, trained
from tests.judging.views.test_endpoints import ENDPOINTS, Site

pytestmark = pytest.mark.django_db
LINK = re.compile(r'value="http://testserver(/[^"]+)"')


@pytest.fixture
def member() -> Membership:
    membership = MembershipFactory(project=ProjectFactory(), number=12, user__username="quirin-k")
    identity_set(user=membership.user, name="Quirin Kowalk", email="quirin@example.org")
    return membership  # type: ignore[no-any-return]


@pytest.fixture
def chief(member: Membership, client: Client) -> User:
    person = lead(member.project)
    client.force_login(person)
    return person


def body(answer: HttpResponse) -> str:
    return answer.content.decode()


def people(project: Project) -> str:
    return reverse("judging:people", args=[project.uuid])


def page(name: str, member: Membership) -> str:
    return reverse(f"judging:{name}", args=[member.project.uuid, member.number])


def act(work: str, project: Project, person: User, at: datetime) -> None:
    """Something that a person does in a project, then."""
    if work == "judging":
        judged(project, person, at, 10)
    elif work == "gold":
        gold_graded(project, person, at, 10)
    elif work == "training":
        trained(project, person, at, 10)
    elif work == "exam":
        attempt = ExamAttemptFactory(exam=ExamFactory(project=project), annotator=person)
        ExamGradeFactory(exam_attempt=attempt, created_at=at)
    elif work == "screening":
        ScreeningAttempt.objects.create(
            project=project, annotator=person, questions=[], passing=1, score=0, answered_at=at
        )
    else:
        batch = BatchFactory(query=QueryFactory(project=project), pairs=1)
        FlagFactory(assignment=AssignmentFactory(batch=batch, annotator=person), created_at=at)


@pytest.mark.usefixtures("chief")
class TestPeople:
    def test_shows_who_is_here_with_their_grades(self, client: Client, member: Membership) -> None:
        JudgmentFactory(assignment=AssignmentFactory(batch__query__project=member.project, annotator=member.user))
        MembershipFactory(project=member.project, number=13, status="training", user__username="other-person")
        text = body(client.get(people(member.project)))
        for words in ("Quirin Kowalk", "quirin@example.org", "qualified", '<td class="number">1</td>'):
            assert words in text
        text = body(client.get(people(member.project) + "?status=training"))
        assert "other-person" in text and "Quirin" not in text
        assert "Quirin" in body(client.get(people(member.project) + "?status=nonsense%00"))

    @pytest.mark.parametrize("work", ["judging", "gold", "training", "exam", "screening", "flag"])
    def test_last_seen_counts_all_work_of_this_project(self, member: Membership, work: str) -> None:
        at = local("2026-03-05T10:00")
        for membership in (member, MembershipFactory(user=member.user)):  # of the other project: a day later
            act(work, membership.project, member.user, at)
            at += timedelta(days=1)
        (person,) = people_of(member.project)
        assert person.last_seen == local("2026-03-05T10:00")
        User.objects.filter(pk=member.user_id).update(last_login=local("2026-04-01T10:00"))
        (person,) = people_of(member.project)
        assert person.last_seen == local("2026-04-01T10:00")

    def test_a_link_is_shown_once_and_opens_the_invitation(self, client: Client, member: Membership) -> None:
        response = client.post(
            reverse("judging:invitation-create", args=[member.project.uuid]), {"role": "annotator", "days": 7}
        )
        (link,) = LINK.findall(body(response))
        assert response.headers["Cache-Control"] == "no-store"
        assert LINK.findall(body(client.get(people(member.project)))) == []
        assert Client().get(link).status_code == 200

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"role": "owner"}, 422),
            ({"days": "0"}, 422),
            ({"email": "no"}, 422),
            ({"email": "quirin@example.org"}, 409),
        ],
    )
    def test_an_invitation_that_cannot_be(
        self, client: Client, member: Membership, change: dict[str, str], status: int
    ) -> None:
        form = {"role": "annotator", "days": 7, **change}
        answer = client.post(reverse("judging:invitation-create", args=[member.project.uuid]), form)
        assert (answer.status_code, 'role="alert"' in body(answer)) == (status, True)
        assert not Invitation.objects.exists()

    def test_a_link_is_renewed_and_revoked_and_registration_switched(
        self, client: Client, member: Membership, chief: User
    ) -> None:
        invitation, old = invitation_create(project=member.project, actor=chief, role="annotator")
        (new,) = LINK.findall(body(client.post(reverse("judging:invitation-renew", args=[invitation.uuid]))))
        assert (Client().get(old).status_code, Client().get(new).status_code) == (404, 200)
        client.post(reverse("judging:invitation-revoke", args=[invitation.uuid]))
        assert Client().get(new).status_code == 410
        assert "None." in body(client.get(people(member.project)))
        switch = reverse("judging:registration-switch", args=[member.project.uuid])
        for word, is_open in (("yes", True), ("no", False)):
            client.post(switch, {"open": word})
            assert Project.objects.get(pk=member.project_id).registration_is_open is is_open
        for number in (0, 99, 10**12, 10**30):  # nobody's
            assert client.get(reverse("judging:person", args=[member.project.uuid, number])).status_code == 404


@pytest.mark.usefixtures("chief")
class TestPerson:
    def test_the_steps_so_far(self, client: Client, member: Membership, chief: User) -> None:
        for action, status in (("suspend", "suspended"), ("reinstate", "qualified")):
            client.post(page("person-status", member), {"action": action, "reason": "Because"})
            member.refresh_from_db()
            assert member.status == status
        annotator_leave(membership=member, actor=chief, reason="Moved away")
        text = body(client.get(page("person", member)))
        assert "qualified → <b>left</b>" in text
        assert "Moved away" in text and chief.username in text

    @pytest.mark.parametrize(
        ("form", "status", "message"),
        [
            ({"action": "suspend", "reason": ""}, 422, "Say why"),
            ({"action": "promote", "reason": "x"}, 422, "Choose what to do"),
            ({"action": "reinstate", "reason": "x"}, 409, "needs no way back"),
            ({"action": "suspend", "reason": "nul\0l"}, 422, "Null characters"),
        ],
    )
    def test_a_word_that_cannot_be(
        self, client: Client, member: Membership, form: dict[str, str], status: int, message: str
    ) -> None:
        answer = client.post(page("person-status", member), form)
        assert answer.status_code == status
        assert message in body(answer)
        member.refresh_from_db()
        assert member.status == "qualified"

    def test_a_link_to_a_new_password_works_once(self, client: Client, member: Membership) -> None:
        (link,) = LINK.findall(body(client.post(page("person-password", member))))
        them = Client()
        form = them.get(link).headers["Location"]
        assert "set-password" in form
        new = {"new_password1": "quite a long one", "new_password2": "quite a long one"}
        them.post(form, new)
        assert User.objects.get(pk=member.user_id).check_password("quite a long one")
        assert "used up" in body(Client().get(link, follow=True))

    def test_erasing_asks_and_ends_their_session(self, client: Client, member: Membership) -> None:
        them = Client()
        them.force_login(member.user)
        text = body(client.get(page("person-erase", member)))
        assert "What stays" in text and "Quirin Kowalk" in text
        client.post(page("person-erase", member), {"number": str(member.number)})
        assert "Quirin" not in body(client.get(people(member.project)))
        assert not get_user(them).is_authenticated  # type: ignore[arg-type]
        assert them.get(reverse("judging:desk", args=[member.project.uuid])).status_code == 302


class TestNamesAreNowhereElse:
    SECRETS = ("quirin-k", "quirin@example.org", "Quirin", "Kowalk")

    def test_on_no_page_of_an_admin(self) -> None:
        """Every page that takes a GET, with grades, decisions and statuses of an annotator on it."""
        site = Site()
        someone = site.people["annotator"]
        User.objects.filter(pk=someone.pk).update(username="quirin-k")
        someone.refresh_from_db()
        identity_set(user=someone, name="Quirin Kowalk", email="quirin@example.org")
        status_change(membership=site.member, to="left", actor=someone, reason="of their own")
        reached = 0
        for endpoint in (endpoint for endpoint in ENDPOINTS if endpoint[3] == "get" and "admin" in endpoint[2]):
            answer = site.request(endpoint, site.people["admin"])
            if not answer.streaming:
                reached += 1
                assert [word for word in self.SECRETS if word in body(answer)] == [], endpoint[0]
        assert reached > 10

    def test_in_no_answer_of_the_api_to_staff(self) -> None:
        site = api_endpoints.Site()
        identity_set(user=site.people["annotator"], name="Quirin Kowalk", email="quirin@example.org")
        User.objects.filter(pk=site.people["annotator"].pk).update(username="quirin-k")
        endpoints = [endpoint for endpoint in api_endpoints.ENDPOINTS if endpoint[0] == "get"]
        for role in ("admin", "lead"):
            program = api_endpoints.program(site.people[role])
            for endpoint in (endpoint for endpoint in endpoints if role in endpoint[3]):
                answer = site.request(endpoint, program)
                assert answer.status_code == 200
                if answer.streaming:  # a video
                    continue
                assert [word for word in self.SECRETS if word in body(answer)] == [], endpoint[1]

    def test_the_audit_names_annotators_by_number_and_leads_to_leads(self, client: Client, member: Membership) -> None:
        annotator_leave(membership=member, actor=member.user, reason="of their own")
        chief = lead(member.project)
        for actor in (chief, UserFactory(username="outsider"), None):
            AuditEvent.objects.create(project=member.project, actor=actor, action="thing.do")
        for person in (chief, admin(member.project)):
            client.force_login(person)
            text = body(client.get(reverse("judging:audit", args=[member.project.uuid])))
            assert "<span>annotator 12</span>" in text
            assert [word for word in (*self.SECRETS, "outsider") if word in text] == []
            assert (chief.username in text) is (person == chief) and "the system" in text


def test_two_open_invitations_without_a_name_differ_by_number(chief: User, member: Membership, client: Client) -> None:
    project = member.project
    address = reverse("judging:invitation-create", args=[project.uuid])
    answers = [body(client.post(address, {"role": "annotator", "days": "7"})) for _ in range(2)]
    names = [invitation.short_name for invitation in Invitation.objects.order_by("pk")]
    assert len(set(names)) == 2
    for answer, name in zip(answers, names, strict=True):
        assert f"The link of the invitation {name}" in answer
    assert all(f'<span class="hint">{name}</span>' in answers[1] for name in names)
