"""The judging page: keys, the next preview, what happens when time or the server is gone, and life without scripts."""

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, Request, expect

from judging.models import Assignment, Batch, Judgment
from judging.services.assignments import assignments_sweep
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse


def judging(browse: Browse, **options: object) -> tuple[Page, Batch]:
    """An annotator before the first of three pairs."""
    batch = acts.batch(acts.project())
    page = browse(factories.annotator(batch.project), **options)
    acts.start(page, batch.project)
    return page, batch


def test_a_batch_can_be_judged_without_javascript(browse: Browse) -> None:
    page, batch = judging(browse, java_script_enabled=False)
    acts.judge(page, 3, lambda pair: pair.candidate.rank, give=acts.by_click)
    assert acts.given(batch) == {1: 1, 2: 2, 3: 3}

    page.get_by_role("link", name="Moment 1").click()
    acts.by_click(page, 0)
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()
    page.get_by_role("button", name="Finish").click()

    expect(page.get_by_role("status")).to_contain_text("final")
    assert Assignment.objects.get().state == Assignment.State.FINISHED
    assert sorted(acts.given(batch).values()) in ([0, 1, 2], [0, 1, 3], [0, 2, 3])


def test_the_guideline_opens_beside_the_page_without_javascript(browse: Browse) -> None:
    page, _ = judging(browse, java_script_enabled=False)
    with page.expect_popup() as popup:
        page.locator("a[data-guideline]").click()
    expect(popup.value.get_by_role("heading", name="Guideline")).to_be_visible()


def test_the_guideline_opens_and_closes_by_key_and_shields_the_grades(browse: Browse) -> None:
    page, _ = judging(browse)
    guideline, sent = page.get_by_role("dialog", name="Guideline"), acts.posts(page)
    page.keyboard.press("?")
    expect(guideline).to_be_visible()
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    expect(guideline).to_be_hidden()
    expect(acts.place(page)).to_have_text("pair 1 of 3")
    assert sent == []

    page.keyboard.press("3")
    expect(acts.place(page)).to_have_text("pair 2 of 3")
    assert list(Judgment.objects.values_list("grade", flat=True)) == [3]


def test_the_guideline_closes_by_its_cross_and_by_a_click_beside_it(browse: Browse) -> None:
    page, _ = judging(browse)
    guideline = page.get_by_role("dialog", name="Guideline")
    page.locator("a[data-guideline]").click()
    guideline.get_by_role("button", name="Close").click()
    expect(guideline).to_be_hidden()
    page.locator("a[data-guideline]").click()
    page.mouse.click(5, 300)
    expect(guideline).to_be_hidden()


def test_the_left_arrow_goes_back_one_pair_whose_grade_can_change(browse: Browse) -> None:
    page, _ = judging(browse)
    first = acts.shown(page)
    page.keyboard.press("2")
    expect(acts.place(page)).to_have_text("pair 2 of 3")
    page.keyboard.press("ArrowLeft")
    expect(acts.place(page)).to_have_text("pair 1 of 3")
    assert acts.shown(page) == first
    expect(page.locator("button[aria-pressed=true]")).to_have_attribute("value", "2")

    page.keyboard.press("4")
    expect(acts.place(page)).to_have_text("pair 2 of 3")
    judgment = Judgment.objects.get()
    assert (judgment.pair.uuid, judgment.grade, judgment.changes.get().from_grade) == (first, 4, 2)


def test_a_held_key_grades_once(browse: Browse) -> None:
    page, _ = judging(browse)
    sent = acts.posts(page)
    page.keyboard.down("3")
    expect(acts.place(page)).to_have_text("pair 2 of 3")
    for _ in range(5):
        page.keyboard.down("3")  # what a held key repeats
    page.keyboard.up("3")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()  # every key before it has been handled
    assert len(sent) == 1
    assert Judgment.objects.count() == 1


def test_the_next_preview_is_loaded_ahead_and_grading_is_one_request(browse: Browse) -> None:
    batch = acts.batch(acts.project())
    page, asked = browse(factories.annotator(batch.project)), []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - takes no built-in
    acts.start(page, batch.project)
    expect(page.locator("img.ahead")).to_have_js_property("complete", True)
    ahead = page.locator("img.ahead").get_attribute("src")
    assert ahead in paths(asked)
    assert not Judgment.objects.exists()

    del asked[:]
    page.keyboard.press("2")
    expect(page.locator("img.moment")).to_have_attribute("src", ahead or "")
    expect(page.locator("img.ahead")).to_have_js_property("complete", True)
    following = page.locator("img.ahead").get_attribute("src")
    assert following != ahead
    assert sum(request.method == "POST" for request in asked) == 1
    assert not any(request.is_navigation_request() for request in asked)
    assert set(paths(asked)) == {asked[0].url.removeprefix(origin(page)), following}  # nothing is fetched twice


def test_a_reload_stays_on_the_pair_that_is_shown(browse: Browse) -> None:
    batch = acts.batch(acts.project())
    page = browse(factories.annotator(batch.project))
    acts.start(page, batch.project)
    page.keyboard.press("2")
    expect(page.locator(".place")).to_contain_text("pair 2 of")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".place")).to_contain_text("pair 1 of")
    page.keyboard.press("3")
    expect(page.locator(".place")).to_contain_text("pair 2 of")
    page.reload()
    expect(page.locator(".place")).to_contain_text("pair 2 of")


def paths(requests: list[Request]) -> list[str]:
    return [request.url.split("/", 3)[3].join(["/", ""]) for request in requests]


def origin(page: Page) -> str:
    return "/".join(page.url.split("/")[:3])


def test_a_lease_that_ran_out_while_the_page_was_open_stores_nothing(browse: Browse) -> None:
    page, _ = judging(browse)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page.keyboard.press("3")
    expect(page.get_by_role("alert")).to_contain_text("Your time on this batch has run out")
    assert not Judgment.objects.exists()


def test_a_batch_taken_away_by_the_sweep_stores_nothing(browse: Browse) -> None:
    page, batch = judging(browse)
    assignments_sweep(now=timezone.now() + timedelta(hours=1))
    page.keyboard.press("3")
    expect(page.get_by_role("alert")).to_contain_text("Your time on this batch has run out")
    assert not Judgment.objects.exists()
    page.get_by_role("link", name="Go to your first page").click()
    expect(page).to_have_url(f"{origin(page)}{reverse('judging:desk', args=[batch.project.uuid])}")


def test_a_server_out_of_reach_is_said_and_the_grade_can_be_given_again(browse: Browse) -> None:
    page, _ = judging(browse)
    page.route("**/grade/", lambda route: route.abort())
    page.keyboard.press("3")
    notice = page.get_by_role("alert").filter(has_text="The server cannot be reached")
    expect(notice).to_be_visible()
    with page.expect_event("requestfailed"):
        page.keyboard.press("3")
    expect(page.locator("button[name=grade][value='3']")).to_be_enabled()
    expect(notice).to_have_count(1)
    assert not Judgment.objects.exists()

    page.unroute("**/grade/")
    page.keyboard.press("3")
    expect(acts.place(page)).to_have_text("pair 2 of 3")
    expect(notice).to_have_count(0)
    assert Judgment.objects.get().grade == 3


def test_a_session_that_ended_leads_to_the_log_in_and_back(browse: Browse) -> None:
    page, _ = judging(browse)
    here = page.url
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("3")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url.endswith("/login/?next=" + here.removeprefix(origin(page)).replace("/", "%2F"))
    assert not Judgment.objects.exists()
