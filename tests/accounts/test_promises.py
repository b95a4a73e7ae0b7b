"""The promises of the log-in, seen from outside alone: by pages, and by what stands in the database.

Each test held before django-allauth came and holds with it; it knows no table and no function of either.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings as configured
from django.core import mail
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.management.commands.person_traces import traces
from accounts.models import Membership, User
from accounts.services.identities import identity_set, password_link
from core.embedded.services import BASE_DIR
from tests.accounts.phone import PASSWORD, code_at, is_in, log_in, set_up, wrong_code
from tests.conftest import Messages
from tests.factories import MembershipFactory, ProjectFactory

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ADDRESS = "203.0.113.9"
NEW = {"new_password1": "quite a long one", "new_password2": "quite a long one"}
RACES = range(int(os.environ.get("LOGIN_RACES", "1")))
ELSEWHERE = "198.51.100.7"
THEIRS = {"accounts_identity.email"}


@pytest.fixture
def person() -> User:
    user = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=user, name="Some Body", email="some@example.org")
    return user


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Every clock of this process is set on."""

    def set_on(span: timedelta) -> None:
        import time

        now, seconds = timezone.now, time.time
        moved = lambda: now() + span  # noqa: E731
        monkeypatch.setattr(time, "time", lambda: seconds() + span.total_seconds())
        for name, module in list(sys.modules.items()):
            if name == "django.utils.timezone" or (name.startswith("axes.") and hasattr(module, "now")):
                monkeypatch.setattr(module, "now", moved)
        with connection.cursor() as cursor:  # by whose clock tries may be counted
            cursor.execute("SELECT to_regclass('accounts_cacheentry')")
            if cursor.fetchone()[0]:
                cursor.execute("UPDATE accounts_cacheentry SET expires = expires - %s", [span])

    return set_on


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


def owes_code(client: Client) -> bool:
    """The password was right; the code is asked for."""
    return log_in(client).headers.get("Location") == reverse("login-code")


def say(client: Client, code: str) -> int:
    return client.post(reverse("login-code"), {"code": code}).status_code


class TestTries:
    def test_six_of_a_name_from_an_address_in_a_quarter_of_an_hour(
        self, client: Client, person: User, later: Callable[[timedelta], None]
    ) -> None:
        assert [log_in(client, "wrong").status_code for _ in range(6)] == [200] * 5 + [429]
        refused = log_in(client)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "900")
        assert "Wait 15 minutes" in refused.text
        assert log_in(at(ELSEWHERE)).status_code == 302
        later(timedelta(minutes=16))
        assert log_in(client).status_code == 302

    def test_names_are_the_same_in_capitals(self, client: Client, person: User) -> None:
        """Whether or not there is one."""
        for name in ("somebody", "nobody"):
            spellings = [name, name.capitalize(), name.upper()] * 2
            assert [log_in(client, "wrong", name=each).status_code for each in spellings] == [200] * 5 + [429]
            assert log_in(client, name=name).status_code == 429

    def test_sixty_of_a_name_from_everywhere_in_two_hours(
        self, client: Client, person: User, later: Callable[[timedelta], None]
    ) -> None:
        for number in range(60):
            assert log_in(at(f"10.0.0.{number}"), "wrong").status_code == 200
        refused = log_in(client)
        assert refused.status_code == 429
        assert "from many places" in refused.text and "Wait up to 2 hours" in refused.text
        later(timedelta(minutes=121))
        assert log_in(client).status_code == 302

    def test_a_hundred_from_an_address_whatever_the_names(
        self, client: Client, person: User, later: Callable[[timedelta], None]
    ) -> None:
        assert configured.LOGIN_TRIES_FROM == 100
        for number in range(100):
            assert log_in(client, "wrong", name=f"name-{number}").status_code == 200
        refused = log_in(client)
        assert refused.status_code == 429
        assert "from your network address. Wait up to 15 minutes" in refused.text
        assert log_in(at(ELSEWHERE)).status_code == 302
        later(timedelta(minutes=16))
        assert log_in(client).status_code == 302

    def test_right_ones_count_for_nothing(self, client: Client, person: User, settings: Settings) -> None:
        settings.LOGIN_TRIES_FROM = 5
        for _ in range(3):
            assert [log_in(client, "wrong").status_code for _ in range(1)] == [200]
            assert [log_in(Client()).status_code for _ in range(7)] == [302] * 7

    def test_a_new_password_lets_in_at_once(self, client: Client, person: User) -> None:
        for _ in range(7):
            log_in(client, "wrong")
        client.post(client.get(password_link(person)).headers["Location"], NEW)
        assert log_in(client, NEW["new_password1"]).status_code == 302

    def test_six_codes_in_a_quarter_of_an_hour(
        self, client: Client, person: User, later: Callable[[timedelta], None]
    ) -> None:
        log_in(client)
        secret, paper = set_up(client)
        other = Client()
        assert owes_code(other)
        assert [say(other, wrong_code(secret)) for _ in range(7)] == [422] * 6 + [429]
        third = at(ELSEWHERE)
        assert owes_code(third)
        assert (say(third, code_at(secret)), say(third, paper[0])) == (429, 429)
        later(timedelta(minutes=16))
        fourth = Client()
        assert owes_code(fourth)
        assert say(fourth, code_at(secret)) == 302

    def test_wrong_passwords_of_who_is_logged_in_are_counted_too(self, client: Client, person: User) -> None:
        log_in(client)
        for _ in range(6):
            client.post(reverse("password-change"), {"old_password": "wrong", **NEW})
        for page, form in {
            "account": {"name": "x", "email": "mine@example.org", "password": PASSWORD},
            "tokens": {"name": "x", "password": PASSWORD},
            "password-change": {"old_password": PASSWORD, **NEW},
            "totp-begin": {"password": PASSWORD},
        }.items():
            assert client.post(reverse(page), form).status_code == 429, page


