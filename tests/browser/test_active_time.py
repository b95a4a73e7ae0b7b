"""Time the page measures: how long somebody could see a pair."""

from urllib.parse import parse_qs

from playwright.sync_api import Page, Request, expect

from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse

CLOCK = """
const now = performance.now.bind(performance);
let ahead = 0, hidden = false;
performance.now = () => now() + ahead;
window.pass = (seconds) => (ahead += 1000 * seconds);
Object.defineProperty(document, "hidden", { get: () => hidden });
window.cover = (covered) => { hidden = covered; document.dispatchEvent(new Event("visibilitychange")); };
"""
UNIT_S = 10_000  # what is measured differs by it
SLACK_S = UNIT_S / 10  # more than any machine takes for all of a test


def measured(request: Request) -> float:
    (ms,) = parse_qs(request.post_data or "")["active_ms"]
    return int(ms) / 1000


def pass_units(page: Page, number: int) -> None:
    page.evaluate("seconds => pass(seconds)", number * UNIT_S)


def before_a_pair(browse: Browse) -> Page:
    first_batch = acts.batch(acts.project())
    page = browse(factories.annotator(first_batch.project))
    page.add_init_script(CLOCK)
    acts.start(page, first_batch.project)
    return page


def test_time_counts_while_the_pair_is_seen(browse: Browse) -> None:
    page = before_a_pair(browse)
    requests = acts.answers(page)
    page.evaluate("unit => { pass(unit); cover(true); pass(10 * unit); cover(false); pass(unit); }", UNIT_S)
    acts.by_key(page, 3)
    acts.arrive(page, 2)
    pass_units(page, 3)
    page.keyboard.press("ArrowRight")
    acts.arrive(page, 3)
    pass_units(page, 5)
    page.keyboard.press("ArrowLeft")
    acts.arrive(page, 2)
    pass_units(page, 1)
    acts.by_key(page, 2)
    acts.arrive(page, 3)
    assert [measured(request) // UNIT_S for request in requests] == [2, 4]
    assert all(measured(request) % UNIT_S < SLACK_S for request in requests)


def test_a_queued_grade_says_when_it_was_pressed(browse: Browse) -> None:
    page = before_a_pair(browse)
    acts.catch(page, "**/grade/", lambda route: route.abort())
    pass_units(page, 1)
    acts.by_key(page, 3)
    expect(page.get_by_role("button", name="Try now")).to_be_visible()
    pass_units(page, 10)
    page.unroute("**/grade/")
    requests = acts.answers(page)
    page.get_by_role("button", name="Try now").click()
    acts.arrive(page, 2)
    assert UNIT_S <= measured(requests[-1]) < UNIT_S + SLACK_S
