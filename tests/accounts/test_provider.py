"""Single sign-on: who gets in by a provider, and whose answers are believed."""

from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import jwt
import pytest
from allauth.account.internal.flows import reauthentication
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts import adapters, provider
from accounts.limits import BEGINNINGS_FROM
from accounts.management.commands.person_traces import traces
from accounts.models import BrowserSession, CacheEntry, User
from accounts.services.credentials import keyed_digests
from accounts.services.identities import identity_forget, identity_set
from core.models import AuditEvent
from judging.people.services import invitation_create
from tests.accounts.acts import give_phone, shown_on_phone
from tests.accounts.oidc import CLIENT_ID, URL, Provider, jwk, key, providers
from tests.accounts.phone import PASSWORD, is_in, log_in
from tests.factories import ProjectFactory, lead
from tests.judging.concurrency.meeting import overlap

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ADDRESS = "203.0.113.9"
DID_NOT = "did not work"
NOT_LINKED = "No account here is linked"


@pytest.fixture(autouse=True)
def lab(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Provider:
    settings.SOCIALACCOUNT_PROVIDERS = providers(lab=URL)
    return Provider().patch(monkeypatch)


@pytest.fixture
def person() -> User:
    user = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=user, name="Some Body", email="some@example.org")
    return user


def link(client: Client, lab: Provider, name: str = "lab") -> None:
    """Log in, say once more who it is, and link."""
    log_in(client)
    url = reverse("openid_connect_login", args=[name])
    page = client.post(url).headers["Location"]
    assert page.startswith(reverse("account_reauthenticate"))
    answer = client.post(page, {"password": PASSWORD, "next": url})
    query = dict(part.split("=", 1) for part in urlsplit(answer.headers["Location"]).query.split("&"))
    lab.nonce = query["nonce"]
    assert lab.end(client, query, name=name).headers["Location"] == reverse("account")


@pytest.fixture
def linked(person: User, lab: Provider) -> User:
    link(Client(), lab)
    CacheEntry.objects.all().delete()  # the provider is asked again what it is
    assert SocialAccount.objects.get().user == person
    return person


def notices(client: Client) -> str:
    return client.get(reverse("login"), follow=True).text


