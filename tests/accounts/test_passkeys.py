"""Passkeys: they log in, they are the second step, and each answer but the right one opens nothing."""

import json
import os
import random
from io import BytesIO
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.webauthn.internal import auth as webauthn
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from fido2.utils import websafe_decode, websafe_encode
from pytest_django import Settings

from accounts.models import BrowserSession, CacheEntry, User
from accounts.services.credentials import codes_left, passkeys_of, second_step_remove
from accounts.services.identities import identity_forget
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.people.person_data import person_data
from tests.accounts.acts import give_phone, shown_on_phone
from tests.accounts.passkey import PRESENT, VERIFIED, Passkey, log_in_by, login_options, make, options_on, visitor
from tests.accounts.phone import PAPER, PASSWORD, is_in, log_in
from tests.factories import MembershipFactory
from tests.judging.api.acts import bearer

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return User.objects.create_user("somebody", PASSWORD)


@pytest.fixture
def here(person: User) -> Client:
    client = visitor()
    log_in(client)
    return client


@pytest.fixture
def passkey(here: Client) -> Passkey:
    passkey = Passkey()
    answer = make(here, passkey)
    assert len(PAPER.findall(answer.text)) == 10
    return passkey


class TestMaking:
    def test_takes_the_password_once_more(self, here: Client) -> None:
        assert here.get(reverse("passkey-add")).headers["Location"].startswith(reverse("account_reauthenticate"))
        assert (
            here.post(reverse("passkey-add"), {"credential": "{}"})
            .headers["Location"]
            .startswith(reverse("account_reauthenticate"))
        )
        assert not Authenticator.objects.exists()

    def test_ends_other_sessions_and_gives_codes_for_paper_once(self, here: Client, person: User) -> None:
        there = Client()
        log_in(there)
        assert len(PAPER.findall(make(here, Passkey()).text)) == 10
        assert (is_in(here), is_in(there)) == (True, False)
        assert make(here, Passkey(), name="laptop").headers["Location"] == reverse("totp")
        page = here.get(reverse("totp")).text
        assert "phone" in page and "laptop" in page and "10 recovery codes left" in page
        assert PAPER.findall(page) == []

    @pytest.mark.parametrize(
        "change",
        [{"origin": "https://evil.example"}, {"origin": "http://localhost.evil.example"}, {"host": "evil.example"}],
        ids=str,
    )
    def test_of_another_site_is_none(self, here: Client, change: dict[str, str]) -> None:
        passkey = Passkey()
        for name, value in change.items():
            setattr(passkey, name, value)
        assert make(here, passkey).status_code == 422
        assert not Authenticator.objects.exists()

    def test_without_finger_face_or_pin_is_none(self, here: Client) -> None:
        passkey = Passkey()
        passkey.flags = PRESENT
        assert make(here, passkey).status_code == 422

    def test_to_another_question_is_none(self, here: Client) -> None:
        here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        first = options_on(here.get(reverse("passkey-add")))
        here.get(reverse("passkey-add"))
        answer = here.post(reverse("passkey-add"), {"name": "x", "credential": Passkey().create(first)})
        assert answer.status_code == 422

    @pytest.mark.parametrize("credential", ["", "{}", "[]", "null", "1", '{"id": 1}', "x", '{"response": {}}'])
    def test_nonsense_is_refused_in_words(self, here: Client, credential: str) -> None:
        here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        here.get(reverse("passkey-add"))
        assert here.post(reverse("passkey-add"), {"credential": credential}).status_code == 422
        assert visitor().post(reverse("passkey-login"), {"credential": credential}).status_code == 302

    def test_on_an_address_in_numbers_the_page_says_why_there_are_none(self, person: User) -> None:
        for host, words in {
            "127.0.0.1": "not for numbers",
            "[::1]": "not for numbers",
            "judge.example.org": "begins with https://",
        }.items():
            client = Client(SERVER_NAME=host)
            log_in(client)
            assert words in client.get(reverse("totp")).text
            client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
            assert client.get(reverse("passkey-add")).status_code == 409
            assert "Log in with a passkey" not in Client(SERVER_NAME=host).get(reverse("login")).text
        assert "Log in with a passkey" in visitor().get(reverse("login")).text


