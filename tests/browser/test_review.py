"""A lead's keyboard: twenty queries decided, taken back, looked at, and the rest accepted at once."""

from django.urls import reverse
from playwright.sync_api import Locator, Page, Route, expect

from accounts.models import Project
from core.models import AuditEvent
from judging.models import Batch, BatchReview
from judging.review.services import batch_review
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints
from tests.judging.play import waiting

ON_A_CASE = "document.activeElement?.matches('[data-case]:not(.leaving)') ?? false"


def queue(browse: Browse, project: Project) -> Page:
    page = browse(factories.lead(project))
    page.goto(reverse("judging:review-queue", args=[project.uuid]))
    return page


def article(page: Page, batch: Batch) -> Locator:
    return page.locator(f"#case-{batch.uuid}")


def press(page: Page, key: str) -> None:
    """Once a case has the focus."""
    page.wait_for_function(ON_A_CASE)
    page.keyboard.press(key)


def decisions(batches: list[Batch]) -> list[str]:
    by_batch = dict(BatchReview.objects.values_list("batch", "decision"))
    return [by_batch.get(batch.pk, "") for batch in batches]


def test_twenty_queries(browse: Browse) -> None:
    project = acts.project()
    batches = [waiting(project, 3 * (n % 2)) for n in range(20)]
    page = queue(browse, project)
    complaints, counter = Complaints(page), page.locator("#waiting")
    expect(counter).to_have_text("20")
    expect(article(page, batches[0])).to_be_focused()
    for key, target in (("j", 1), ("j", 2), ("k", 1), ("k", 0), ("k", 0)):
        page.keyboard.press(key)
        expect(article(page, batches[target])).to_be_focused()

    for key in "ecec":  # nobody waits for an answer
        page.keyboard.press(key)
    expect(article(page, batches[4])).to_be_focused()
    expect(counter).to_have_text("16")
    assert decisions(batches[:5]) == ["extend", "close", "extend", "close", ""]

    page.keyboard.press("u")
    expect(article(page, batches[3])).to_be_focused()
    expect(counter).to_have_text("17")
    page.keyboard.press("e")
    expect(article(page, batches[4])).to_be_focused()
    for key in "cccccccc":
        press(page, key)
    expect(counter).to_have_text("8")
    assert decisions(batches[:12]) == ["extend", "close", "extend", "extend", *["close"] * 8]
    page.keyboard.press("u")
    expect(article(page, batches[11])).to_be_focused()
    page.keyboard.press("u")
    expect(article(page, batches[10])).to_be_focused()
    expect(counter).to_have_text("10")

    page.get_by_role("button", name="Accept suggestions").click()
    sums = [page.locator(f"dd[data-sum={name}]") for name in ("extend", "close", "pairs", "rest")]
    for target, n in zip(sums, ("5", "5", "5", "0"), strict=True):
        expect(target).to_have_text(n)
    page.get_by_role("checkbox", name=batches[11].query.text).uncheck()
    for target, n in zip(sums, ("4", "5", "4", "1"), strict=True):
        expect(target).to_have_text(n)
    page.get_by_role("button", name="Extend 4 and close 5").click()
    expect(page.get_by_text("4 extended, 5 closed.")).to_be_visible()
    expect(article(page, batches[11])).to_be_focused()
    press(page, "e")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert decisions(batches[10:]) == ["close", "extend"] * 5
    assert Batch.objects.filter(number=2).count() == BatchReview.objects.filter(decision="extend").count() == 8
    events = AuditEvent.objects.filter(project=project, action__startswith="batch.")
    assert events.filter(action__in=["batch.extend", "batch.close"]).count() == 23
    assert events.filter(action="batch.review_undo").count() == 3
    assert complaints == []


