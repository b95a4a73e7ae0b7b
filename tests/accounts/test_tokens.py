"""API tokens: made on a page, shown once, kept as a hash, revoked."""

import re
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from accounts.models import AccessToken, User
from accounts.services.credentials import MOST, SCOPES, token_create, token_revoke
from core.exceptions import NotPossible
from core.models import AuditEvent
from tests.factories import NOW, UserFactory

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r"mj_[\w-]{43}")
PASSWORD = "a long password"
KNOWN = {"password": PASSWORD}
PROJECTS = "/api/v1/projects/"
NO_DAYS = ["0", "-1", "9999", "x", "1.5", "٣٠", "9" * 50]


@pytest.fixture
def person() -> User:
    return User.objects.create_user("somebody", PASSWORD)


@pytest.fixture
def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_token_is_expired_from_the_moment_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    ends = {NOW - timedelta(seconds=1): True, NOW: True, NOW + timedelta(seconds=1): False, None: False}
    assert {end: AccessToken(expires_at=end).is_expired for end in ends} == ends


def opens(token: str) -> bool:
    return Client(headers={"Authorization": f"Bearer {token}"}).get(PROJECTS).status_code == 200


def test_a_token_is_shown_once_and_opens_the_api(browser: Client, person: User) -> None:
    response = browser.post(reverse("tokens"), {**KNOWN, "name": " laptop "})
    (token,) = TOKEN.findall(response.content.decode())
    assert response.headers["Cache-Control"] == "no-store"
    assert opens(token)
    later = browser.get(reverse("tokens")).content.decode()
    assert TOKEN.findall(later) == []
    assert "laptop" in later


@pytest.mark.parametrize("password", ["", "not theirs"])
def test_a_borrowed_session_makes_none(browser: Client, password: str) -> None:
    answer = browser.post(reverse("tokens"), {"name": "laptop", "password": password})
    assert answer.status_code == 422
    assert 'value="laptop"' in answer.content.decode()
    assert not AccessToken.objects.exists()


def test_only_its_hash_is_saved(person: User) -> None:
    token = token_create(user=person, name="laptop")
    access_token = AccessToken.objects.get()
    assert access_token.digest == sha256(token.encode()).hexdigest()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" shown WHERE shown::text LIKE %s', [f"%{token[3:]}%"])
            assert cursor.fetchone() == (0,), table


def test_the_table_refuses_what_is_no_hash(person: User) -> None:
    with pytest.raises(IntegrityError, match="access_token_is_kept_as_digest"):
        AccessToken.objects.create(user=person, name="plain", digest="mj_secret", scopes=["read"])


def test_a_revoked_token_opens_nothing(browser: Client, person: User) -> None:
    token, other = token_create(user=person, name="laptop"), token_create(user=person, name="desk")
    uuid = person.access_tokens.get(name="laptop").uuid
    answer = browser.post(reverse("token-revoke", args=[uuid]))
    assert answer.headers["Location"] == reverse("tokens")
    assert (opens(token), opens(other)) == (False, True)
    assert browser.post(reverse("token-revoke", args=[uuid])).status_code == 404


def test_nobody_sees_or_revokes_the_tokens_of_others(browser: Client) -> None:
    token = token_create(user=UserFactory(), name="of somebody else")
    assert "of somebody else" not in browser.get(reverse("tokens")).content.decode()
    assert browser.post(reverse("token-revoke", args=[AccessToken.objects.get().uuid])).status_code == 404
    assert opens(token)


def test_making_and_revoking_are_written_down(person: User) -> None:
    token_create(user=person, name="laptop")
    access_token = AccessToken.objects.get()
    token_revoke(user=person, uuid=access_token.uuid)
    events = AuditEvent.objects.order_by("id").values_list("action", "actor", "subject", "data")
    data = {"scopes": SCOPES, "expires_at": access_token.expires_at.isoformat()[:23] + "Z"}
    assert list(events) == [
        ("token.create", person.pk, access_token.uuid, data),
        ("token.revoke", person.pk, access_token.uuid, {}),
    ]


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "x" * 1000, "a\0b", "taken"])
def test_a_name_that_does_not_do(browser: Client, person: User, name: str) -> None:
    token_create(user=person, name="taken")
    answer = browser.post(reverse("tokens"), {**KNOWN, "name": name})
    assert (answer.status_code, answer.content.decode().count('role="alert"')) == (409, 1)
    assert AccessToken.objects.count() == 1