@pytest.mark.django_db(transaction=True)
class TestAcrossProcesses:
    def test_tries_are_counted_together_and_after_a_restart(self, client: Client, person: User) -> None:
        """Three by a process that is gone afterwards, three by this one."""
        database = connection.settings_dict
        url = f"postgresql://{database['USER']}@/{database['NAME']}?host={database['HOST']}"
        script = (
            "import django; django.setup()\n"
            "from django.test import Client\n"
            "for _ in range(3): print(Client().post('/login/', {'username': 'somebody', 'password': 'no'}).status_code)"
        )
        environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings.test"}
        command = [sys.executable, "-c", script]
        process = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False)
        assert process.stdout.split() == ["200"] * 3, process.stderr[-2000:]
        assert [log_in(client, "wrong").status_code for _ in range(3)] == [200, 200, 429]

    @pytest.mark.parametrize("race", RACES)
    def test_no_try_is_lost_where_many_come_at_once(self, person: User, race: int) -> None:
        answers = [answer.status_code for answer in together(12, lambda _: log_in(Client(), "wrong"))]
        assert answers.count(200) <= 5
        assert log_in(Client()).status_code == 429

    @pytest.mark.parametrize("race", RACES)
    @pytest.mark.parametrize("source", ["phone", "paper"])
    def test_a_code_opens_once_where_many_say_it_at_once(
        self, client: Client, person: User, source: str, race: int
    ) -> None:
        log_in(client)
        secret, paper = set_up(client)
        clients = [Client() for _ in range(5)]
        assert all(owes_code(one) for one in clients)
        code = code_at(secret) if source == "phone" else paper[0]
        answers = together(5, lambda number: clients[number].post(reverse("login-code"), {"code": code}))
        assert sorted(answer.status_code for answer in answers) == [302] + [422] * 4
        assert [is_in(one) for one in clients].count(True) == 1


def together(n: int, work: Callable[[int], Any]) -> list[Any]:
    """Do the work in threads with connections of their own, which begin at the same moment."""
    barrier = Barrier(n)

    def one(number: int) -> Any:
        try:
            barrier.wait(30)
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


