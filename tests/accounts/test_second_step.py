"""The second step of a log-in: a code from a phone, or one from paper."""

import re
import time
from typing import Any
from unittest.mock import Mock

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts import sessions
from accounts.models import BrowserSession, CacheEntry, User
from accounts.services import credentials, identities
from accounts.services.credentials import (
    RECOVERY_CODES,
    code_of,
    codes_left,
    decrypt,
    passkey_add,
    phone_begin,
    phone_confirm,
    phone_of,
    second_step_check,
    second_step_reset,
    token_create,
    token_revoke,
    tokens_revoke,
)
from accounts.services.identities import identity_erase, identity_forget, identity_set
from core.exceptions import NotPossible
from core.models import AuditEvent
from tests.accounts.acts import give_phone, shown_on_phone
from tests.accounts.phone import PAPER as CODE
from tests.accounts.phone import code_at, is_in
from tests.factories import MembershipFactory, lead
from tests.judging.api.acts import bearer
from tests.judging.concurrency.meeting import overlap

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
SECRET = re.compile(r'class="secret">([A-Z2-7 ]+)<')


@pytest.fixture
def person() -> User:
    return User.objects.create_user("somebody", PASSWORD)


@pytest.fixture
def paper(person: User) -> list[str]:
    """The person logs in with codes; these are on paper."""
    return give_phone(person)


def begun(client: Client) -> str:
    """Begin to set up a phone: its secret."""
    return SECRET.findall(body(client.post(reverse("totp-begin"), {"password": PASSWORD}, follow=True)))[0]


def wrong(person: User) -> str:
    near = {shown_on_phone(person, steps) for steps in (-2, -1, 0, 1, 2)}
    return next(code for code in ("000000", "111111", "222222", "333333", "444444", "555555") if code not in near)


def log_in(client: Client, **more: Any) -> HttpResponse:
    return client.post(reverse("login"), {"username": "somebody", "password": PASSWORD, **more})  # type: ignore[return-value]