def test_a_person_has_so_many_at_most(person: User) -> None:
    for number in range(MOST):
        token_create(user=person, name=f"token {number}")
    with pytest.raises(NotPossible, match="revoke one"):
        token_create(user=person, name="one more")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer x y", "Bearer \x00", "Token mj_x", "mj_x"])
def test_headers_that_are_no_token(header: str) -> None:
    assert Client(headers={"Authorization": header}).get(PROJECTS).status_code == 401


class TestScopes:
    def send_request(self, person: User, method: str, scopes: list[str]) -> tuple[int, str]:
        token = token_create(user=person, name=" ".join([method, *scopes]), scopes=scopes)
        client = Client(headers={"Authorization": f"Bearer {token}"})
        answer = client.generic(
            method, f"/api/v1/projects/{uuid4()}/assignment/", "{}", content_type="application/json"
        )
        return answer.status_code, answer.json()["code"] + answer.json()["message"]

    def test_what_is_missing_is_named(self, person: User) -> None:
        status, message = self.send_request(person, "POST", ["read", "upload", "manage"])
        assert (status, message[:13]) == (403, "scope_missing")
        assert "'judge'" in message
        status, message = self.send_request(person, "GET", ["judge"])
        assert (status, "'read'" in message) == (403, True)
        for method, scope in (("GET", "read"), ("POST", "judge")):
            assert self.send_request(person, method, [scope])[0] == 404  # nothing is there, but one may ask

    def test_who_writes_says_by_which_scope(self) -> None:
        """Only what a lead or admin does is left to the scope that is the default."""
        names_by_scope: dict[str, set[str]] = {}
        for route in get_resolver().namespace_dict["api"][1].url_patterns:
            view = route.callback.cls
            methods = {method.upper() for method in view.http_method_names if hasattr(view, method)} - set(SAFE_METHODS)
            if methods:
                names_by_scope.setdefault(view.writes, set()).add(route.name)
        judging = {"assignment", "heartbeat", "finish", "return", "judgment", "flag"}
        judging |= {"clip", "clip-queries", "clip-return", "clip-exhausted"}  # of writers
        judging |= {"query-to-check", "query-check", "check-undo"}  # of checkers
        assert names_by_scope.pop("judge") == judging
        assert names_by_scope.pop("upload") == {"runs", "run", "truth-runs", "truth-run"}
        assert names_by_scope.keys() == {"manage"}
        assert {"review", "withdraw", "query-set", "experiments", "captions-rewrite"} <= names_by_scope["manage"]


@pytest.mark.parametrize(
    "change", [*({"scope": scope} for scope in ([], ["everything"], [""])), *({"days": days} for days in NO_DAYS)]
)
def test_a_form_with_a_scope_or_days_that_cannot_be(browser: Client, change: dict[str, object]) -> None:
    form = {**KNOWN, "name": "laptop", "days": "90", "scope": ["read"], **change}
    assert browser.post(reverse("tokens"), form).status_code == 409
    assert not AccessToken.objects.exists()


def test_the_form_grants_what_is_ticked_for_as_long_as_is_chosen(browser: Client) -> None:
    browser.post(reverse("tokens"), {**KNOWN, "name": "laptop", "scope": ["judge", "read"], "days": ""})
    token = AccessToken.objects.get()
    assert (token.scopes, token.expires_at) == (["read", "judge"], None)


class TestEnding:
    def test_after_90_days_by_default(self, person: User) -> None:
        token_create(user=person, name="laptop")
        ends = AccessToken.objects.get().expires_at
        assert ends is not None
        assert abs(ends - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)

    def test_an_expired_token_opens_nothing(self, person: User, browser: Client) -> None:
        token = token_create(user=person, name="laptop")
        AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        answer = Client(headers={"Authorization": f"Bearer {token}"}).get(PROJECTS)
        assert (answer.status_code, "expired" in answer.json()["message"]) == (401, True)
        assert "<b>expired</b>" in browser.get(reverse("tokens")).content.decode()

    def test_when_it_was_used_is_true_to_ten_minutes(self, person: User, browser: Client) -> None:
        token = token_create(user=person, name="laptop")
        assert "never" in browser.get(reverse("tokens")).content.decode()
        long_ago, of_late = timezone.now() - timedelta(days=1), timezone.now() - timedelta(minutes=9)
        for before, is_written in ((None, True), (long_ago, True), (of_late, False)):
            AccessToken.objects.update(used_at=before)
            opens(token)
            assert (AccessToken.objects.get().used_at != before) is is_written
