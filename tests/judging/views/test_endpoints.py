"""Every page of every app: who gets in, and what the others are told."""

from copy import deepcopy

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, User
from judging.models import Release
from models_runner.models import Run
from tests.factories import MembershipFactory, UserFactory, triggers_asleep
from tests.judging.views.endpoints import ENDPOINTS, HOLDER_ENDPOINTS, OPEN, Endpoint, Site
from tests.judging.views.endpoints.owned import TRIED
from tests.judging.views.endpoints.routes import page_routes

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Site:
    return Site()


@pytest.fixture
def scenario(db: None, module_scenario: Site) -> Site:
    return deepcopy(module_scenario)


def names(endpoints: list[Endpoint]) -> list[str]:
    return [endpoint[0] for endpoint in endpoints]


@pytest.mark.parametrize("route", ENDPOINTS + HOLDER_ENDPOINTS, ids=names(ENDPOINTS + HOLDER_ENDPOINTS))
def test_endpoint(route: Endpoint, scenario: Site) -> None:
    """Who is refused goes first: nothing may have changed when the others come."""
    strangers_learn_nothing(route, scenario)
    anonymous_people_must_log_in(route, scenario)
    nobody_finds_what_does_not_exist(route, scenario)
    for role, person in scenario.people.items():
        answer = scenario.request(route, person)
        if role in route[2]:
            assert answer.status_code in (200, 204, 302), role
            assert "/login/" not in answer.headers.get("Location", "")
        else:
            assert answer.status_code == (404 if route in HOLDER_ENDPOINTS else 403), role


def strangers_learn_nothing(endpoint: Endpoint, site: Site) -> None:
    """Whoever has elsewhere a role that gets in here is answered as if nothing were there."""
    for role in endpoint[2]:
        assert site.request(endpoint, site.strangers[role]).status_code == 404, role


def anonymous_people_must_log_in(endpoint: Endpoint, site: Site) -> None:
    for unknown in (False, True):
        answer = site.request(endpoint, None, unknown=unknown)
        assert (answer.status_code, answer.headers["Location"]) == (
            302,
            f"{reverse('login')}?next={answer.wsgi_request.path}",  # type: ignore[attr-defined]
        )


def nobody_finds_what_does_not_exist(endpoint: Endpoint, site: Site) -> None:
    assert site.request(endpoint, site.people[max(endpoint[2])], unknown=True).status_code == 404


@pytest.mark.parametrize(
    "route", [route for route in ENDPOINTS + HOLDER_ENDPOINTS if route[3] == "post"], ids=lambda route: route[0]
)
def test_writing_takes_a_post_with_its_token(route: Endpoint, scenario: Site) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(scenario.people[next(role for role in scenario.people if role in route[2])])
    assert client.get(scenario.url(route)).status_code == 302  # back to the page, as after logging in again
    assert client.post(scenario.url(route), scenario.form()).status_code == 403


def test_every_route_is_tried() -> None:
    pages = {name for name in TRIED if not name.startswith("api:")}
    assert page_routes() == set(names(ENDPOINTS + HOLDER_ENDPOINTS)) | set(OPEN) | pages


def test_who_lost_the_role_keeps_no_access(scenario: Site) -> None:
    """A pair's holder who became a lead is refused: who sees others' grades does not judge."""
    person = scenario.people["annotator"]
    with triggers_asleep():  # which refuse it in the first place
        Membership.objects.filter(user=person).update(roles=["lead"], number=None, status="")
    endpoints = [endpoint for endpoint in HOLDER_ENDPOINTS if "annotator" in endpoint[2]]
    assert {scenario.request(endpoint, person).status_code for endpoint in endpoints} == {403}


def test_release_and_run_that_are_not_ready(scenario: Site) -> None:
    with triggers_asleep():
        Release.objects.update(state="preparing")
    Run.objects.update(state="running")
    for name in ("judging:release-download", "models_runner:run-download"):
        endpoint = next(endpoint for endpoint in ENDPOINTS if endpoint[0] == name)
        assert scenario.request(endpoint, scenario.people["lead"]).status_code == 404


class TestOpenPages:
    def test_home_leads_to_the_page_of_the_only_role_or_lists_projects(self, scenario: Site, client: Client) -> None:
        for role, page in (("annotator", "judging:desk"), ("lead", "judging:overview"), ("admin", "judging:overview")):
            client.force_login(scenario.people[role])
            assert client.get("/").headers["Location"] == reverse(page, args=[scenario.project.uuid])
        other = MembershipFactory(user=scenario.people["admin"]).project
        page = client.get("/").content.decode()
        assert scenario.project.name in page and other.name in page

    def test_of_nobody_and_of_somebody_without_project(self, client: Client) -> None:
        assert client.get(reverse("help")).status_code == 200
        assert client.get(reverse("healthz")).content == b"ok\n"
        assert client.get("/").headers["Location"] == f"{reverse('login')}?next=/"
        client.force_login(UserFactory())
        assert "No project yet" in client.get("/").content.decode()

    def test_login(self, client: Client) -> None:
        """Nobody logs in without a password, with a wrong one or when inactive."""
        for name, password in (("somebody", "a long password"), ("historic-1", None), ("gone", "a long password")):
            User.objects.create_user(name, password)
        User.objects.filter(username="gone").update(is_active=False)
        wrong = (("somebody", "no"), ("historic-1", ""), ("historic-1", "!"), ("gone", "a long password"))
        for username, password in wrong:
            assert client.post(reverse("login"), {"username": username, "password": password}).status_code == 200
            assert "_auth_user_id" not in client.session
        right = client.post(reverse("login"), {"username": "somebody", "password": "a long password"})
        assert right.headers["Location"] == "/"
        assert client.post(reverse("logout")).headers["Location"] == reverse("login")