def owes(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 302


def body(answer: HttpResponse) -> str:
    return answer.content.decode()


class TestSettingUp:
    def test_on_by_a_first_code_and_codes_for_paper_are_shown_once(self, client: Client, person: User) -> None:
        client.force_login(person)
        assert "<svg" not in body(client.get(reverse("totp")))
        page = body(client.post(reverse("totp-begin"), {"password": PASSWORD}, follow=True))
        (secret,) = SECRET.findall(page)
        assert re.search(r'<svg viewBox="0 0 (\d+) \1" class="qr">', page)  # with a size it would be cut, not shrunk
        assert "style=" not in page  # which the content security policy would drop
        assert 'autocomplete="one-time-code"' in page
        answer = client.post(reverse("totp"), {"code": code_at(secret)})
        codes = CODE.findall(body(answer))
        assert len(set(codes)) == RECOVERY_CODES
        assert answer.headers["Cache-Control"] == "no-store"
        later = body(client.get(reverse("totp")))
        assert "10 recovery codes left" in later
        assert CODE.findall(later) == []
        assert secret not in later

    def test_asks_for_the_password_and_shows_the_secret_in_this_session_alone(
        self, client: Client, person: User
    ) -> None:
        client.force_login(person)
        assert client.post(reverse("totp-begin"), {"password": "no"}).status_code == 422
        assert "<svg" not in body(client.get(reverse("totp")))
        first = begun(client)
        secret = begun(client)
        assert secret != first
        assert client.post(reverse("totp"), {"code": code_at(first)}).status_code == 422
        other = Client()
        other.force_login(person)
        assert "<svg" in body(client.get(reverse("totp")))
        assert "<svg" not in body(other.get(reverse("totp")))
        assert other.post(reverse("totp"), {"code": code_at(secret)}).headers["Location"] == reverse("totp")
        assert phone_of(person) is None

    @pytest.mark.parametrize("look_first", [True, False])
    def test_one_begun_five_minutes_ago_is_neither_shown_nor_confirmed(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch, look_first: bool
    ) -> None:
        """Whoever finds the browser open has not said the password."""
        client.force_login(person)
        secret = begun(client)
        later = time.time() + 302
        monkeypatch.setattr(time, "time", lambda: later)
        if look_first:
            assert "<svg" not in body(client.get(reverse("totp")))
        answer = client.post(reverse("totp"), {"code": code_at(secret)})
        assert answer.headers["Location"] == reverse("totp")
        assert "begun too long ago" in body(client.get(reverse("totp"))) or look_first
        assert phone_of(person) is None
        assert "second-step-begun" not in client.session

    @pytest.mark.parametrize("change", ["erased", "another password"])
    def test_an_account_that_changed_meanwhile_gets_none(self, person: User, change: str) -> None:
        secret = phone_begin(user=person)
        if change == "erased":
            identity_forget(user=person, actor=None, project=None)
        else:
            User.objects.update(password="another hash")
        with pytest.raises(NotPossible, match="changed a moment ago"):
            phone_confirm(user=person, secret=secret, code=code_at(secret), session=None)
        with pytest.raises(NotPossible, match="changed a moment ago"):
            passkey_add(user=person, name="phone", credential={}, session=None)
        assert not Authenticator.objects.exists()

    def test_turning_it_on_and_off_ends_other_sessions(self, client: Client, person: User) -> None:
        other = Client()
        for browser in (client, other):
            browser.force_login(person)
        client.post(reverse("totp"), {"code": code_at(begun(client))})
        assert (owes(client), owes(other)) == (False, True)
        assert client.post(reverse("totp-begin"), {"password": PASSWORD}).status_code == 409
        other.force_login(person)
        client.post(reverse("totp-off"), {"password": PASSWORD})
        assert (owes(client), owes(other)) == (False, True)

    def test_codes_on_paper_are_saved_as_digests(self, person: User, paper: list[str]) -> None:
        digests = set(Authenticator.objects.get(type="recovery_codes").data["digests"])
        assert len(digests) == RECOVERY_CODES
        assert not digests & {code.replace("-", "")[:16] for code in paper}

    def test_the_secret_is_encrypted_while_it_is_set_up_and_afterwards(self, client: Client, person: User) -> None:
        client.force_login(person)
        secret = begun(client).replace(" ", "")
        assert secret not in str(client.session["second-step-begun"])
        client.post(reverse("totp"), {"code": code_at(secret)})
        cipher = Authenticator.objects.get(type="totp").data["secret"]
        assert secret not in cipher
        assert decrypt(cipher) == secret
        assert "second-step-begun" not in client.session

    def test_a_new_key_of_the_site_reads_what_the_former_wrote(
        self, person: User, paper: list[str], settings: Settings
    ) -> None:
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another" * 10
        code = shown_on_phone(person)
        assert second_step_check(user=person, code=code).type == "totp"
        settings.SECRET_KEY_FALLBACKS = []
        assert second_step_check(user=person, code=shown_on_phone(person)).type == "totp", "encrypted anew when used"
        settings.SECRET_KEY = "a third" * 10
        with pytest.raises(NotPossible, match="another key"):
            second_step_check(user=person, code=code)


class TestLoggingIn:
    def test_the_password_alone_opens_nothing(self, client: Client, person: User, paper: list[str]) -> None:
        assert client.get(reverse("login-code")).headers["Location"] == reverse("login")
        answer = log_in(client, next=reverse("tokens"))
        assert answer.headers["Location"] == reverse("login-code")
        assert owes(client)
        assert client.get(reverse("login-code")).status_code == 200
        answer = client.post(reverse("login-code"), {"code": shown_on_phone(person)})
        assert answer.headers["Location"] == reverse("tokens")
        assert not owes(client)

    def test_one_set_up_after_the_password_was_checked_is_taken_too(
        self, client: Client, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever knew the password alone would keep a session that the set-up could not see yet."""
        handle = AuthenticateStage.handle
        monkeypatch.setattr(AuthenticateStage, "handle", lambda stage: (handle(stage), give_phone(person))[0])
        assert log_in(client).headers["Location"] == reverse("login")
        assert "second step since a moment ago" in client.get(reverse("login")).text
        assert not is_in(client)
        monkeypatch.undo()
        assert log_in(client).headers["Location"] == reverse("login-code")

    def test_a_recovery_code_outlives_a_new_key_of_the_site(
        self, person: User, paper: list[str], settings: Settings
    ) -> None:
        settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another" * 10
        second_step_check(user=person, code=paper[0])
        with pytest.raises(NotPossible):
            second_step_check(user=person, code=paper[0])
        assert codes_left(person) == 9

    def test_a_code_works_once_be_it_from_a_phone_or_from_paper(self, person: User, paper: list[str]) -> None:
        for code in (shown_on_phone(person), paper[0].upper()):
            answers = []
            for browser in (Client(), Client()):
                log_in(browser)
                answers.append(browser.post(reverse("login-code"), {"code": code}).status_code)
            assert answers == [302, 422]
        assert codes_left(person) == RECOVERY_CODES - 1

    def test_an_earlier_code_works_no_more_once_a_later_one_did(self, person: User, paper: list[str]) -> None:
        shown_on_phone(person)
        phone = phone_of(person)
        assert phone
        secret = decrypt(phone.data["secret"])
        second_step_check(user=person, code=code_at(secret))
        for earlier in (-1, 0):
            with pytest.raises(NotPossible):
                second_step_check(user=person, code=code_at(secret, earlier))

    def test_a_phone_whose_clock_goes_wrong_slowly_is_followed(self, person: User, paper: list[str]) -> None:
        phone = phone_of(person)
        assert phone
        secret = decrypt(phone.data["secret"])
        for ahead in (0, 1, 2, 3):
            second_step_check(user=person, code=code_at(secret, ahead))
        with pytest.raises(NotPossible):
            second_step_check(user=person, code=code_at(secret, 5))

    def test_of_somebody_else_it_opens_nothing(self, client: Client, person: User, paper: list[str]) -> None:
        other = User.objects.create_user("other", PASSWORD)
        others_paper = give_phone(other)
        log_in(client)
        for code in (shown_on_phone(other), others_paper[0]):
            assert client.post(reverse("login-code"), {"code": code}).status_code == 422
        assert owes(client)

    def test_after_six_wrong_codes_the_right_one_waits(self, client: Client, person: User, paper: list[str]) -> None:
        log_in(client)
        answers = [client.post(reverse("login-code"), {"code": wrong(person)}).status_code for _ in range(7)]
        assert answers == [422] * 6 + [429]
        for code in (shown_on_phone(person), paper[0]):
            assert client.post(reverse("login-code"), {"code": code}).status_code == 429
        CacheEntry.objects.update(expires="2026-01-01T00:00Z")
        assert client.post(reverse("login-code"), {"code": shown_on_phone(person)}).status_code == 302

    def test_a_password_changed_meanwhile_or_ten_minutes_end_the_wait(
        self, client: Client, person: User, paper: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log_in(client)
        later = time.time() + 601
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: later)
            assert client.get(reverse("login-code")).headers["Location"] == reverse("login")
        log_in(client)
        person.set_password("another long one")
        person.save()
        answer = client.post(reverse("login-code"), {"code": paper[0]})
        assert answer.headers["Location"] == reverse("login")

    def test_the_session_has_another_key_after_each_step(self, client: Client, person: User, paper: list[str]) -> None:
        client.get(reverse("login"))
        keys = set()
        log_in(client)
        keys.add(client.cookies["sessionid"].value)
        client.post(reverse("login-code"), {"code": paper[0]})
        keys.add(client.cookies["sessionid"].value)
        assert len(keys) == 2
        assert BrowserSession.objects.count() == 1

    def test_a_code_is_six_digits_with_spaces_as_phones_show_it(self) -> None:
        assert code_of(" 123 456 ") == "123456"
        for typed in ("", "12345", "1234567", "+12345", "1_2345", "١٢٣٤٥٦", "12345\0", "abcdef"):
            assert code_of(typed) == ""


class TestTurningOff:
    def test_asks_for_the_password(self, client: Client, person: User, paper: list[str]) -> None:
        client.force_login(person)
        assert client.post(reverse("totp-off"), {"password": "no"}).status_code == 422
        assert phone_of(person)
        assert client.post(reverse("totp-off"), {"password": PASSWORD}).status_code == 302
        assert not Authenticator.objects.exists()
        assert log_in(Client()).headers["Location"] == "/"

    def test_new_codes_void_the_old(self, client: Client, person: User, paper: list[str]) -> None:
        client.force_login(person)
        assert client.post(reverse("totp-codes"), {"password": "no"}).status_code == 422
        answer = client.post(reverse("totp-codes"), {"password": PASSWORD})
        new = CODE.findall(body(answer))
        assert len(new) == RECOVERY_CODES
        assert not set(new) & set(paper)
        browser = Client()
        log_in(browser)
        assert browser.post(reverse("login-code"), {"code": paper[0]}).status_code == 422
        assert browser.post(reverse("login-code"), {"code": new[0]}).status_code == 302

    def test_a_reset_by_who_runs_the_site(self, client: Client, person: User, paper: list[str]) -> None:
        client.force_login(person)
        call_command("totp_reset", "somebody")
        assert owes(client)
        assert log_in(client).headers["Location"] == "/"
        assert AuditEvent.objects.filter(action="totp.reset", subject=person.uuid).count() == 1
        for name in ("somebody", "nobody"):
            with pytest.raises(CommandError):
                call_command("totp_reset", name)

    def test_what_is_decided_is_written_down_without_codes(self, person: User, paper: list[str]) -> None:
        second_step_check(user=person, code=paper[0])
        events = AuditEvent.objects.filter(subject=person.uuid).order_by("id").values_list("action", "data")
        assert list(events) == [("totp.confirm", {}), ("totp.recover", {})]

    def test_who_is_erased_leaves_no_phone(self, person: User, paper: list[str]) -> None:
        member = MembershipFactory(user=person)
        identity_erase(user=person, actor=lead(member.project), project=member.project)
        assert not Authenticator.objects.exists()


class TestRequired:
    @pytest.fixture(autouse=True)
    def _required(self, settings: Settings) -> None:
        settings.TOTP_REQUIRED_FOR = ["lead", "admin"]

    def test_whose_role_requires_it_sets_it_up_first(self, client: Client, person: User) -> None:
        project = MembershipFactory(user=person, role="lead").project
        client.force_login(person)
        for path in ("/", reverse("judging:overview", args=[project.uuid]), reverse("tokens"), "/corpora/"):
            assert client.get(path).headers["Location"] == reverse("totp"), path
        assert client.get("/corpora/", headers={"HX-Request": "true"}).headers["HX-Redirect"] == reverse("totp")
        refused = client.get("/api/v1/projects/")
        assert (refused.status_code, refused.json()["code"]) == (403, "totp_required")
        assert client.get(reverse("account")).status_code == 200
        client.post(reverse("totp"), {"code": code_at(begun(client))})
        assert client.get(reverse("judging:overview", args=[project.uuid])).status_code == 200
        assert client.get("/api/v1/projects/").status_code == 200

    def test_a_token_made_without_it_counts_no_more(self, person: User) -> None:
        """Be it that the person leads since, has set it up since, or set it up on another phone."""
        proof = bearer(person)
        assert Client(headers=proof).get("/api/v1/projects/").status_code == 200
        MembershipFactory(user=person, role="lead")
        refused = Client(headers=proof).get("/api/v1/projects/")
        assert (refused.status_code, refused.json()["code"]) == (403, "totp_required")
        secret, meanwhile = phone_begin(user=person), bearer(person)
        phone_confirm(user=person, secret=secret, code=code_at(secret), session=None)
        for old in (proof, meanwhile):
            assert Client(headers=old).get("/api/v1/projects/").status_code == 403
        new = bearer(person)
        assert Client(headers=new).get("/api/v1/projects/").status_code == 200
        second_step_reset(user=person, actor=None)
        assert Client(headers=new).get("/api/v1/projects/").status_code == 403

    def test_a_reset_is_whole_or_not_at_all(
        self, person: User, paper: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(credentials, "audit_record", Mock(side_effect=OSError))
        with pytest.raises(OSError):
            second_step_reset(user=person, actor=None)
        assert phone_of(person) and codes_left(person) == RECOVERY_CODES

    def test_a_token_opens_no_page(self, client: Client, person: User, paper: list[str]) -> None:
        project = MembershipFactory(user=person, role="lead").project
        proof = bearer(person)
        assert Client(headers=proof).get("/api/v1/projects/").status_code == 200
        client.force_login(person)
        page = reverse("judging:overview", args=[project.uuid])
        assert client.get(page, headers=proof).headers["Location"] == reverse("totp")
        for header in ("Bearer mj_no", "bearer"):  # never falls back to the session
            assert client.get("/api/v1/projects/", headers={"Authorization": header}).status_code == 401

    def test_it_cannot_be_turned_off(self, client: Client, person: User, paper: list[str]) -> None:
        MembershipFactory(user=person, role="lead")
        client.force_login(person)
        assert "stays on" in body(client.get(reverse("totp")))
        assert client.post(reverse("totp-off"), {"password": PASSWORD}).status_code == 409
        assert phone_of(person)

    def test_a_session_of_before_that_began_with_a_code_goes_on(self, client: Client, person: User) -> None:
        project = MembershipFactory(user=person, role="lead").project
        client.force_login(person)
        session = client.session
        session["otp_device_id"] = "otp_totp.totpdevice/1"
        session.save()
        assert client.get(reverse("judging:overview", args=[project.uuid])).status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["code", "token", "tokens", "session", "sessions", "reset", "identity"])
def test_what_writes_beside_an_erasure_waits_for_it_and_it_for_that(
    person: User, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """Each locks the account first: one that locked its own row first would wait for the other, and be waited for."""
    paper = give_phone(person)
    identity_set(user=person, name="Some Body", email="some@example.org")
    token_create(user=person, name="laptop")
    store = sessions.SessionStore()
    store["_auth_user_id"] = str(person.pk)
    store.save()
    token, session = person.access_tokens.get(), person.browser_sessions.get()
    module, work = {
        "code": (credentials, lambda: second_step_check(user=person, code=paper[0])),
        "token": (credentials, lambda: token_revoke(user=person, uuid=token.uuid)),
        "tokens": (credentials, lambda: tokens_revoke(user=person)),
        "session": (sessions, lambda: sessions.session_end(user=person, uuid=session.uuid)),
        "sessions": (sessions, lambda: sessions.sessions_end(user=person, actor=person)),
        "reset": (credentials, lambda: second_step_reset(user=person, actor=person)),
        "identity": (identities, lambda: identity_set(user=person, name="Other", email="some@example.org")),
    }[act]
    erasing = lambda: identity_forget(user=person, actor=None, project=None)  # noqa: E731
    result, erased = overlap(monkeypatch, (module, "audit_record"), work, erasing)
    assert not isinstance(result, Exception) and erased is None, (result, erased)
    person.refresh_from_db()
    assert not person.is_active