class TestLoggingIn:
    def test_by_itself(self, passkey: Passkey, person: User) -> None:
        client = visitor()
        assert log_in_by(client, passkey, next=reverse("tokens")).headers["Location"] == reverse("tokens")
        assert client.get(reverse("account")).context["user"] == person
        assert Authenticator.objects.get(type="webauthn").last_used_at is not None
        assert log_in_by(visitor(), passkey, next="https://evil.example/").headers["Location"] == "/"

    def test_as_the_second_step(self, passkey: Passkey) -> None:
        client = visitor()
        assert log_in(client).headers["Location"] == reverse("login-code")
        assert not is_in(client)
        options = options_on(client.get(reverse("login-code")))
        assert client.post(reverse("login-code"), {"credential": passkey.get(options)}).headers["Location"] == "/"
        assert is_in(client)

    def test_the_password_alone_does_not(self, passkey: Passkey) -> None:
        client = visitor()
        log_in(client)
        for code in ("", "000000", "x"):
            assert client.post(reverse("login-code"), {"code": code}).status_code == 422
        assert not is_in(client)

    def test_beside_a_phone_either_does(self, passkey: Passkey, person: User) -> None:
        give_phone(person)
        for how in ("passkey", "phone"):
            client = visitor()
            log_in(client)
            options = options_on(client.get(reverse("login-code")))
            form = {"credential": passkey.get(options)} if how == "passkey" else {"code": shown_on_phone(person)}
            assert client.post(reverse("login-code"), form).status_code == 302

    def test_an_answer_works_once_and_in_its_own_browser(self, passkey: Passkey) -> None:
        client, other = visitor(), visitor()
        answer = passkey.get(login_options(client))
        login_options(other)
        other.post(reverse("passkey-login"), {"credential": answer})
        assert not is_in(other)
        client.post(reverse("passkey-login"), {"credential": answer})
        assert is_in(client)
        session = client.session  # logging out would empty it
        for name in (SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY):
            del session[name]
        session.save()
        client.post(reverse("passkey-login"), {"credential": answer})
        assert not is_in(client)

    def test_one_removed_in_this_moment_is_refused_in_words(
        self, passkey: Passkey, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Be it to log in, as the second step, or to confirm."""
        by_itself, second, confirming = visitor(), visitor(), visitor()
        log_in(second)
        log_in_by(confirming, passkey)
        complete = webauthn.complete_authentication

        def then_remove(user: User, answer: Any) -> Authenticator:
            row = complete(user, answer)
            Authenticator.objects.filter(pk=row.pk).delete()
            return row

        steps = [(by_itself, "passkey-login", login_options(by_itself))]
        for client, page in ((second, "login-code"), (confirming, "mfa_reauthenticate_webauthn")):
            steps.append((client, page, options_on(client.get(reverse(page)))))
        row = passkeys_of(person).get()
        monkeypatch.setattr(webauthn, "complete_authentication", then_remove)
        for client, page, options in steps:
            row.save(force_insert=not Authenticator.objects.filter(pk=row.pk).exists())
            answer = client.post(reverse(page), {"credential": passkey.get(options)})
            assert answer.status_code == 409 and "removed a moment ago" in answer.text, page
        assert not is_in(by_itself) and not is_in(second)

    @pytest.mark.parametrize("change", ["removed", "erased"])
    def test_a_log_in_that_a_change_overtakes_stores_no_session(
        self, passkey: Passkey, person: User, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        give_phone(person)
        name = UUID(passkeys_of(person).get().data["uuid"])
        handle = AuthenticateStage.handle

        def then_change(stage: AuthenticateStage) -> Any:
            if change == "removed":
                second_step_remove(user=person, session=None, passkey=name)
            else:
                identity_forget(user=person, actor=None, project=None)
            return handle(stage)

        monkeypatch.setattr(AuthenticateStage, "handle", then_change)
        client = visitor()
        assert log_in_by(client, passkey).headers["Location"] == reverse("login")
        assert not is_in(client)
        assert not BrowserSession.objects.filter(user=person).exists()

    @pytest.mark.parametrize(
        "change",
        [{"origin": "https://evil.example"}, {"host": "evil.example"}, {"flags": PRESENT}, {"id": b"another"}],
        ids=str,
    )
    def test_of_another_site_or_without_its_person_it_does_not(self, passkey: Passkey, change: dict[str, Any]) -> None:
        for name, value in change.items():
            setattr(passkey, name, value)
        client = visitor()
        assert log_in_by(client, passkey).headers["Location"] == reverse("login")
        assert "not accepted" in client.get(reverse("login")).text
        assert not is_in(client)

    def test_the_question_of_a_second_step_is_none_of_a_log_in_by_itself(self, passkey: Passkey) -> None:
        """Somebody asks for their own second step, and answers with a stolen key that asked for no PIN."""
        User.objects.create_user("other", PASSWORD)
        client = visitor()
        log_in(client, name="other")
        make(client, Passkey())
        client = visitor()
        log_in(client, name="other")
        options = options_on(client.get(reverse("login-code")))
        assert options["publicKey"]["userVerification"] == "required"
        passkey.flags = PRESENT
        client.post(reverse("passkey-login"), {"credential": passkey.get(options)})
        assert not is_in(client)
        passkey.flags = PRESENT | VERIFIED
        client.post(reverse("passkey-login"), {"credential": passkey.get(options)})
        assert not is_in(client), "its question was forgotten"

    def test_of_somebody_else_it_does_not(self, passkey: Passkey, person: User) -> None:
        """Neither by naming the other, nor as the second step of the other's password."""
        User.objects.create_user("other", PASSWORD)
        theirs, other = Passkey(), visitor()
        log_in(other, name="other")
        make(other, theirs)
        client = visitor()
        client.post(reverse("passkey-login"), {"credential": passkey.get(login_options(client), user=theirs.user)})
        assert not is_in(client)
        log_in(client, name="other")
        options = options_on(client.get(reverse("login-code")))
        assert client.post(reverse("login-code"), {"credential": passkey.get(options)}).status_code == 422
        assert not is_in(client)

    def test_another_key_under_its_name_does_not(self, passkey: Passkey) -> None:
        copy = Passkey()
        copy.id, copy.user = passkey.id, passkey.user
        client = visitor()
        log_in_by(client, copy)
        assert not is_in(client)

    def test_the_key_of_the_session_is_another_afterwards(self, passkey: Passkey) -> None:
        client = visitor()
        login_options(client)
        before = client.cookies["sessionid"].value
        log_in_by(client, passkey)
        assert is_in(client) and client.cookies["sessionid"].value != before

    def test_who_is_no_more_gets_in_by_none(self, passkey: Passkey) -> None:
        User.objects.update(is_active=False)
        client = visitor()
        log_in_by(client, passkey)
        assert not is_in(client)

    def test_nothing_shows_whether_somebody_is_known(self, passkey: Passkey, person: User) -> None:
        questions = [login_options(visitor())["publicKey"] for _ in range(2)]
        assert all(not one.get("allowCredentials") for one in questions)

    def test_wrong_ones_are_counted_with_wrong_codes(self, passkey: Passkey, person: User) -> None:
        client = visitor()
        log_in(client)
        url = reverse("login-code")
        tries = [{"code": "000000"}, {"credential": '{"id": "x"}'}] * 3
        assert [client.post(url, form).status_code for form in tries] == [422] * 6
        assert client.post(url, {"credential": passkey.get(options_on(client.get(url)))}).status_code == 429
        call_command("tries_reset", person.username)
        assert client.post(url, {"credential": passkey.get(options_on(client.get(url)))}).status_code == 302

    def test_the_page_asks_for_what_the_person_has(self, passkey: Passkey, person: User) -> None:
        client = visitor()
        log_in(client)
        assert "authenticator app" not in client.get(reverse("login-code")).text
        give_phone(person)
        assert "authenticator app" in client.get(reverse("login-code")).text

    def test_on_an_address_in_numbers_the_pages_say_why_it_does_not(self, passkey: Passkey) -> None:
        client = Client(SERVER_NAME="127.0.0.1")
        assert "Browsers make passkeys for names" in client.get(reverse("login")).text
        log_in(client)
        page = client.get(reverse("login-code"))
        assert "does not work here" in page.text and not page.context["options"]

    def test_the_persons_own_data_name_it(self, passkey: Passkey, person: User) -> None:
        for own in (True, False):
            archive = ZipFile(BytesIO(person_data(user=person, actor=None, own=own)))
            (table,) = [archive.read(name).decode() for name in archive.namelist() if "Authenticator" in name]
            assert "webauthn" in table and "phone" in table and "credential" not in table


class TestRequired:
    def test_a_passkey_counts(self, passkey: Passkey, here: Client, person: User, settings: Settings) -> None:
        settings.TOTP_REQUIRED_FOR = ["lead"]
        project = MembershipFactory(user=person, role="lead").project
        overview = reverse("judging:overview", args=[project.uuid])
        client = visitor()
        log_in_by(client, passkey)
        assert [one.get(overview).status_code for one in (here, client)] == [200, 200]
        assert Client(headers=bearer(person)).get("/api/v1/projects/").status_code == 200

    def test_the_last_stays(self, passkey: Passkey, here: Client, person: User, settings: Settings) -> None:
        settings.TOTP_REQUIRED_FOR = ["lead"]
        MembershipFactory(user=person, role="lead")
        name = passkeys_of(person).get().data["uuid"]
        assert here.post(reverse("passkey-remove", args=[name])).status_code == 409
        give_phone(person)
        assert second_step_remove(user=person, session=None, passkey=UUID(name))
        with pytest.raises(NotPossible, match="cannot be turned off"):
            second_step_remove(user=person, session=None)

    def test_a_session_is_no_longer_one_of_two_steps_once_they_are_off(
        self, passkey: Passkey, here: Client, person: User, settings: Settings
    ) -> None:
        """Who turns them off, and gets a role that must have them later, sets them up anew."""
        name = passkeys_of(person).get().data["uuid"]
        here.post(reverse("passkey-remove", args=[name]))
        settings.TOTP_REQUIRED_FOR = ["lead"]
        project = MembershipFactory(user=person, role="lead").project
        overview = reverse("judging:overview", args=[project.uuid])
        assert here.get(overview).headers["Location"] == reverse("totp")


class TestRemoving:
    def test_takes_the_password_or_the_passkey_once_more(self, passkey: Passkey, person: User) -> None:
        name = passkeys_of(person).get().data["uuid"]
        client = visitor()
        log_in_by(client, passkey)
        url = reverse("passkey-remove", args=[name])
        assert client.post(url).headers["Location"].startswith(reverse("account_reauthenticate"))
        page = client.get(reverse("mfa_reauthenticate_webauthn"), {"next": url})
        answer = client.post(
            reverse("mfa_reauthenticate_webauthn"), {"credential": passkey.get(options_on(page)), "next": url}
        )
        assert answer.headers["Location"] == reverse("totp")
        assert not Authenticator.objects.exists()
        assert log_in(Client()).headers["Location"] == "/"
        actions = AuditEvent.objects.filter(subject=person.uuid, action__startswith="passkey.")
        assert list(actions.order_by("id").values_list("action", flat=True)) == ["passkey.add", "passkey.remove"]

    def test_a_wrong_passkey_confirms_nothing(self, passkey: Passkey, here: Client, person: User) -> None:
        client = visitor()
        log_in_by(client, passkey)
        options = options_on(client.get(reverse("mfa_reauthenticate_webauthn")))
        answer = client.post(
            reverse("mfa_reauthenticate_webauthn"), {"credential": Passkey().get(options, user=passkey.user)}
        )
        assert answer.status_code == 422
        assert client.get(reverse("passkey-add")).headers["Location"].startswith(reverse("account_reauthenticate"))

    def test_an_answer_confirms_once(self, passkey: Passkey, here: Client) -> None:
        url = reverse("mfa_reauthenticate_webauthn")
        form = {"credential": passkey.get(options_on(here.get(url)))}
        assert [here.post(url, form).status_code for _ in range(2)] == [302, 422]

    def test_of_somebody_else_there_is_none(self, passkey: Passkey, person: User) -> None:
        name = passkeys_of(person).get().data["uuid"]
        User.objects.create_user("other", PASSWORD)
        other = visitor()
        log_in(other, name="other")
        other.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert other.post(reverse("passkey-remove", args=[name])).status_code == 404

    def test_with_the_last_second_step_the_codes_on_paper_go(self, passkey: Passkey, person: User) -> None:
        give_phone(person)
        name = passkeys_of(person).get().data["uuid"]
        second_step_remove(user=person, session=None, passkey=UUID(name))
        assert codes_left(person) == 10
        second_step_remove(user=person, session=None)
        assert not Authenticator.objects.exists()


class TestConfirming:
    def test_six_wrong_passwords_and_it_waits(self, here: Client) -> None:
        for _ in range(6):
            assert here.post(reverse("account_reauthenticate"), {"password": "wrong"}).status_code == 422
        assert here.post(reverse("account_reauthenticate"), {"password": PASSWORD}).status_code == 429

    def test_it_leads_nowhere_else(self, here: Client) -> None:
        answer = here.post(reverse("account_reauthenticate"), {"password": PASSWORD, "next": "https://evil.example/"})
        assert answer.headers["Location"] == "/"

    def test_five_minutes_later_it_takes_another(self, here: Client, settings: Settings) -> None:
        here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert here.get(reverse("passkey-add")).status_code == 200
        settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 0
        assert here.get(reverse("passkey-add")).status_code == 302


def test_a_person_has_ten_at_most_with_names_that_can_be_read(here: Client, person: User) -> None:
    for number in range(10):
        row = {"uuid": str(UUID(int=number)), "name": "x", "credential": json.loads(Passkey().create(OPTIONS))}
        Authenticator.objects.create(user=person, type="webauthn", data=row)
    assert make(here, Passkey()).status_code == 409
    assert make(here, Passkey(), name="x" * 41).status_code == 422


OPTIONS = {"publicKey": {"challenge": "AAAA", "user": {"id": "MQ"}}}


def damaged(answer: str, chance: random.Random) -> str:
    """Return an answer with one thing changed that counts: a field lost, of another kind, cut, or a bit of it."""
    credential = json.loads(answer)
    name = chance.choice(["rawId", *(field for field in credential["response"] if field != "userHandle")])
    place = credential if name == "rawId" else credential["response"]
    match chance.randrange(4):
        case 0:
            del place[name]
        case 1:
            place[name] = chance.choice([None, 1, [], {}, "", "=", "\0", "é" * 9, "A" * 5000])
        case 2:
            place[name] = place[name][: chance.randrange(len(place[name]))]
        case _:
            plain = bytearray(websafe_decode(place[name]) or b"x")
            plain[chance.randrange(len(plain))] ^= 1 << chance.randrange(8)
            place[name] = websafe_encode(bytes(plain))
    return json.dumps(credential)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_answers_open_nothing_and_break_nothing(
    passkey: Passkey, here: Client, person: User, seed: int
) -> None:
    """Each way an answer is taken: to log in, as the second step, to confirm, and to make one."""
    chance = random.Random(seed)
    client, waiting = visitor(), visitor()
    log_in(waiting)
    for _ in range(DAMAGED):
        answer = damaged(passkey.get(login_options(client)), chance)
        client.post(reverse("passkey-login"), {"credential": answer})
        assert not is_in(client), answer
        answer = damaged(passkey.get(options_on(waiting.get(reverse("login-code")))), chance)
        waiting.post(reverse("login-code"), {"credential": answer})
        assert not is_in(waiting), answer
        CacheEntry.objects.all().delete()  # six wrong ones, and it would wait
    here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    for _ in range(DAMAGED):
        answer = damaged(Passkey().create(options_on(here.get(reverse("passkey-add")))), chance)
        here.post(reverse("passkey-add"), {"name": "x", "credential": answer})
    for key in passkeys_of(person):
        assert key.wrap().authenticator_data.credential_data.credential_id


DAMAGED = int(os.environ.get("DAMAGED_ANSWERS", "10"))