def test_a_box_unticked_before_the_script_arrives_is_taken_out(browse: Browse) -> None:
    project = acts.project()
    batch = waiting(project, 3)
    page = browse(factories.lead(project))
    scripts: list[Route] = []

    def keep(route: Route) -> None:
        scripts.append(route)

    page.route("**/js/accept*.js", keep)
    page.goto(reverse("judging:reviews-accept", args=[project.uuid]), wait_until="commit")
    page.get_by_role("checkbox", name=batch.query.text).uncheck()
    expect(page.locator("dd[data-sum=extend]")).to_have_text("1")
    scripts[0].continue_()
    expect(page.locator("dd[data-sum=extend]")).to_have_text("0")
    expect(page.get_by_role("button", name="Extend 0 and close 0")).to_be_disabled()


def test_a_candidate_is_looked_at_by_pointer_and_by_arrow(browse: Browse) -> None:
    project = acts.project()
    batch = waiting(project, 3, pairs=20)
    batch.pairs.filter(candidate__rank=2).update(state="dropped", relevance=None, reason="no_consensus")
    page = queue(browse, project)
    look, chart = page.locator("[data-look]"), page.get_by_role("slider")
    expect(look).to_contain_text("Rank 1 · relevance 3 · similarity 0.978")  # before anything is pointed at
    page.keyboard.press("ArrowRight")
    expect(look).to_contain_text("Rank 1 · relevance 3 · similarity 0.978")
    expect(look.get_by_role("img", name="The moment")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(look).to_contain_text("Rank 2 · dropped · similarity 0.968")
    expect(chart).to_be_focused()
    expect(chart).to_have_attribute("aria-valuetext", "Rank 2: dropped, similarity 0.968")
    page.keyboard.press("End")
    expect(look).to_contain_text("Rank 20")
    page.locator("[data-candidate]").nth(6).hover()
    expect(look).to_contain_text("Rank 7")
    page.get_by_text("All candidates as a table").click()
    expect(page.get_by_role("row")).to_have_count(21)


def test_a_reason_is_typed_without_deciding(browse: Browse) -> None:
    project = acts.project()
    batch = waiting(project, 3)
    page = queue(browse, project)
    page.keyboard.press("r")
    page.keyboard.type("echo")
    page.keyboard.press("Enter")
    expect(article(page, batch)).to_be_focused()
    assert not BatchReview.objects.exists()
    page.keyboard.press("c")
    expect(page.locator("[data-decided]")).to_contain_text("closed")
    assert BatchReview.objects.get().reason == "echo"


def test_the_second_lead_is_informed_and_goes_on(browse: Browse) -> None:
    project = acts.project()
    first, second = waiting(project, 3), waiting(project, 3)
    page = queue(browse, project)
    she = factories.lead(project)
    batch_review(batch=first, extend=False, lead=she)
    page.keyboard.press("e")
    expect(article(page, second)).to_be_focused()
    expect(page.get_by_role("alert")).to_have_text(f"{she.username} closed this query a moment ago.")
    expect(article(page, first).get_by_role("button")).to_have_count(0)
    assert decisions([first, second]) == ["close", ""]


def test_keys_can_be_switched_off(browse: Browse) -> None:
    project = acts.project()
    waiting(project, 3)
    page = queue(browse, project)
    page.get_by_role("switch", name="Use these keys").uncheck()
    page.reload()
    page.keyboard.press("e")
    expect(page.get_by_role("switch")).not_to_be_checked()
    assert not BatchReview.objects.exists()


def test_a_decision_that_did_not_arrive_is_there_again(browse: Browse) -> None:
    project = acts.project()
    first, second = waiting(project, 3), waiting(project, 3)
    page = queue(browse, project)
    page.context.set_offline(True)
    page.keyboard.press("c")
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    expect(article(page, first)).to_be_focused()
    page.context.set_offline(False)
    page.keyboard.press("c")
    expect(article(page, second)).to_be_focused()
    expect(page.locator("#waiting")).to_have_text("1")
    assert decisions([first, second]) == ["close", ""]
