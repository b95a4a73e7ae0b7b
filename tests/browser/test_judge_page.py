"""The judging page without scripts, its guideline, and an answer that comes too late."""

from playwright.sync_api import expect

from judging.models import Assignment
from tests.browser import acts
from tests.browser.conftest import Browse


def test_a_batch_can_be_judged_without_javascript(browse: Browse) -> None:
    page, batch = acts.judging(browse, java_script_enabled=False)
    with page.expect_popup() as popup:
        page.locator("a[data-guideline]").click()
    expect(popup.value.get_by_role("heading", name="Guideline")).to_be_visible()
    acts.judge(page, 3, lambda pair: pair.candidate.rank, give=acts.by_click)
    assert acts.grades_by_rank(batch) == {1: 1, 2: 2, 3: 3}
    page.get_by_role("link", name="Moment 1").click()
    acts.by_click(page, 0)
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()
    page.get_by_role("button", name="Finish and stop").click()
    expect(page.get_by_role("status")).to_contain_text("final")
    assert Assignment.objects.get().state == Assignment.State.FINISHED
    assert sorted(acts.grades_by_rank(batch).values()) in ([0, 1, 2], [0, 1, 3], [0, 2, 3])


def test_the_guideline_closes_by_its_cross_and_by_a_click_beside_it(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    guideline = page.get_by_role("dialog", name="Guideline")
    page.locator("a[data-guideline]").click()
    guideline.get_by_role("button", name="Close").click()
    expect(guideline).to_be_hidden()
    page.locator("a[data-guideline]").click()
    page.mouse.click(5, 300)
    expect(guideline).to_be_hidden()
