"""Every route that names something of somebody's, by a second person of every role: they learn and change nothing."""

from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver

from accounts.models import BrowserSession, Membership, User
from tests.factories import MembershipFactory
from tests.judging.views.endpoints.owned import BY_ROLE, OWNED, TRIED, ByRole, Owned, OwnedSite, client_of
from tests.judging.views.endpoints.routes import ENDPOINTS, OPEN
from tests.tables import rows_of

pytestmark = pytest.mark.django_db
APPS = ("core", "accounts", "annotation", "judging", "models_runner")


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> OwnedSite:
    return OwnedSite()


@pytest.fixture
def scenario(db: None, module_scenario: OwnedSite, settings: Any, tmp_path: Path) -> OwnedSite:
    settings.EXPERIMENTS_ROOT = tmp_path
    return deepcopy(module_scenario)


def names(row: Owned | ByRole) -> str:
    return f"{row.method} {row.route}"


def got_in(answer: HttpResponse) -> bool:
    return answer.status_code in (200, 201, 204, 302) and "/login/" not in answer.headers.get("Location", "")


def everything_but_sessions_of(people: list[User]) -> set[tuple[str, str]]:
    """A session remembers which project its person looked at last."""
    own, sessions = tuple(f",{person.pk})" for person in people), BrowserSession._meta.db_table
    every_row = {(table, row) for app in APPS for table, rows in rows_of(app).items() for row in rows}
    return {(table, row) for table, row in every_row if table != sessions or not row.endswith(own)}


@pytest.mark.parametrize("row", OWNED, ids=names)
def test_who_owns_it_gets_in(row: Owned, scenario: OwnedSite) -> None:
    answer = scenario.try_route(row, client_of(row, scenario.people[row.owner]))
    assert got_in(answer), answer.status_code


@pytest.mark.parametrize("row", OWNED, ids=names)
def test_a_second_person_of_any_role_does_not(row: Owned, scenario: OwnedSite) -> None:
    getattr(scenario, row.what)
    seconds = {role: person for role, person in scenario.seconds.items() if role not in row.sees}
    clients = {role: client_of(row, person) for role, person in seconds.items()}
    before = everything_but_sessions_of([*seconds.values()])
    for role, client in clients.items():
        answer = scenario.try_route(row, client)
        assert answer.status_code == (403 if role in row.unlike else row.refusal), role
        if row.refusal == 404:
            assert scenario.try_route(row, client, name=uuid4()).status_code == answer.status_code, role
    assert everything_but_sessions_of([*seconds.values()]) == before


@pytest.mark.parametrize("row", [row for row in OWNED if row.sees], ids=names)
def test_roles_that_see_it_anyway_get_in(row: Owned, scenario: OwnedSite) -> None:
    for role in row.sees:
        if row.method == "get" or role == min(row.sees):
            assert got_in(scenario.try_route(row, client_of(row, scenario.seconds[role]))), role


@pytest.mark.parametrize("row", BY_ROLE, ids=names)
def test_what_goes_by_role_alone(row: ByRole, scenario: OwnedSite) -> None:
    getattr(scenario, row.what)
    for role, person in scenario.seconds.items():
        with transaction.atomic():  # what one of them deletes is there for the next
            answer = scenario.try_route(row, client_of(row, person))
            transaction.set_rollback(True)
        if role in row.roles:
            assert answer.status_code not in (401, 403, 404), role
        else:
            assert answer.status_code == 403, role


@pytest.mark.parametrize("row", [*OWNED, *BY_ROLE], ids=names)
def test_people_of_other_projects_learn_nothing(row: Owned | ByRole, scenario: OwnedSite) -> None:
    unlike = row.unlike if isinstance(row, Owned) and row.owner == "lead" else frozenset()  # of no project
    for role in Membership.Role.values:
        stranger: User = MembershipFactory(role=role).user
        assert scenario.try_route(row, client_of(row, stranger)).status_code == (403 if role in unlike else 404), role


def test_ones_own_pages_name_nothing_of_others(scenario: OwnedSite) -> None:
    """Pages of the project that show the asker's own: a second annotator finds nothing of the first there."""
    client = Client()
    client.force_login(scenario.seconds["annotator"])
    theirs = [scenario.pair, scenario.assignment, scenario.exam_attempt, scenario.known]
    secret = {str(row.uuid) for row in theirs} | {str(scenario.moment.preview_uuid)}
    for endpoint in (endpoint for endpoint in ENDPOINTS if "annotator" in endpoint[2] and endpoint[3] == "get"):
        page = client.get(scenario.url(endpoint), follow=True).content.decode()
        assert not {uuid for uuid in secret if uuid in page}, endpoint[0]


def test_every_route_that_is_left_out_says_why() -> None:
    """Routes neither tried by role nor owned are named with a reason, and exist."""
    of_api = {f"api:{name}" for name in get_resolver().namespace_dict["api"][1].reverse_dict if isinstance(name, str)}
    assert not set(OPEN) & TRIED
    assert all(len(reason.split()) > 2 for reason in OPEN.values())
    assert {name for name in of_api if "preview" in name} <= TRIED
