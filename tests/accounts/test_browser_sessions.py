"""Where a person is logged in: listed, ended, remembered without an address."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import BrowserSession, User
from accounts.services.identities import identity_erase, identity_set, password_link
from accounts.sessions import rough_client
from accounts.tasks import sessions_sweep
from core.models import AuditEvent
from tests.factories import MembershipFactory, UserFactory, lead

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEW = {"new_password1": "quite a long one", "new_password2": "quite a long one"}


@pytest.fixture
def person() -> User:
    user = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=user, name="Some Body", email="some@example.org")
    return user


def logged_in(person: User, agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR="203.0.113.9")
    assert client.post(reverse("login"), {"username": person.username, "password": PASSWORD}).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def session_of(client: Client) -> BrowserSession:
    return BrowserSession.objects.get(session_key=client.cookies["sessionid"].value)


def test_each_is_listed_without_an_address(person: User) -> None:
    client = logged_in(person)
    logged_in(person, "curl/8.5")
    page = client.get(reverse("account")).content.decode()
    assert "Firefox on Linux" in page
    assert "A program or an unknown browser" in page
    assert "203.0.113.9" not in page
    assert "203.0.113.9" not in str(list(BrowserSession.objects.values()))


def test_one_is_ended(person: User) -> None:
    here, there = logged_in(person), logged_in(person)
    uuid = session_of(there).uuid
    assert here.post(reverse("session-end", args=[uuid])).headers["Location"] == reverse("account")
    assert (is_in(here), is_in(there)) == (True, False)
    assert here.post(reverse("session-end", args=[uuid])).status_code == 404
    assert AuditEvent.objects.filter(action="session.end", subject=person.uuid).count() == 1


def test_all_others_are_ended(person: User) -> None:
    here, others = logged_in(person), [logged_in(person) for _ in range(2)]
    here.post(reverse("sessions-end"))
    assert [is_in(client) for client in (here, *others)] == [True, False, False]
    assert "nowhere else" in here.post(reverse("sessions-end"), follow=True).content.decode()


def test_nobody_ends_those_of_others(person: User) -> None:
    theirs, stranger = logged_in(person), Client()
    stranger.force_login(UserFactory())
    assert stranger.post(reverse("session-end", args=[session_of(theirs).uuid])).status_code == 404
    stranger.post(reverse("sessions-end"))
    assert is_in(theirs)


def test_a_new_password_ends_the_others_for_good_and_one_by_a_link_all(person: User) -> None:
    here, there, client = logged_in(person), logged_in(person), Client()
    here.post(reverse("password-change"), {"old_password": PASSWORD, **NEW})
    assert (is_in(here), is_in(there)) == (True, False)
    assert person.browser_sessions.count() == 1
    person.refresh_from_db()  # a link holds the time of the last log-in
    client.post(client.get(password_link(person)).headers["Location"], NEW)
    assert not is_in(here)
    assert not person.browser_sessions.exists()


def test_who_is_erased_is_logged_out_everywhere(person: User) -> None:
    member, there = MembershipFactory(user=person), logged_in(person)
    identity_erase(user=person, actor=lead(member.project), project=member.project)
    assert not is_in(there)
    assert not BrowserSession.objects.filter(user=person).exists()


def test_last_used_is_true_to_ten_minutes_and_costs_no_write_between(person: User) -> None:
    client = logged_in(person)
    long_ago, of_late = timezone.now() - timedelta(days=1), timezone.now() - timedelta(minutes=9)
    for before, is_written in ((long_ago, True), (of_late, False)):
        BrowserSession.objects.update(used_at=before)
        is_in(client)
        assert (session_of(client).used_at > before) is is_written


def test_saving_a_session_leaves_its_beginning(person: User) -> None:
    client = logged_in(person)
    began = timezone.now() - timedelta(days=3)
    BrowserSession.objects.update(began_at=began)
    uuid, session = session_of(client).uuid, client.session
    session["anything"] = 1
    session.save()
    row = session_of(client)
    assert (row.began_at, row.uuid, row.user, row.client) == (began, uuid, person, "Firefox on Linux")


def test_browsers_as_people_know_theirs() -> None:
    names = {
        FIREFOX: "Firefox on Linux",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/141.0 Safari/537.36 Edg/141.0": "Edge on Windows",
        "Mozilla/5.0 (Linux; Android 10; K) Chrome/141.0 Mobile Safari/537.36": "Chrome on Android",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Safari/604.1": "Safari on iPhone",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.5 Safari/605.1.15": "Safari on macOS",
        **dict.fromkeys(["", "<script>" * 1000], "A program or an unknown browser"),
    }
    assert {agent: rough_client(agent) for agent in names} == names


def test_what_has_ended_is_deleted(person: User) -> None:
    old_client, here = logged_in(person), logged_in(person)
    BrowserSession.objects.filter(pk=session_of(old_client).pk).update(expire_date=timezone.now() - timedelta(days=1))
    sessions_sweep()
    assert BrowserSession.objects.get() == session_of(here)