class TestCodes:
    def test_a_code_works_once_be_it_from_a_phone_or_from_paper(self, client: Client, person: User) -> None:
        log_in(client)
        secret, paper = set_up(client)
        for code in (code_at(secret), paper[0].upper()):
            answers = []
            for browser in (Client(), Client()):
                assert owes_code(browser)
                answers.append(say(browser, code))
            assert answers == [302, 422]

    def test_a_code_is_no_longer_good_when_it_is_old_and_none_comes_back(
        self, client: Client, person: User, later: Callable[[timedelta], None]
    ) -> None:
        log_in(client)
        secret, _ = set_up(client)
        code = code_at(secret)
        browser = Client()
        owes_code(browser)
        assert say(browser, code) == 302
        for seconds in (31, 40, 120):  # where a mark of use has run out, the code must have, too
            later(timedelta(seconds=seconds))
            browser = Client()
            owes_code(browser)
            assert say(browser, code) == 422

    def test_the_password_alone_opens_nothing(self, client: Client, person: User) -> None:
        log_in(client)
        set_up(client)
        browser = Client()
        assert owes_code(browser)
        assert not is_in(browser)
        for path in ("/", "/tokens/", "/account/second-step/", "/account/password/"):
            assert browser.get(path).headers["Location"].startswith("/login/"), path
        assert browser.get("/api/v1/projects/").status_code in (401, 403)

    def test_setting_one_up_ends_other_sessions(self, client: Client, person: User) -> None:
        other = Client()
        log_in(client), log_in(other)
        set_up(client)
        assert (is_in(client), is_in(other)) == (True, False)

    @pytest.mark.parametrize("role", ["lead", "admin"])
    def test_whose_role_must_have_one_gets_nothing_before(
        self, client: Client, person: User, settings: Settings, role: str
    ) -> None:
        settings.TOTP_REQUIRED_FOR = ["lead", "admin"]
        project = MembershipFactory(user=person, role=role).project
        log_in(client)
        page = reverse("judging:overview", args=[project.uuid])
        assert client.get(page).headers["Location"] == reverse("totp")
        assert client.get("/api/v1/projects/").json()["code"] == "totp_required"
        set_up(client)
        assert client.get(page).status_code == 200


class TestPrivacy:
    def test_no_address_and_no_browser_of_who_logs_in(self, person: User) -> None:
        client = Client(headers={"User-Agent": FIREFOX}, REMOTE_ADDR=ADDRESS)
        log_in(client)
        secret, _ = set_up(client)
        browser = Client(headers={"User-Agent": FIREFOX}, REMOTE_ADDR=ADDRESS)
        assert owes_code(browser)
        assert say(browser, wrong_code(secret)) == 422
        assert say(browser, code_at(secret)) == 302
        browser.post(reverse("password-forgotten"), {"email": "some@example.org"})
        assert traces([ADDRESS, "Firefox/140"]) == {}

    def test_an_email_address_stands_in_the_identity_alone(
        self, client: Client, person: User, messages: Messages
    ) -> None:
        log_in(client)
        set_up(client)
        with messages():
            client.post(reverse("account"), {"name": "Some", "email": "new@example.org", "password": PASSWORD})
        with messages():
            Client().post(reverse("password-forgotten"), {"email": "new@example.org"})
        assert set(traces(["new@example.org"])) == THEIRS
        assert traces(["some@example.org"]) == {}

    def test_recovery_codes_are_digests_and_no_token_can_be_read(self, client: Client, person: User) -> None:
        log_in(client)
        _, paper = set_up(client)
        answer = client.post(reverse("tokens"), {"name": "x", "password": PASSWORD}).text
        token = answer.partition("<code>mj_")[2].partition("<")[0]
        assert len(token) > 30
        plain = [code.replace("-", "") for code in paper]
        assert traces([*paper, *plain, token]) == {}

    def test_who_is_erased_leaves_nothing_to_log_in_with(self, client: Client, person: User) -> None:
        project = ProjectFactory()
        MembershipFactory(user=person, project=project, role="annotator")
        boss = MembershipFactory(project=project, role="lead").user
        log_in(client)
        set_up(client)
        leader = Client()
        leader.force_login(boss)
        number = Membership.objects.get(user=person).number
        answer = leader.post(reverse("judging:person-erase", args=[project.uuid, number]), {"number": number})
        assert answer.status_code == 302
        assert not is_in(client)
        assert traces(["somebody", "some@example.org", "Some Body"]) == {}
        person.refresh_from_db()
        assert not person.has_usable_password()
        assert rows_of(person) <= ALLOWED_AFTER_ERASURE


