"""The description of the API in a browser: drawn, usable, dark where the rest is, and nothing against the CSP."""

from playwright.sync_api import expect

from judging.models import Assignment
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints
from tests.factories import BatchFactory, annotator


def test_an_operation_is_read_and_tried(browse: Browse) -> None:
    batch = BatchFactory(pairs=2)
    page = browse(annotator(batch.project), color_scheme="dark")
    complaints = Complaints(page)
    page.goto("/api/docs/")
    expect(page.locator("html")).to_have_css("background-color", "rgb(28, 32, 34)")
    taking = page.locator("[id$=assignment_take]")
    taking.get_by_role("button").first.click()
    taking.get_by_role("button", name="Try it out").click()
    taking.get_by_placeholder("project_uuid").fill(str(batch.project.uuid))
    taking.get_by_role("button", name="Execute").click()
    expect(taking.locator(".live-responses-table tbody .response-col_status")).to_contain_text("201")
    assert Assignment.objects.get().batch == batch
    assert complaints == []
