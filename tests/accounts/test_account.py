"""The own account, forgotten passwords, and the throttle of the log-in."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.forms import SetPasswordForm
from django.core import mail
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts import adapters
from accounts.limits import LOGINS_TO, address_block, client_address
from accounts.models import CacheEntry, Identity, User
from accounts.services import identities
from accounts.services.credentials import token_create
from accounts.services.identities import identity_forget, identity_set, password_link
from core.messages import NoMail
from tests.conftest import Messages
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
NEW = {"new_password1": "quite a long one", "new_password2": "quite a long one"}


@pytest.fixture
def person() -> User:
    user = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=user, name="Some Body", email="some@example.org")
    return user


def log_in(client: Client, password: str, **more: Any) -> HttpResponse:
    return client.post(reverse("login"), {"username": "somebody", "password": password}, **more)  # type: ignore[return-value]


def body(answer: HttpResponse) -> str:
    return answer.content.decode()


class TestAccount:
    def test_name_and_email(self, client: Client, person: User) -> None:
        client.force_login(person)
        assert "some@example.org" in body(client.get(reverse("account")))
        client.post(reverse("account"), {"name": "Any Body", "email": "", "password": PASSWORD})
        assert list(Identity.objects.values_list("name", "email")) == [("Any Body", "")]

    @pytest.mark.parametrize("change", [{"name": ""}, {"email": "no"}, {"email": "TAKEN@example.org"}, {"name": "\0"}])
    def test_what_cannot_be(self, client: Client, person: User, change: dict[str, str]) -> None:
        identity_set(user=UserFactory(), name="", email="taken@example.org")
        client.force_login(person)
        answer = client.post(
            reverse("account"), {"name": "Any Body", "email": "any@example.org", "password": PASSWORD, **change}
        )
        assert answer.status_code == 422
        assert Identity.objects.get(user=person).name == "Some Body"


class TestBorrowedSession:
    """Whoever finds somebody logged in does not get the account for good."""

    @pytest.fixture(autouse=True)
    def logged_in(self, client: Client, person: User) -> None:
        client.force_login(person)

    def change(self, client: Client, **change: str) -> int:
        form = {"name": "Some Body", "email": "some@example.org", **change}
        return client.post(reverse("account"), form).status_code

    def test_the_email_asks_for_the_password_and_the_name_does_not(self, client: Client, person: User) -> None:
        for password in ("", "wrong"):
            assert self.change(client, email="mine@example.org", password=password) == 422
        assert Identity.objects.get(user=person).email == "some@example.org"
        assert self.change(client, name="Any Body") == 302

    def test_the_old_address_gets_a_message(self, client: Client, messages: Messages) -> None:
        with messages():
            assert self.change(client, email="mine@example.org", password=PASSWORD) == 302
        (message,) = mail.outbox
        assert message.to == ["some@example.org"]
        assert "mine@example.org" not in message.body
        assert "If it was not you" in message.body

    @pytest.mark.parametrize("page", ["account", "tokens", "password-change", "totp-off"])
    def test_wrong_passwords_are_counted_together(self, client: Client, page: str) -> None:
        for _ in range(6):
            client.post(reverse("password-change"), {"old_password": "wrong", **NEW})
        form = {"name": "x", "email": "mine@example.org", "password": PASSWORD, "old_password": PASSWORD, **NEW}
        refused = client.post(reverse(page), form)
        assert refused.status_code == 429
        assert "Wait up to 15 minutes" in body(refused)

    @pytest.mark.parametrize(("ticked", "n_tokens"), [({"ends_tokens": "on"}, 0), ({}, 1)])
    def test_a_new_password_ends_tokens_if_wanted(
        self, client: Client, person: User, ticked: dict[str, str], n_tokens: int
    ) -> None:
        token_create(user=person, name="laptop")
        assert "ends_tokens" in (page := body(client.get(reverse("password-change"))))
        assert "checked" in page
        client.post(reverse("password-change"), {"old_password": PASSWORD, **NEW, **ticked})
        assert person.access_tokens.count() == n_tokens

    def test_a_password_by_a_link_ends_tokens(self, person: User) -> None:
        token_create(user=person, name="laptop")
        visitor = Client()
        visitor.post(visitor.get(password_link(person)).headers["Location"], NEW)
        assert not person.access_tokens.exists()


class TestForgotten:
    def test_the_link_sets_a_password_once(self, client: Client, person: User, messages: Messages) -> None:
        with messages():
            client.post(reverse("password-forgotten"), {"email": "SOME@example.org"})
        (message,) = mail.outbox
        (link,) = re.findall(r"http://testserver(\S+)", message.body)
        form = client.get(link).headers["Location"]
        client.post(form, NEW)
        assert log_in(client, "quite a long one").status_code == 302
        assert "used up" in body(Client().get(link, follow=True))

    def test_the_answer_is_the_same_for_who_is_not_known(
        self, client: Client, person: User, messages: Messages
    ) -> None:
        bodies = []
        for email in ("some@example.org", "nobody@example.org"):
            with messages():
                answer = client.post(reverse("password-forgotten"), {"email": email}, follow=True)
            bodies.append(re.sub(r"csrf\S+ value=\S+|x-csrftoken\S+ \S+", "", body(answer)))
        assert bodies[0] == bodies[1]
        assert [message.to for message in mail.outbox] == [["some@example.org"]]

    def test_not_for_who_is_no_more(self, client: Client, person: User, messages: Messages) -> None:
        User.objects.update(is_active=False)
        with messages():
            client.post(reverse("password-forgotten"), {"email": "some@example.org"})
        assert mail.outbox == []

    @pytest.mark.parametrize("email", ["new@example.org", ""])
    def test_a_link_ends_with_the_address_that_it_was_sent_to(self, client: Client, person: User, email: str) -> None:
        """Whoever reads the old mailbox still gets in by nothing."""
        link = password_link(person)
        identity_set(user=person, name="Another Name", email="some@example.org")
        assert client.get(link).status_code == 302
        identity_set(user=person, name="Another Name", email=email)
        assert "used up" in body(Client().get(link))

    def test_a_link_written_while_the_address_changes_opens_nothing(self, person: User) -> None:
        """The message goes to the address that was read, so the link is one of that address."""
        as_read = User.objects.select_related("identity").get(pk=person.pk)
        identity_set(user=person, name="Some", email="new@example.org")
        assert "used up" in body(Client().get(password_link(as_read)))

    @pytest.mark.parametrize(
        "link", ["/password/choose/x/y/", "/password/choose/MQ/set-password/", "/password/choose/%00/%00/"]
    )
    def test_a_garbled_link(self, client: Client, link: str) -> None:
        assert "used up" in body(client.get(link))


@pytest.mark.parametrize("page", ["change", "link"])
def test_a_new_password_does_not_undo_an_erasure_of_this_moment(
    client: Client, person: User, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """The form was checked against the account as it was before."""
    client.force_login(person)
    url = reverse("password-change") if page == "change" else client.get(password_link(person)).headers["Location"]
    check = SetPasswordForm.clean

    def then_erase(form: Any) -> Any:
        values = check(form)
        identity_forget(user=person, actor=None, project=None)
        return values

    monkeypatch.setattr(SetPasswordForm, "clean", then_erase)
    answer = client.post(url, {"old_password": PASSWORD, **NEW})
    assert answer.status_code == 409 and "changed a moment ago" in body(answer)
    person.refresh_from_db()
    assert (person.is_active, person.has_usable_password()) == (False, False)


class TestNoMail:
    def test_who_forgot_is_referred_to_a_lead(self, client: Client, person: User, settings: Settings) -> None:
        settings.EMAIL_HOST = ""
        page = body(client.get(reverse("login")))
        assert reverse("password-forgotten") not in page
        assert "Ask the lead of your project for a link" in page
        assert "<form" not in body(client.get(reverse("password-forgotten"))).split("<main")[1]
        refused = client.post(reverse("password-forgotten"), {"email": "some@example.org"})
        assert (refused.status_code, "sends no e-mail" in body(refused)) == (409, True)
        assert mail.outbox == []

    def test_a_message_is_refused_not_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(OSError, match="EMAIL_HOST is not set"):
            NoMail().send_messages([mail.EmailMessage("A link", "/password/choose/x/y/")])
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize("email", ["some@example.org", "nobody@example.org"])
    def test_without_a_broker_no_message_is_promised(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch, email: str
    ) -> None:
        monkeypatch.setattr(identities, "send_now", lambda *task: False)
        for _ in range(5):  # none counts
            answer = client.post(reverse("password-forgotten"), {"email": email})
            assert (answer.status_code, "No message can be sent just now" in body(answer)) == (503, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"username": "x" * 256}, "No user name has more than 150 characters."),
        ({"username": "\ufdfa" * 100}, "No user name has more than 150 characters."),  # each stands for 18
        ({"username": "some\0body"}, "Null characters are not allowed."),
        ({"password": "\0"}, "Null characters are not allowed."),
        ({"password": "x" * 5000}, "at most 4096 characters"),
        ({"username": ""}, "This field is required."),
    ],
)
def test_the_log_in_refuses_what_no_account_has_and_counts_no_try(
    client: Client, person: User, change: dict[str, str], words: str
) -> None:
    answer = client.post(reverse("login"), {"username": "somebody", "password": PASSWORD, **change})
    assert (answer.status_code, words in answer.content.decode()) == (200, True)
    assert not CacheEntry.objects.exists()


class TestThrottle:
    def test_after_six_wrong_passwords_the_right_one_waits_for_a_while(self, client: Client, person: User) -> None:
        answers = [log_in(client, "wrong").status_code for _ in range(6)]
        assert answers == [200] * 5 + [429]
        refused = log_in(client, PASSWORD)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "900")
        assert "Wait 15 minutes" in body(refused)
        assert log_in(Client(REMOTE_ADDR="10.0.0.9"), PASSWORD).status_code == 302  # others need not wait
        for _ in range(6):
            log_in(client, "wrong")
        CacheEntry.objects.update(expires=timezone.now() - timedelta(minutes=1))
        assert log_in(client, PASSWORD).status_code == 302

    def test_success_forgets(self, client: Client, person: User) -> None:
        for _ in range(5):
            log_in(client, "wrong")
        log_in(client, PASSWORD)
        other = Client()
        assert [log_in(other, "wrong").status_code for _ in range(6)] == [200] * 5 + [429]


class TestWiderThrottles:
    """One address that tries many names, and one name that many addresses try."""

    def test_an_address_waits_whatever_the_names(self, client: Client, person: User, settings: Settings) -> None:
        settings.LOGIN_TRIES_FROM = 3
        for number in range(3):
            client.post(reverse("login"), {"username": f"name-{number}", "password": "wrong"})
        refused = log_in(client, PASSWORD)
        assert refused.status_code == 429
        assert "from your network address. Wait up to 15 minutes" in body(refused)
        assert log_in(Client(REMOTE_ADDR="10.0.0.9"), PASSWORD).status_code == 302

    def test_a_whole_network_of_ipv6_is_one_address(self, person: User, settings: Settings) -> None:
        settings.LOGIN_TRIES_FROM = 3
        for number in range(3):
            log_in(Client(REMOTE_ADDR=f"2001:db8:1:1::{number}"), "wrong")
        assert log_in(Client(REMOTE_ADDR="2001:db8:1:1:9::"), PASSWORD).status_code == 429
        assert log_in(Client(REMOTE_ADDR="2001:db8:1:2::"), PASSWORD).status_code == 302

    def test_a_class_that_logs_in_together_is_not_counted(self, person: User, settings: Settings) -> None:
        settings.LOGIN_TRIES_FROM = 3
        assert [log_in(Client(), PASSWORD).status_code for _ in range(6)] == [302] * 6

    def test_a_name_waits_wherever_the_tries_come_from(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapters, "LOGINS_TO", LOGINS_TO._replace(most=3))
        for number in range(3):
            log_in(Client(REMOTE_ADDR=f"10.0.0.{number}"), "wrong")
        refused = log_in(client, PASSWORD)
        assert refused.status_code == 429
        assert "from many places" in body(refused)
        assert "Wait up to 2 hours" in body(refused)
        other = UserFactory()
        other.set_password(PASSWORD)
        other.save()
        assert client.post(reverse("login"), {"username": other.username, "password": PASSWORD}).status_code == 302

    def test_one_address_alone_cannot_lock_a_name_for_all(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapters, "LOGINS_TO", LOGINS_TO._replace(most=7))
        for _ in range(9):
            log_in(client, "wrong")
        assert log_in(Client(REMOTE_ADDR="10.0.0.9"), PASSWORD).status_code == 302

    def test_a_link_to_a_new_password_opens_at_once(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapters, "LOGINS_TO", LOGINS_TO._replace(most=3))
        for _ in range(7):
            log_in(client, "wrong")
        client.post(client.get(password_link(person)).headers["Location"], NEW)
        assert log_in(client, "quite a long one").status_code == 302


@pytest.mark.parametrize(
    ("source", "block"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_addresses_of_one_line_count_as_one(source: str, block: str) -> None:
    assert address_block(RequestFactory(REMOTE_ADDR=source).get("/")) == block


@pytest.mark.parametrize(
    ("proxies", "source", "address"),
    [
        (0, "1.1.1.1", "127.0.0.1"),
        (1, "1.1.1.1", "1.1.1.1"),
        (1, "6.6.6.6, 1.1.1.1", "1.1.1.1"),
        (2, "6.6.6.6, 1.1.1.1, 10.0.0.1", "1.1.1.1"),
        (2, "1.1.1.1", "127.0.0.1"),
        (1, "nonsense", "127.0.0.1"),
        (1, "", "127.0.0.1"),
    ],
)
def test_only_our_proxies_say_where_a_request_comes_from(
    settings: Settings, proxies: int, source: str, address: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory(headers={"X-Forwarded-For": source}).get("/")
    assert client_address(request) == address


class TestNavigation:
    def test_of_the_project_visited_last(self, client: Client) -> None:
        first = MembershipFactory(role="lead")
        second = MembershipFactory(user=first.user, role="annotator")
        client.force_login(first.user)
        desk, overview = (
            reverse("judging:desk", args=[second.project.uuid]),
            reverse("judging:overview", args=[first.project.uuid]),
        )
        assert overview not in body(client.get(reverse("help")))
        for page in (overview, desk):
            client.get(page)
            for other in (reverse("help"), reverse("tokens"), reverse("account"), "/nowhere/"):
                assert f'href="{page}"' in body(client.get(other)), other


def test_who_runs_the_site_lets_somebody_in_at_once(client: Client, person: User) -> None:
    for _ in range(7):
        log_in(client, "wrong")
    assert log_in(client, PASSWORD).status_code == 429
    call_command("tries_reset", "somebody")
    assert log_in(client, PASSWORD).status_code == 302
    with pytest.raises(CommandError, match="no account"):
        call_command("tries_reset", "nobody")