class TestLinking:
    def test_takes_the_password_once_more(self, client: Client, person: User, lab: Provider) -> None:
        log_in(client)
        answer = client.post(reverse("openid_connect_login", args=["lab"]))
        page = answer.headers["Location"]
        assert page.startswith(reverse("account_reauthenticate"))
        assert client.post(page, {"password": "wrong"}).status_code == 422
        assert client.post(reverse("openid_connect_login", args=["lab"])).headers["Location"] == page
        assert not SocialAccount.objects.exists()

    def test_an_answer_that_comes_when_it_was_long_ago_links_nothing(
        self, client: Client, person: User, lab: Provider, settings: Settings
    ) -> None:
        log_in(client)
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        query = lab.begin(client)
        settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 0
        assert lab.end(client, query).headers["Location"] == reverse("account")
        assert "too long ago" in client.get(reverse("account")).text
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})  # for something else
        assert not SocialAccount.objects.exists()

    def test_a_confirmation_for_something_else_carries_out_nothing_that_waits(
        self, client: Client, linked: User, lab: Provider
    ) -> None:
        log_in(client)
        client.post(reverse("provider-unlink", args=["lab"]))
        form = {"password": PASSWORD, "next": reverse("tokens")}
        assert client.post(reverse("account_reauthenticate"), form).headers["Location"] == reverse("tokens")
        form["next"] = reverse("provider-unlink", args=["lab"])
        client.post(reverse("account_reauthenticate"), form)
        assert SocialAccount.objects.exists()

    @pytest.mark.parametrize("change", ["erased", "another password"])
    def test_an_account_that_changes_in_this_moment_stays_changed(
        self, client: Client, person: User, lab: Provider, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        log_in(client)
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        query = lab.begin(client)
        did_recently, rows = reauthentication.did_recently_reauthenticate, []

        def after_that(request: Any) -> bool:
            is_recent = did_recently(request)
            if change == "erased":
                identity_forget(user=person, actor=None, project=None)
            else:
                User.objects.update(password="another hash")
            rows.append(User.objects.values().get())
            return is_recent

        monkeypatch.setattr(reauthentication, "did_recently_reauthenticate", after_that)
        assert lab.end(client, query).status_code in (302, 400)  # the session may have ended, too
        assert [User.objects.values().get()] == rows
        assert not SocialAccount.objects.exists()

    def test_then_it_lets_in_and_no_one_else(self, client: Client, linked: User, lab: Provider) -> None:
        assert lab.log_in(client).headers["Location"] == "/"
        assert client.get(reverse("account")).context["user"] == linked
        lab.sub = "person-2"
        other = Client()
        assert lab.log_in(other).headers["Location"] == reverse("login")
        assert NOT_LINKED in notices(other)
        assert not is_in(other)

    def test_an_email_address_links_nothing(self, client: Client, person: User, lab: Provider) -> None:
        """The provider knows the same address, and says that it is verified."""
        assert lab.log_in(client).headers["Location"] == reverse("login")
        assert NOT_LINKED in notices(client)
        assert (User.objects.count(), SocialAccount.objects.count()) == (1, 0)

    def test_what_is_linked_with_somebody_is_not_taken_from_them(self, linked: User, lab: Provider) -> None:
        User.objects.create_user("other", PASSWORD)
        client = Client()
        log_in(client, name="other")
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert lab.log_in(client).headers["Location"] == reverse("account")
        assert "linked with another account" in client.get(reverse("account")).text
        assert SocialAccount.objects.get().user == linked

    def test_a_link_begun_by_one_is_not_ended_in_the_browser_of_another(
        self, client: Client, person: User, lab: Provider
    ) -> None:
        """Whoever makes somebody follow the end of their own log-in does not get in as them later."""
        User.objects.create_user("attacker", PASSWORD)
        attacker = Client()
        log_in(attacker, name="attacker")
        attacker.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        query = lab.begin(attacker)
        log_in(client)
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        lab.end(client, query)
        assert DID_NOT in client.get(reverse("account")).text
        assert not SocialAccount.objects.exists()

    def test_unlinked_it_lets_nobody_in_and_ends_other_sessions(self, linked: User, lab: Provider) -> None:
        there, here = Client(), Client()
        lab.log_in(there)
        log_in(here)
        url = reverse("provider-unlink", args=["lab"])
        assert here.post(url).headers["Location"].startswith(reverse("account_reauthenticate"))
        here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert here.post(url).status_code == 302
        assert (is_in(here), is_in(there)) == (True, False)
        lab.log_in(client := Client())
        assert not is_in(client)
        assert here.post(url).status_code == 404
        actions = AuditEvent.objects.filter(action__startswith="provider.").order_by("id").values_list("action", "data")
        assert list(actions) == [("provider.link", {"provider": "lab"}), ("provider.unlink", {"provider": "lab"})]

    def test_several_providers_are_not_confused(
        self, linked: User, lab: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = providers(lab=URL, other="https://other.example")
        page = Client().get(reverse("login")).text
        assert "Log in with lab" in page and "Log in with other" in page
        other = Provider("https://other.example").patch(monkeypatch, lab)
        other.end(client := Client(), other.begin(client, name="other"), name="other")
        assert not is_in(client)  # the same name of a person at another provider
        link(Client(), other, name="other")
        query = lab.begin(client)
        other.nonce = lab.nonce
        other.end(client, query, name="other")  # an answer of the one where the other's is waited for
        assert not is_in(client)
        other.end(client, other.begin(client, name="other"), name="other")
        assert is_in(client)

    def test_linking_alone_lets_one_choose_an_account_of_the_provider(
        self, client: Client, linked: User, lab: Provider
    ) -> None:
        assert "prompt" not in lab.begin(Client())
        log_in(client)
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert lab.begin(client)["prompt"] == "select_account"

    def test_a_link_outlives_a_new_key_of_the_site(self, linked: User, lab: Provider, settings: Settings) -> None:
        settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another" * 10
        lab.log_in(client := Client())
        assert is_in(client)
        settings.SECRET_KEY_FALLBACKS = []
        lab.log_in(client := Client())
        assert is_in(client)

    def test_of_links_under_several_former_keys_the_newest_outlives_them(
        self, linked: User, lab: Provider, settings: Settings
    ) -> None:
        former, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
        link(Client(), lab)
        settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY, former], "a third" * 10
        newest = SocialAccount.objects.latest("date_joined")
        for _ in range(2):
            lab.log_in(client := Client())
            assert is_in(client)
        assert SocialAccount.objects.get() == newest

    def test_one_that_the_site_uses_no_longer_is_listed_and_can_be_unlinked(
        self, client: Client, linked: User, settings: Settings
    ) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = providers()
        log_in(client)
        assert "uses it no longer" in client.get(reverse("account")).text
        client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        assert client.post(reverse("provider-unlink", args=["lab"])).status_code == 302
        assert not SocialAccount.objects.exists()


class TestSecondStep:
    def test_follows_a_provider_too(self, client: Client, linked: User, lab: Provider) -> None:
        give_phone(linked)
        assert lab.log_in(client).headers["Location"] == reverse("login-code")
        assert not is_in(client)
        assert client.post(reverse("login-code"), {"code": shown_on_phone(linked)}).headers["Location"] == "/"
        assert is_in(client)

    def test_a_role_that_must_have_one_is_not_satisfied_by_a_provider(
        self, client: Client, linked: User, lab: Provider, settings: Settings
    ) -> None:
        settings.TOTP_REQUIRED_FOR = ["lead"]
        project = ProjectFactory()
        linked.memberships.create(project=project, roles=["lead"])
        lab.log_in(client)
        overview = reverse("judging:overview", args=[project.uuid])
        assert client.get(overview).headers["Location"] == reverse("totp")

    def test_one_that_waits_for_it_ends_with_the_link(self, client: Client, linked: User, lab: Provider) -> None:
        give_phone(linked)
        lab.log_in(client)
        SocialAccount.objects.all().delete()
        code = {"code": shown_on_phone(linked)}
        assert client.post(reverse("login-code"), code).headers["Location"] == reverse("login")
        assert "changed a moment ago" in notices(client)
        assert not is_in(client)

    def test_who_is_no_more_gets_in_by_none(self, client: Client, linked: User, lab: Provider) -> None:
        User.objects.update(is_active=False)
        lab.log_in(client)
        assert "no longer in use" in notices(client)
        assert not is_in(client)


class TestBelieved:
    """Each answer but the right one is refused, in words, and nobody is logged in."""

    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": "https://sso.example.net/realms/other"},
            {"iss": None},
            {"aud": "another-site"},
            {"aud": [CLIENT_ID, "another"], "azp": "another"},
            {"aud": None},
            {"exp": 1},
            {"exp": None},
            {"iat": 4102444800},
            {"iat": None},
            {"nonce": "another"},
            {"nonce": None},
            {"nonce": ["a"]},
            {"sub": None},
            {"sub": ""},
        ],
        ids=str,
    )
    def test_no_other_claims(self, client: Client, linked: User, lab: Provider, claims: dict[str, Any]) -> None:
        if claims == {"sub": ""}:  # one that names nobody would be everybody
            uid = keyed_digests("accounts.provider", f"{URL} ")[0]
            SocialAccount.objects.create(user=linked, provider="lab", uid=uid)
        lab.claims = claims
        assert lab.log_in(client).headers["Location"] == reverse("login")
        assert not is_in(client)

    @pytest.mark.parametrize(
        "signing",
        [
            {"key": "", "algorithm": "none"},
            {"key": key("theirs"), "algorithm": "RS256", "headers": {"kid": "ours"}},
            {"key": key("theirs"), "algorithm": "RS256", "headers": {"kid": "theirs"}},
            {"key": "x" * 40, "algorithm": "HS256", "headers": {"kid": "ours"}},
            {"key": "lab-secret" * 4, "algorithm": "HS256"},
        ],
        ids=["none", "another key", "an unknown key", "a shared word", "the client's secret"],
    )
    def test_no_other_signature(self, client: Client, linked: User, lab: Provider, signing: dict[str, Any]) -> None:
        lab.signing = signing
        assert lab.log_in(client).headers["Location"] == reverse("login")
        assert DID_NOT in notices(client)
        assert not is_in(client)

    def test_no_public_key_as_a_shared_word(
        self, client: Client, linked: User, lab: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Anybody can sign with the published key."""
        public = jwt.algorithms.RSAAlgorithm.from_jwk(jwk())
        from cryptography.hazmat.primitives import serialization as forms

        pem = public.public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)  # type: ignore[union-attr]
        monkeypatch.setattr("jwt.algorithms.is_pem_format", lambda key: False)
        lab.signing = {"key": pem, "algorithm": "HS256", "headers": {"kid": "ours"}}
        lab.log_in(client)
        assert not is_in(client)

    def test_no_provider_that_says_it_is_another(self, client: Client, linked: User, lab: Provider) -> None:
        lab.config = {"issuer": "https://sso.example.net/realms/other"}
        answer = client.post(reverse("openid_connect_login", args=["lab"]))
        assert answer.headers["Location"] == reverse("login")
        assert DID_NOT in notices(client)

    @pytest.mark.parametrize("state", ["", "x", "0" * 16])
    def test_no_answer_without_a_question(self, client: Client, linked: User, lab: Provider, state: str) -> None:
        query = lab.begin(client)
        lab.end(client, query, state=state)
        assert DID_NOT in notices(client)
        assert not is_in(client)

    def test_no_answer_in_another_browser(self, client: Client, linked: User, lab: Provider) -> None:
        query = lab.begin(client)
        victim = Client()
        lab.end(victim, query)
        assert not is_in(victim)

    def test_no_answer_twice(self, client: Client, linked: User, lab: Provider) -> None:
        """In one session, which is not emptied in between: the first answer waits for its second step."""
        give_phone(linked)
        query = lab.begin(client)
        assert lab.end(client, query).headers["Location"] == reverse("login-code")
        assert lab.end(client, query).headers["Location"] == reverse("login")
        assert DID_NOT in notices(client)

    def test_no_code_of_another_log_in(self, client: Client, linked: User, lab: Provider) -> None:
        """A code that was caught opens nothing in the browser of who caught it: its nonce is of another question."""
        lab.begin(client)
        caught = lab.nonce
        thief = Client()
        query = lab.begin(thief)
        lab.nonce = caught
        lab.end(thief, query)
        assert not is_in(thief)

    def test_no_answer_after_ten_minutes(
        self, client: Client, linked: User, lab: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import time

        query = lab.begin(client)
        now = time.time()
        monkeypatch.setattr("allauth.socialaccount.internal.statekit.time.time", lambda: now + 601)
        lab.end(client, query)
        assert not is_in(client)

    def test_the_code_is_bound_to_the_browser_that_began(self, client: Client, linked: User, lab: Provider) -> None:
        query = lab.begin(client)
        assert query["code_challenge_method"] == "S256"
        lab.end(client, query)
        assert lab.verifies(query)
        assert lab.begin(Client())["code_challenge"] != query["code_challenge"]

    def test_nothing_of_the_address_reaches_the_provider(self, client: Client, linked: User, lab: Provider) -> None:
        url = reverse("openid_connect_login", args=["lab"])
        answer = client.post(
            f"{url}?scope=email,profile&auth_params=redirect_uri%3Dhttps://evil.example&process=connect"
        )
        params = urlsplit(answer.headers["Location"]).query
        assert "evil" not in params and "email" not in params and "scope=openid&" in f"{params}&"

    def test_a_refusal_there_is_shown_here(self, client: Client, linked: User, lab: Provider) -> None:
        query = lab.begin(client)
        client.get(
            reverse("openid_connect_callback", args=["lab"]), {"state": query["state"], "error": "access_denied"}
        )
        assert DID_NOT in notices(client)

    def test_it_leads_where_one_wanted_to_go_and_nowhere_else(
        self, client: Client, linked: User, lab: Provider
    ) -> None:
        assert lab.log_in(client, next=reverse("tokens")).headers["Location"] == reverse("tokens")
        assert lab.log_in(Client(), next="https://evil.example/").headers["Location"] == "/"

    def test_the_key_of_a_session_is_another_afterwards(self, client: Client, linked: User, lab: Provider) -> None:
        query = lab.begin(client)
        before = client.cookies["sessionid"].value
        lab.end(client, query)
        assert client.cookies["sessionid"].value != before
        assert not BrowserSession.objects.filter(session_key=before).exists()

    def test_a_link_alone_begins_nothing(self, client: Client) -> None:
        assert client.get(reverse("openid_connect_login", args=["lab"])).status_code == 405
        assert client.post(reverse("openid_connect_login", args=["nobody"])).status_code == 404
        assert client.get(reverse("openid_connect_callback", args=["nobody"])).status_code == 404


class TestUnavailable:
    def test_the_password_lets_in_still(self, client: Client, linked: User, lab: Provider) -> None:
        lab.is_unavailable = True
        assert client.post(reverse("openid_connect_login", args=["lab"])).headers["Location"] == reverse("login")
        assert DID_NOT in notices(client)
        assert log_in(client).status_code == 302
        assert is_in(client)

    def test_when_it_comes_back_too(self, client: Client, linked: User, lab: Provider) -> None:
        query = lab.begin(client)
        lab.is_unavailable = True
        assert lab.end(client, query).headers["Location"] == reverse("login")
        assert DID_NOT in notices(client)

    @pytest.mark.parametrize("config", [{"jwks_uri": None}, {"token_endpoint": None}, {"authorization_endpoint": None}])
    def test_one_that_answers_nonsense(
        self, client: Client, linked: User, lab: Provider, config: dict[str, Any]
    ) -> None:
        lab.config = config
        answer = client.post(reverse("openid_connect_login", args=["lab"]))
        assert answer.status_code == 302

    def test_one_that_hangs_takes_two_threads_and_none_of_another(
        self, client: Client, lab: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = providers(lab=URL, other="https://other.example")
        Provider("https://other.example").patch(monkeypatch, lab)
        turns = provider.turns_of("lab")
        monkeypatch.setattr(turns, "wait_s", 0.01)
        with turns.take(), turns.take():
            answer = client.post("/login/by/lab/")
            assert answer.status_code == 503 and "Wait half a minute" in answer.text
            assert client.post("/login/by/other/").headers["Location"].startswith("https://other.example/authorize")
        assert client.post("/login/by/lab/").status_code == 302

    def test_its_configuration_is_read_once_in_some_minutes(self, linked: User, lab: Provider) -> None:
        lab.requests.clear()
        lab.log_in(Client())
        lab.log_in(Client())
        assert lab.requests.count("/.well-known/openid-configuration") == 1
        CacheEntry.objects.update(expires="2026-01-01T00:00Z")
        lab.begin(Client())
        assert lab.requests.count("/.well-known/openid-configuration") == 2

    def test_an_address_begins_so_many_log_ins_and_no_more(
        self, client: Client, lab: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(provider, "BEGINNINGS_FROM", BEGINNINGS_FROM._replace(most=2))
        assert [Client().post("/login/by/lab/").status_code for _ in range(3)] == [302, 302, 429]
        assert BrowserSession.objects.count() == 2

    def test_an_address_without_tries_left_stores_nothing_for_names_that_it_invents(
        self, client: Client, settings: Settings
    ) -> None:
        settings.LOGIN_TRIES_FROM = 2
        answers = [log_in(client, "wrong", name=f"name-{number}").status_code for number in range(5)]
        assert answers == [200, 200, 429, 429, 429]
        assert CacheEntry.objects.count() == 1 + 2 * 2  # the address; each name, and each with the address

    @pytest.mark.parametrize("name", ["openid_connect", "nobody"])
    def test_one_that_is_not_configured_is_not_found(self, client: Client, settings: Settings, name: str) -> None:
        settings.SOCIALACCOUNT_PROVIDERS = providers(lab=URL, other="https://other.example.net")
        assert client.post(f"/login/by/{name}/").status_code == 404
        assert client.get(f"/login/by/{name}/done/").status_code == 404

    @pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
    def test_it_sends_nobody_where_others_listen(self, client: Client, lab: Provider, endpoint: str) -> None:
        lab.config = {endpoint: "http://10.0.0.1/metadata"}
        answer = client.post("/login/by/lab/")
        assert answer.headers["Location"] == reverse("login") and DID_NOT in notices(client)


class TestPrivacy:
    def test_but_a_digest(self, client: Client, linked: User, lab: Provider) -> None:
        lab.log_in(client)
        give_phone(linked)
        lab.log_in(Client())  # which waits for the code
        account = SocialAccount.objects.get()
        assert (account.extra_data, account.uid.isalnum(), len(account.uid)) == ({}, True, 64)
        assert not SocialToken.objects.exists() and not EmailAddress.objects.exists()
        assert set(traces(["some@example.org", "Some Body"])) == {"accounts_identity.email", "accounts_identity.name"}
        assert traces(["person-1", "an-access-token"]) == {}
        for session in BrowserSession.objects.all():
            data = str(session.get_decoded())
            assert not [
                word for word in ("an-access-token", "some@example.org", "person-1", "Some Body") if word in data
            ]

    def test_sessions_hold_no_address_browser_cookie_or_password_hash(
        self, linked: User, lab: Provider, settings: Settings
    ) -> None:
        """Of a log-in that waits for its second step, of what waits for the password, of an answer that is late."""
        browser: dict[str, Any] = {"headers": {"User-Agent": FIREFOX, "X-Forwarded-For": ADDRESS}}
        waiting, here = (Client(**browser, REMOTE_ADDR=ADDRESS) for _ in range(2))
        log_in(here)
        passkey = uuid4()
        Authenticator.objects.create(user=linked, type="webauthn", data={"uuid": str(passkey)})
        assert lab.log_in(waiting).headers["Location"] == reverse("login-code")
        linked.refresh_from_db()
        secrets = [ADDRESS, "Firefox/140", here.cookies["sessionid"].value, linked.password]
        actions = [reverse(name, args=["lab"]) for name in ("openid_connect_login", "provider-unlink")]
        for url in (*actions, reverse("passkey-add"), reverse("passkey-remove", args=[passkey])):
            assert here.post(url).headers["Location"].startswith(reverse("account_reauthenticate"))
            assert [word for word in secrets if word in in_sessions()] == []
        here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
        query = lab.begin(here)
        settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 0
        lab.end(here, query)
        assert [word for word in secrets if word in in_sessions()] == []

    def test_the_scope_is_openid_alone(self, client: Client, lab: Provider) -> None:
        assert lab.begin(client)["scope"] == "openid"


def in_sessions() -> str:
    """Return all that the stored sessions hold."""
    return str([session.get_decoded() for session in BrowserSession.objects.all()])


@pytest.mark.django_db(transaction=True)
def test_unlinking_ends_the_session_that_a_log_in_stores(
    linked: User, lab: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log-in has checked the link, and locks the account until its session is there to be ended."""
    here, there = Client(), Client()
    log_in(here)
    here.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    query = lab.begin(there)
    unlinking = lambda: here.post(reverse("provider-unlink", args=["lab"]))  # noqa: E731
    answers = overlap(monkeypatch, (adapters.DefaultAccountAdapter, "login"), lambda: lab.end(there, query), unlinking)
    assert [answer.status_code for answer in answers] == [302, 302]
    assert (is_in(here), is_in(there)) == (True, False)


@pytest.mark.parametrize("change", ["unlinked", "erased", "another password"])
def test_a_log_in_that_a_change_overtakes_stores_no_session(
    client: Client, linked: User, lab: Provider, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    handle = AuthenticateStage.handle

    def then_change(stage: AuthenticateStage) -> Any:
        response = handle(stage)
        match change:
            case "unlinked":
                SocialAccount.objects.all().delete()
            case "erased":
                identity_forget(user=linked, actor=None, project=None)
            case _:
                User.objects.update(password="another hash")
        return response

    monkeypatch.setattr(AuthenticateStage, "handle", then_change)
    User.objects.update(last_login=None)
    BrowserSession.objects.all().delete()
    assert lab.log_in(client).headers["Location"] == reverse("login")
    assert "changed a moment ago" in notices(client)
    assert not BrowserSession.objects.filter(user=linked).exists()
    assert User.objects.get().last_login is None


def test_signing_in_joins_no_project_and_an_invitation_does(client: Client, linked: User, lab: Provider) -> None:
    project = ProjectFactory(registration_is_open=True)
    lab.log_in(client)
    assert not linked.memberships.exists()
    _, path = invitation_create(project=project, actor=lead(project), role="annotator")
    assert client.post(path).status_code == 302
    assert linked.memberships.get().project == project


def test_signing_out_everywhere_ends_what_began_by_a_provider(linked: User, lab: Provider) -> None:
    here, there = Client(), Client()
    log_in(here)
    lab.log_in(there)
    here.post(reverse("sessions-end"))
    assert (is_in(here), is_in(there)) == (True, False)


@pytest.mark.parametrize(
    "path",
    [
        "signup",
        "confirm-email/x",
        "email",
        "password/set",
        "password/change",
        "3rdparty",
        "3rdparty/signup",
        "3rdparty/login/error",
        "social/connections",
        "oidc/lab/login",
        "oidc/lab/login/callback",
        "2fa",
        "2fa/totp/activate",
        "2fa/recovery-codes",
        "2fa/recovery-codes/download",
        "2fa/webauthn/signup",
        "account/inactive",
        "inactive",
        "login/code/confirm",
        "sessions",
        "accounts/login",
        "reauthenticate",
    ],
)
def test_pages_of_the_library_that_are_not_offered_are_not_there(client: Client, person: User, path: str) -> None:
    assert client.get(f"/{path}/").status_code == 404
    client.force_login(person)
    assert client.get(f"/{path}/").status_code == 404
    assert client.post(f"/{path}/").status_code == 404