ALLOWED_AFTER_ERASURE = {"accounts_membership", "core_auditevent", "judging_guidelineconfirmation"}


def rows_of(user: User) -> set[str]:
    """Tables with a row that refers to the account, as PostgreSQL knows its references."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, attname FROM pg_constraint"
            " JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            " WHERE contype = 'f' AND confrelid = 'accounts_user'::regclass"
        )
        tables = set()
        for table, column in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = %s", [user.pk])
            tables |= {table} if cursor.fetchone()[0] else set()
    return tables


class TestAnswers:
    def test_a_known_and_an_unknown_name_get_the_same_page(self, client: Client, person: User) -> None:
        pages = {
            log_in(Client(), "wrong", name=name).text.replace(name, "").partition("<main")[2].partition("csrf")[0]
            for name in ("somebody", "nobody-x")
        }
        assert len(pages) == 1

    def test_an_inactive_account_gets_the_page_of_a_wrong_password(self, client: Client, person: User) -> None:
        wrong = log_in(Client(), "wrong").text
        User.objects.update(is_active=False)
        right = log_in(Client()).text
        assert "correct" in wrong and ("correct" in right)
        assert not is_in(client)

    def test_sign_up_is_closed_unless_a_project_allows_it(self, client: Client) -> None:
        closed, free = ProjectFactory(), ProjectFactory(registration_is_open=True)
        assert client.get(reverse("judging:join", args=[closed.uuid])).status_code == 404
        assert client.get(reverse("judging:join", args=[free.uuid])).status_code == 200
        for path in ("/signup/", "/accounts/signup/", "/register/"):
            assert client.get(path).status_code == 404

    def test_while_the_store_of_tries_is_unavailable_nobody_gets_in(
        self, person: User, monkeypatch: pytest.MonkeyPatch, unavailable_store: Iterator[None]
    ) -> None:
        answer = log_in(Client(raise_request_exception=False))
        assert answer.status_code == 503
        assert "does not answer just now" in answer.text


@pytest.fixture
def unavailable_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement that counts a try fails, as with a database that is failing."""
    failing = Mock(side_effect=OperationalError("the connection is closed"))
    for name in ("accounts.services.throttles.connection", "core.postgresql.cache.connection"):
        module = name.rpartition(".")[0]
        if module in sys.modules:
            monkeypatch.setattr(name, Mock(cursor=failing))


def test_the_former_address_learns_of_a_change(client: Client, person: User, messages: Messages) -> None:
    log_in(client)
    with messages():
        client.post(reverse("account"), {"name": "Some", "email": "new@example.org", "password": PASSWORD})
    (message,) = mail.outbox
    assert message.to == ["some@example.org"] and "new@example.org" not in message.body


def test_a_session_of_another_key_after_each_step(client: Client, person: User) -> None:
    """Whoever knew the key of a session before its person logged in knows nothing afterwards."""
    other = Client()
    log_in(other)
    secret, _ = set_up(other)
    client.get(reverse("login"))
    keys = []
    for step in (lambda: log_in(client), lambda: say(client, code_at(secret))):
        step()
        keys.append(client.cookies["sessionid"].value)
        planted = Client()
        planted.cookies["sessionid"] = keys[0]
    assert keys[0] != keys[1]
    assert is_in(client)
    assert not is_in(planted)


def test_the_answer_of_the_log_in_says_where_it_leads(client: Client, person: User) -> None:
    answer: HttpResponse = client.post(
        reverse("login"), {"username": "somebody", "password": PASSWORD, "next": "/tokens/"}
    )  # type: ignore[assignment]
    assert answer.headers["Location"] == "/tokens/"
    for elsewhere in ("https://example.org/", "//example.org", "javascript:alert(1)"):
        answer = Client().post(reverse("login"), {"username": "somebody", "password": PASSWORD, "next": elsewhere})  # type: ignore[assignment]
        assert answer.headers["Location"] == "/"
