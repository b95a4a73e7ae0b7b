"""Whatever people write, a browser shows it as text: nothing of it runs or is fetched, and pages keep their width."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from accounts.models import Project
from judging.models import Batch
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import (
    ADMIN_PAGES,
    ANNOTATOR_PAGES,
    DESKTOP,
    PHONE,
    STAFF_PAGES,
    Complaints,
    busy_project,
    paths,
    planned_pool,
    too_wide,
)
from tests.hostile import INJECTED, spoil

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.usefixtures("encoder")]
WATCH = "window.ran = 0; window.injected = () => { window.ran += 1 }"
PEOPLE_PAGES = [f"judging:{name}" for name in ("people", "pay", "forecast", "guideline-edit", "guideline-examples")]


def faults_of(page: Page, *addresses: str) -> list[str]:
    """List the faults of these pages."""
    page.add_init_script(WATCH)
    complaints = Complaints(page)
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        if ran := page.evaluate("window.ran"):
            complaints.append(f"{address}: {ran} scripts ran")
        for tag in page.evaluate(f"[...document.querySelectorAll('[{INJECTED}]')].map(({{tagName}}) => tagName)"):
            complaints.append(f"{address}: <{tag}> came to be")
        for link in page.evaluate("[...document.links].map(({protocol}) => protocol)"):
            if link not in ("http:", "https:", "mailto:"):
                complaints.append(f"{address}: a link of {link}")
        complaints += too_wide(page, DESKTOP) + too_wide(page, PHONE)
    return list(dict.fromkeys(complaints))


def hostile_project() -> Project:
    project = busy_project()
    planned_pool(project)
    factories.lead(project)
    assert len(spoil()) > 25
    return project


def test_pages_of_staff(browse: Browse) -> None:
    project = hostile_project()
    details = [reverse("judging:batch", args=[batch.uuid]) for batch in Batch.objects.filter(number=1)[:4]]
    details += [reverse("judging:figure", args=[project.uuid, name]) for name in ("grades", "cases")]
    details += [reverse("judging:release-words", args=[project.uuid]), reverse("annotation:corpora"), reverse("home")]
    details += [reverse("pools:pool", args=[project.poolings.get().uuid])]
    lead, admin = browse(factories.lead(project)), browse(factories.admin(project))
    assert faults_of(lead, *paths([*STAFF_PAGES, *PEOPLE_PAGES], project), *details) == []
    assert faults_of(admin, *paths(ADMIN_PAGES[len(STAFF_PAGES) :], project)) == []


def test_pages_of_an_annotator(browse: Browse) -> None:
    project = acts.project()
    person = factories.annotator(project)
    acts.batch(project, gif=acts.moving_gif())
    page = browse(person)
    acts.start(page, project)
    acts.by_click(page, 3)
    acts.arrive(page, 2)
    spoil()
    addresses = [*paths(ANNOTATOR_PAGES, project), *map(reverse, ("home", "account", "tokens", "help"))]
    assert faults_of(page, *addresses) == []
