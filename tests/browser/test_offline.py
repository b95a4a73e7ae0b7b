"""The line drops: what was pressed is kept, sent again, and counted once."""

from django.utils import timezone
from playwright.sync_api import Locator, Page, Route, expect

from judging.models import Assignment, Flag, Judgment
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.factories import BatchFactory

COUNT_ANSWERS = """window.answered = 0;
  document.addEventListener('htmx:afterRequest', ({detail}) => {
    if (detail.requestConfig.path.endsWith('/grade/')) window.answered += 1;
  })"""


def queue_notice(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text="is kept and sent as soon as it works again")


def fail_grades(page: Page) -> None:
    acts.catch(page, "**/grade/", lambda route: route.abort())


def test_what_is_pressed_without_connection_is_queued_and_sent_when_it_is_back(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.context.set_offline(True)
    page.keyboard.press("3")
    expect(queue_notice(page)).to_contain_text("No connection. Your 3 is kept")
    expect(acts.position_label(page)).to_have_text("pair 1 of 3")
    assert not Judgment.objects.exists()

    page.context.set_offline(False)
    acts.arrive(page, 2)
    expect(queue_notice(page)).to_have_count(0)
    assert Judgment.objects.get().grade == 3

    page.context.set_offline(True)
    page.keyboard.press("f")
    page.get_by_role("button", name="Offensive").click()
    expect(queue_notice(page)).to_contain_text("Your flag is kept")
    page.context.set_offline(False)
    expect(acts.position_label(page)).to_have_text("pair 3 of 3")
    assert Flag.objects.get().reason == "offensive"


def test_a_queued_grade_is_replaced_by_another_press_and_survives_a_reload(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    fail_grades(page)
    page.keyboard.press("1")
    expect(queue_notice(page)).to_contain_text("Your 1 is kept")
    page.keyboard.press("3")
    expect(queue_notice(page)).to_contain_text("Your 3 is kept")
    page.reload()
    expect(queue_notice(page)).to_contain_text("Your 3 is kept")
    assert not Judgment.objects.exists()

    page.unroute("**/grade/")
    page.reload()
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    assert Judgment.objects.get().grade == 3
    assert page.evaluate("sessionStorage.getItem('momentjudge-kept')") == "[]"


def test_a_grade_whose_answer_was_lost_is_one_judgment(browse: Browse) -> None:
    page, _ = acts.judging(browse)

    def lose_the_answer(route: Route) -> None:
        route.fetch()
        route.abort()

    acts.catch(page, "**/grade/", lose_the_answer)
    page.keyboard.press("3")
    expect(queue_notice(page)).to_be_visible()
    assert Judgment.objects.get().grade == 3
    page.unroute("**/grade/")
    page.get_by_role("button", name="Try now").click()
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    judgment = Judgment.objects.get()
    assert (judgment.grade, judgment.revision) == (3, 0)


def test_a_server_in_trouble_is_reported_and_retried_after_growing_pauses(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    requests = acts.answers(page)
    acts.catch(page, "**/grade/", lambda route: route.fulfill(status=502, body="Bad Gateway"))
    page.evaluate(COUNT_ANSWERS)
    acts.stop_clock(page)
    page.keyboard.press("3")
    expect(queue_notice(page)).to_contain_text("The server has trouble. Your 3 is kept")
    for attempts, pause_s in ((2, 2), (3, 4), (4, 8)):
        page.clock.run_for(1000 * pause_s - 500)
        assert len(requests) == attempts - 1
        with page.expect_response("**/grade/"):
            page.clock.run_for(600)
        expect(queue_notice(page)).to_be_visible()
        acts.wait_until(lambda n_answers=attempts: page.evaluate("window.answered") == n_answers)  # type: ignore[misc]
        assert len(requests) == attempts
    page.unroute("**/grade/")
    page.clock.run_for(15_000)
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    expect(queue_notice(page)).to_have_count(0)
    assert Judgment.objects.get().grade == 3


def test_a_line_that_drops_before_another_pair_is_reported(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.context.set_offline(True)
    page.keyboard.press("ArrowRight")
    notice = page.get_by_role("alert").filter(has_text="The server cannot be reached")
    expect(notice).to_be_visible()
    page.context.set_offline(False)
    page.keyboard.press("ArrowRight")
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    expect(notice).to_have_count(0)


def test_a_grade_pressed_after_the_session_ended_is_sent_after_the_log_in(browse: Browse) -> None:
    page, batch = acts.judging(browse)
    acts.rest(page)
    person = batch.assignments.get().annotator
    person.set_password("a-long-enough-password")
    person.save()
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("3")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert not Judgment.objects.exists()
    page.get_by_label("User name").fill(person.username)
    page.get_by_label("Password").fill("a-long-enough-password")
    page.keyboard.press("Enter")
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    assert Judgment.objects.get().grade == 3


def test_a_grade_that_came_too_late_is_not_dropped_without_a_word(browse: Browse) -> None:
    """The batch ended while the line was down; its annotator begins another."""
    page, batch = acts.judging(browse)
    fail_grades(page)
    page.keyboard.press("3")
    expect(queue_notice(page)).to_be_visible()
    Assignment.objects.update(state="lapsed", ended_at=timezone.now())
    BatchFactory(query__project=batch.project, pairs=2)
    page.goto(page.url.replace("/next/", "/"))
    page.unroute("**/grade/")
    page.get_by_role("button", name="Start a batch").click()
    message = page.get_by_role("status").filter(has_text="Your 3 was not taken: the time on its batch ran out")
    expect(message).to_be_visible()
    page.keyboard.press("2")
    expect(acts.position_label(page)).to_have_text("pair 2 of 2")
    expect(message).to_have_count(0)
    assert Judgment.objects.get().grade == 2
