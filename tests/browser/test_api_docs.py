"""The description of the API in a browser: drawn, usable, and nothing against the CSP."""

from playwright.sync_api import expect

from judging.models import Assignment
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints
from tests.factories import BatchFactory, annotator


def test_reading_and_trying_it(browse: Browse) -> None:
    batch = BatchFactory(pairs=2)
    page = browse(annotator(batch.project))
    complaints = Complaints(page)
    page.goto("/api/docs/")
    taking = page.locator("[id$=assignment_take]")
    taking.get_by_role("button").first.click()
    taking.get_by_role("button", name="Try it out").click()
    taking.get_by_placeholder("project_uuid").fill(str(batch.project.uuid))
    taking.get_by_role("button", name="Execute").click()
    expect(taking.locator(".live-responses-table tbody .response-col_status")).to_contain_text("201")
    assert Assignment.objects.get().batch == batch
    assert complaints == []


def test_it_is_dark_where_the_rest_is_and_leads_back(browse: Browse) -> None:
    page = browse(color_scheme="dark")
    page.goto("/api/docs/")
    expect(page.locator("html")).to_have_css("background-color", "rgb(28, 32, 34)")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).not_to_have_css("background-color", "rgb(28, 32, 34)")
    page.get_by_role("link", name="← MomentJudge").click()
    expect(page.get_by_label("User name")).to_be_visible()


def test_tokens(browse: Browse) -> None:
    person = annotator(BatchFactory().project)
    person.set_password("a-long-enough-password")
    person.save()
    page = browse(person)
    complaints = Complaints(page)
    page.goto("/tokens/")
    page.get_by_label("Name").fill("laptop")
    page.get_by_label("Your password").fill("a-long-enough-password")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("status").locator("code")).to_contain_text("mj_")
    page.get_by_role("button", name="Revoke laptop").click()
    expect(page.get_by_text("You have no token.")).to_be_visible()
    assert not person.access_tokens.exists()
    assert complaints == []
