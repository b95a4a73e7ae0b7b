"""The menu: five groups and the overview, the page at hand marked truly, no page offered that would refuse."""

import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from pytest_django.fixtures import Settings

from accounts.menu import menu_of
from tests.factories import MembershipFactory, ProjectFactory, lead


def labels(roles: list[str]) -> dict[str, list[str]]:
    menu = menu_of(MembershipFactory(roles=roles))
    return {group.label: [page.label for page in group.pages] for group in menu}


def names(patterns: list[URLPattern | URLResolver], namespace: str = "") -> set[str]:
    route_names = set()
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            route_names |= names(pattern.url_patterns, pattern.namespace or namespace)
        elif pattern.name:
            route_names.add(f"{namespace}:{pattern.name}" if namespace else pattern.name)
    return route_names


def test_all_its_names_are_routes() -> None:
    menus = [pages for menu in settings.MENU.values() for pages in menu.values()]
    page_names = {name for pages in menus for _, name in pages} | set(settings.MENU_ROLES) | set(settings.MENU_BELOW)
    below = [name for those in settings.MENU_BELOW.values() for name in those]
    assert page_names | set(below) <= names(get_resolver().url_patterns)
    assert len(below) == len(set(below))  # none belongs to two


@pytest.mark.django_db
class TestGroups:
    def test_a_lead_has_five_beside_the_overview(self) -> None:
        assert list(labels(["lead"])) == ["Overview", "Data", "Judging", "People", "Results", "Settings"]

    def test_an_admin_is_offered_no_page_of_leads(self) -> None:
        assert labels(["admin"])["Exams"] == ["Exams"]
        assert labels(["lead"])["People"] == ["People", "Exams", "Hours and pay", "Forecast"]

    @pytest.mark.parametrize("open_to_leads", [True, False])
    def test_features_are_for_whom_the_site_lets(self, settings: Settings, open_to_leads: bool) -> None:
        settings.LEADS_RUN_BENCHMARKS = open_to_leads
        assert ("Features" in labels(["lead"])["Results"]) is open_to_leads
        assert "Features" in labels(["admin"])["Results"]

    def test_those_who_judge_have_single_pages(self) -> None:
        assert labels(["annotator"]) == {name: [name] for name in ("Judge", "My grades", "My hours", "Guideline")}

    def test_every_page_of_it_opens(self, client: Client) -> None:
        for roles in (["lead"], ["admin"], ["participant"]):
            member = MembershipFactory(roles=roles)
            client.force_login(member.user)
            for group in menu_of(member):
                for page in group.pages:
                    answer = client.get(page.url)
                    assert answer.status_code == 200, (roles, page)
                    assert current(answer.content.decode()) == page.label, (roles, page)


def current(text: str) -> str:
    """The label marked as the page at hand, in the row that marks pages."""
    rows = re.findall(r'<nav (?:class="group" )?aria-label="Pages[^"]*">(.*?)</nav>', text, re.DOTALL)
    marked = [re.findall(r'aria-current="page">([^<]*)<', row) for row in rows]
    assert sum(map(len, marked)) == 1, marked
    return next(row[0] for row in marked if row)


@pytest.mark.django_db
class TestPagesBelow:
    def test_alerts_belong_to_quality(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(lead(project))
        for name in ("alerts", "flags", "dropped", "withdrawn"):
            text = client.get(reverse(f"judging:{name}", args=[project.uuid])).content.decode()
            assert current(text) == "Quality"

    def test_a_page_of_its_own_is_no_other(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(lead(project))
        text = client.get(reverse("judging:coverage", args=[project.uuid])).content.decode()
        assert current(text) == "Coverage"  # though its address begins as that of the queries

    def test_help_marks_none(self, client: Client) -> None:
        client.force_login(lead(ProjectFactory()))
        assert "aria-current" not in client.get(reverse("help")).content.decode()
