"""No page fails on words that the database cannot take: with a NUL byte, longer than any column, beyond any number."""

from copy import deepcopy

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from judging.people.services import invitation_create
from tests.factories import ProjectFactory, lead
from tests.judging.views.endpoints import ENDPOINTS, HOLDER_ENDPOINTS, Endpoint, Site

pytestmark = pytest.mark.django_db
NUL, LONG, NUMBER = "\0", "x" * 5000, "9" * 30
PARAMETERS = [  # in addresses, by any page
    *("action", "after", "annotator", "base", "before", "caption", "check", "convention", "every", "form", "from"),
    *("gain", "group", "guideline", "kind", "limit", "measure", "moment", "one", "other", "page", "policy", "q"),
    *("query", "release", "run", "seed", "seen", "show", "sort", "split", "status", "state", "status", "to"),
    *("training", "tried", "until", "version", "who", "words"),
]


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Site:
    return Site()


@pytest.fixture
def scenario(db: None, module_scenario: Site) -> Site:
    return deepcopy(module_scenario)


def browser(site: Site, endpoint: Endpoint) -> Client:
    client = Client()
    client.force_login(site.people[min(endpoint[2])])
    return client


@pytest.mark.slow
@pytest.mark.parametrize(
    "route", [route for route in ENDPOINTS + HOLDER_ENDPOINTS if route[3] == "get"], ids=lambda route: route[0]
)
def test_in_an_address(route: Endpoint, scenario: Site) -> None:
    client, url = browser(scenario, route), scenario.url(route)
    for odd in (NUL, LONG[:200], NUMBER):  # a longer address is refused by the server before
        assert client.get(url, dict.fromkeys(PARAMETERS, odd)).status_code < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    "route", [route for route in ENDPOINTS + HOLDER_ENDPOINTS if route[3] == "post"], ids=lambda route: route[0]
)
def test_in_a_form(route: Endpoint, scenario: Site) -> None:
    client, url, form = browser(scenario, route), scenario.url(route), scenario.form(route)
    for field in form:
        for odd in (NUL, LONG, NUMBER):
            assert client.post(url, {**form, field: odd}).status_code < 500, (field, odd[:9])


JOINING = {"username": "ada", "name": "A", "email": "a@example.org", "password": "a long password", "again": "no"}
OWN: dict[str, dict[str, str]] = {  # the account's, by route
    "account": {"name": "A", "email": "a@example.org"},
    "tokens": {"name": "laptop", "scope": "read", "days": "90"},
    "totp": {"code": "123456"},
    "totp-codes": {"password": "x"},
    "password-change": {"old_password": "x", "new_password1": "y", "new_password2": "z"},
}


def answers(client: Client, url: str, form: dict[str, str]) -> set[int]:
    status_codes = set()
    for field in form:
        for odd in (NUL, LONG, NUMBER):
            status_codes.add(client.post(url, {**form, field: odd}).status_code)
    return status_codes


@pytest.mark.parametrize("name", OWN)
def test_in_a_form_of_the_account(name: str, client: Client) -> None:
    client.force_login(User.objects.create_user("somebody", "a long password"))
    assert max(answers(client, reverse(name), OWN[name])) < 500


def test_in_a_form_of_who_is_nobody_yet(client: Client) -> None:
    project = ProjectFactory(registration_is_open=True)
    _, invitation = invitation_create(project=project, actor=lead(project), role="annotator")
    for url in (reverse("judging:join", args=[project.uuid]), invitation):
        assert answers(client, url, JOINING) <= {302, 422}
        client.logout()
    assert answers(client, reverse("password-forgotten"), {"email": "a@example.org"}) == {422}
    assert answers(client, reverse("login"), {"username": "ada", "password": "x"}) <= {200, 429}


@pytest.mark.parametrize("odd", ["%00", "x" * 3000, "9" * 300])
def test_in_a_link(odd: str, client: Client) -> None:
    for link in ("/invitations/{}/", "/password/choose/{}/set-password/", "/password/choose/MQ/{}/"):
        assert client.get(link.format(odd)).status_code < 500


@pytest.mark.parametrize("odd", [NUL, LONG, "\xff"])
def test_in_what_says_who_one_is(odd: str, client: Client) -> None:
    client.cookies["sessionid"] = odd * 10
    assert client.get(reverse("account")).status_code == 302
    assert client.get("/api/v1/projects/", headers={"Authorization": f"Bearer {odd}"}).status_code == 401
