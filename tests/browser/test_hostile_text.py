"""Whatever people write, a browser shows it as text: nothing of it runs or is fetched, and pages keep their width."""

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page
from pytest_django import Settings

from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.site import BusySite, enter, project_pages, seen_once
from tests.browser.test_every_page import DESKTOP, PHONE, Complaints, too_wide
from tests.hostile import INJECTED, spoil

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.usefixtures("encoder")]
WATCH = "window.ran = 0; window.injected = () => { window.ran += 1 }"


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


def test_every_page(browse: Browse, settings: Settings, tmp_path: Path) -> None:
    settings.EXPERIMENTS_ROOT = tmp_path
    site = BusySite()
    pages, _ = site.pages()
    assert len(spoil()) > 25
    faults = []
    for who, urls in seen_once(pages).items():
        faults += faults_of(enter(browse(), site.visitors[who]), *urls)
    assert faults == []


def test_pages_of_an_annotator(browse: Browse) -> None:
    project = acts.project()
    person = factories.annotator(project)
    acts.batch(project, gif=acts.moving_gif())
    page = browse(person)
    acts.start(page, project)
    acts.by_click(page, 3)
    acts.arrive(page, 2)
    spoil()
    addresses = [*project_pages(project, person), reverse("judging:pair-next", args=[project.uuid])]
    addresses += map(reverse, ("home", "account", "tokens", "help"))
    assert faults_of(page, *addresses) == []
