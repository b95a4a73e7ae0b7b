"""The menu by keyboard alone, as a drawer on a phone, and Find from everywhere."""

import re

from django.urls import reverse
from playwright.sync_api import expect

from tests import factories
from tests.browser import acts
from tests.browser.axe import barriers
from tests.browser.conftest import Browse
from tests.browser.test_every_page import DESKTOP, PHONE, Complaints, too_wide


def test_a_group_and_its_page_by_keyboard_alone(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project))
    page.goto(reverse("judging:overview", args=[project.uuid]))
    for name, heading in (("Results", "Releases"), ("Figures", "Figures")):
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.locator("*:focus").inner_text() == name:
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.get_by_role("heading", level=1)).to_have_text("Figures")
    expect(page.get_by_role("navigation", name="Pages of this group").locator("[aria-current=page]")).to_have_text(
        "Figures"
    )


def test_a_drawer_on_a_phone(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project), viewport=PHONE)
    complaints = Complaints(page)
    page.goto(reverse("judging:overview", args=[project.uuid]))
    expect(page.get_by_role("navigation", name="Pages", exact=True)).to_be_hidden()
    drawer = page.get_by_role("navigation", name="All pages")
    expect(drawer).to_be_hidden()
    page.get_by_text("Menu", exact=True).focus()
    page.keyboard.press("Enter")
    expect(drawer).to_be_visible()
    assert complaints + too_wide(page, PHONE) + barriers(page) == []
    drawer.get_by_role("link", name="Query sets").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Query sets")


def test_find_opens_by_a_key_and_leads_to_what_is_found(browse: Browse) -> None:
    project = acts.project()
    query = factories.BatchFactory(query__project=project, query__text="A man waters the plant.").query
    page = browse(factories.lead(project), viewport=DESKTOP)
    complaints = Complaints(page)
    page.goto(reverse("judging:review-queue", args=[project.uuid]))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="What to find")).to_be_focused()
    page.keyboard.type("WATERS")
    link = page.get_by_role("link", name="A man waters the plant.")
    expect(link).to_be_visible()
    assert complaints + barriers(page) == []
    page.keyboard.press("ArrowDown")
    expect(link).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox", name="What to find")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(query.text)
    page.get_by_role("link", name=re.compile("^Find")).click()
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()
    assert complaints == []


def test_a_slash_in_a_field_is_a_slash(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project))
    page.goto(reverse("judging:queries", args=[project.uuid]))
    field = page.get_by_role("searchbox", name="Words of the query")
    field.press("/")
    expect(field).to_have_value("/")
    expect(page.locator("#find")).to_be_hidden()
