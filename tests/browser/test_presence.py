"""The page says that somebody is at it, says when they leave, and reminds them of a break."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from judging.models import Assignment, Batch, Judgment, Policy
from tests.browser import acts
from tests.browser.conftest import Browse

MINUTE_MS = 60_000


def at_work(browse: Browse, **options: object) -> tuple[Page, Batch]:
    """As ``acts.judging``, with a clock that the test turns."""
    page, batch = acts.judging(browse, clock=True, **options)
    acts.rest(page)
    return page, batch


def signs(requests: list[str]) -> tuple[int, int]:
    """How often the page said that it was left, and that somebody is at it."""
    return tuple(sum(line.endswith(end) for line in requests) for end in ("/leave/", "/heartbeat/"))  # type: ignore[return-value]


def minutes_left() -> float:
    return (Assignment.objects.get().expires_at - timezone.now()) / timedelta(minutes=1)


def move(page: Page, minutes: int) -> None:
    """Somebody moves the mouse every half minute."""
    for half in range(2 * minutes):
        page.mouse.move(200 + half % 2, 300)
        page.clock.run_for(MINUTE_MS // 2)


def test_somebody_at_the_page_renews_the_time_every_minute(browse: Browse, server_log: list[str]) -> None:
    page, _ = at_work(browse)
    del server_log[:]
    Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=2))
    for minute in (1, 2, 3):
        move(page, 1)
        acts.wait_until(lambda beats=minute: signs(server_log) == (0, beats))  # type: ignore[misc]
    acts.wait_until(lambda: minutes_left() > 19)


def test_a_page_that_nobody_is_at_stops_renewing(browse: Browse, server_log: list[str]) -> None:
    page, _ = at_work(browse)
    del server_log[:]
    page.mouse.move(210, 310)
    page.clock.run_for(15 * MINUTE_MS)
    page.wait_for_load_state("networkidle")
    assert 3 <= signs(server_log)[1] <= 5
    move(page, 1)
    acts.wait_until(lambda: signs(server_log)[1] >= 4)


def test_time_that_ran_out_is_reported_and_leads_to_the_desk(browse: Browse) -> None:
    page, batch = at_work(browse)
    page.keyboard.press("?")
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    move(page, 1)
    notice = page.get_by_role("alert").filter(has_text="Your time on this batch has run out")
    expect(notice).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("3")
    assert not Judgment.objects.exists()
    notice.get_by_role("button", name="Go to your desk").or_(notice.get_by_role("link")).first.click()
    expect(page.get_by_role("heading", name="Ready to judge?").or_(page.get_by_text("Welcome back"))).to_be_visible()
    assert page.url.endswith(acts.desk(batch.project))


def test_a_page_that_is_closed_gives_the_batch_back_soon(browse: Browse, server_log: list[str]) -> None:
    page, _ = acts.judging(browse)
    acts.wait_until(lambda: signs(server_log) == (0, 1))
    acts.wait_until(lambda: minutes_left() > 19)
    page.close(run_before_unload=True)
    acts.wait_until(lambda: signs(server_log)[0] == 1)
    acts.wait_until(lambda: minutes_left() < 2)


def test_a_reload_keeps_the_batch(browse: Browse, server_log: list[str]) -> None:
    """That the old page was left may be heard after the new one's first beat; then the next beat makes up for it."""
    page, _ = acts.judging(browse)
    acts.wait_until(lambda: signs(server_log) == (0, 1))
    page.reload()
    acts.wait_until(lambda: signs(server_log) == (1, 2))
    assert minutes_left() > 1
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    acts.wait_until(lambda: minutes_left() > 19)


def test_a_page_of_the_site_is_no_leaving(browse: Browse, server_log: list[str]) -> None:
    page, _ = acts.judging(browse)
    page.get_by_role("link", name="My grades").click()
    expect(page.get_by_role("heading", name="My grades")).to_be_visible()
    assert signs(server_log)[0] == 0
    assert minutes_left() > 19


def test_another_tab_keeps_the_batch_when_one_is_closed(browse: Browse, server_log: list[str]) -> None:
    page, _ = acts.judging(browse)
    other = page.context.new_page()
    other.goto(page.url)
    acts.wait_until(lambda: signs(server_log) == (0, 2))
    other.close(run_before_unload=True)
    acts.wait_until(lambda: signs(server_log) == (1, 3))
    acts.wait_until(lambda: minutes_left() > 19)


def test_stopping_says_what_happens_and_gives_the_rest_back(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    page.keyboard.press("4")
    acts.arrive(page, 2)
    page.get_by_role("link", name="Stop here").click()
    dialog = page.get_by_role("dialog", name="Stop here?")
    expect(dialog).to_contain_text("The grades you gave in this batch become final.")
    dialog.get_by_role("button", name="Go on judging").click()
    expect(dialog).to_be_hidden()
    assert Assignment.objects.get().state == Assignment.State.OPEN

    page.get_by_role("link", name="Stop here").click()
    dialog.get_by_role("button", name="Give the rest back").click()
    expect(page.get_by_role("status")).to_contain_text("Given back. Your grades are kept")
    assert Assignment.objects.get().state == Assignment.State.RETURNED
    assert Judgment.objects.get().grade == 4


def test_a_break_is_suggested_after_the_minutes_of_the_policy_and_can_be_put_off(browse: Browse) -> None:
    page, _ = at_work(browse)
    Policy.objects.update(break_minutes=3)
    page.reload()
    reminder = page.get_by_role("status").filter(has_text="You have judged for 3 minutes")
    move(page, 2)
    expect(reminder).to_have_count(0)
    move(page, 1)
    expect(reminder).to_be_visible()
    page.keyboard.press("2")  # it is no lock
    expect(acts.position_label(page)).to_have_text("pair 2 of 3")
    reminder.get_by_role("button", name="All right").click()
    expect(reminder).to_have_count(0)
    move(page, 2)
    expect(reminder).to_have_count(0)
    move(page, 1)
    expect(reminder).to_be_visible()


@pytest.mark.parametrize("minutes", [0, 3])
def test_no_break_is_suggested_to_who_rests_or_where_the_policy_says_never(browse: Browse, minutes: int) -> None:
    page, _ = at_work(browse)
    Policy.objects.update(break_minutes=minutes)
    page.reload()
    for _ in range(3):
        move(page, 2)
        if minutes:
            page.clock.run_for(6 * MINUTE_MS)
    expect(page.get_by_text("away from the screen")).to_be_hidden()


def test_the_next_batch_follows_on_the_same_page(browse: Browse) -> None:
    page, batch = acts.judging(browse)
    acts.batch(batch.project, text="A person waters a plant")
    acts.judge(page, 3, lambda pair: 2, give=acts.by_key)
    page.get_by_role("button", name="Finish and start the next batch").click()
    expect(page.get_by_role("heading", name="A person waters a plant")).to_be_visible()
    expect(page.locator("#work")).to_have_text("Grades today 3 in all 3 batches finished 1")
    acts.judge(page, 3, lambda pair: 2, give=acts.by_key)
    page.get_by_role("button", name="Finish and start the next batch").click()
    expect(page.get_by_text("Nothing is waiting for you right now")).to_be_visible()
    assert set(Assignment.objects.values_list("state", flat=True)) == {"finished"}
