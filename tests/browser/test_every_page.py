"""Every page for every role: nothing on the console, nothing against the CSP, nothing wider than a phone, nothing
for axe to find."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import ConsoleMessage, Locator, Page, Request, Response, ViewportSize, expect
from pytest_django import Settings

from accounts.models import Project, User
from accounts.services.identities import password_link
from judging.models import Batch, JudgmentDay, Release, WebhookDelivery
from judging.pay.services import hours_correct, pay_rate_set
from judging.releases.services import release_create
from tests import factories
from tests.accounts.acts import give_phone
from tests.accounts.phone import code_at
from tests.browser import acts
from tests.browser.axe import NARROW, barriers_in
from tests.browser.conftest import Browse
from tests.browser.site import LONG, UNBROKEN, BusySite, enter, project_pages, seen_once
from tests.judging.money import judged, local, project_in
from tests.judging.play import judge, judge_round

DESKTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}
PASSWORD = "a long password"
NOT_OURS = "api-docs"  # Swagger draws it, in its own colours: test_api_docs


class Complaints(list[str]):
    """Faults the browser reports on the pages it shows."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.append(f"{self.page.url}: {error}"))
        page.on("requestfailed", self.on_request_failed)
        page.on("response", self.on_response)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.append(f"{self.page.url}: {message.text}")

    def on_request_failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left while a lazy picture was loading
            self.append(f"{self.page.url}: {request.url} {request.failure}")

    def on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.append(f"{self.page.url}: {response.url} {response.status}")


def visit(page: Page, *paths: str) -> list[str]:
    """Open every page and look at it, in light and wide, in dark and narrow: what is wrong with them."""
    complaints = Complaints(page)
    for path in paths:
        page.goto(path)
        complaints += looked_at(page)
    return complaints


def looked_at(page: Page) -> list[str]:
    """Return the faults of the open page: all of it in light and wide; in dark and narrow, what these change."""
    page.wait_for_load_state("load")
    complaints = too_wide(page, DESKTOP) + barriers_in(page, "light")
    return complaints + too_wide(page, PHONE) + barriers_in(page, "dark", NARROW)


def too_wide(page: Page, size: ViewportSize) -> list[str]:
    page.set_viewport_size(size)
    width, room = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    return [f"{page.url}: {width} wide on {room}"] if width > room or room != size["width"] else []


def paths(names: list[str], project: Project) -> list[str]:
    return [reverse(name, args=[project.uuid]) for name in names]


@pytest.mark.usefixtures("encoder")
def test_every_page_is_clean(browse: Browse, settings: Settings, tmp_path: Path) -> None:
    """Each is looked at as whoever may open it and sees most."""
    settings.EXPERIMENTS_ROOT = tmp_path
    (tmp_path / "film.mp4").touch()
    settings.VIDEO_FOLDERS = [tmp_path]
    site = BusySite()
    pages = [page for page in site.pages()[0] if page.route != NOT_OURS]
    complaints = []
    for who, urls in seen_once(pages).items():
        complaints += visit(enter(browse(), site.visitors[who]), *urls)
    assert complaints == []


def test_pages_of_a_project_without_anything_are_clean(browse: Browse) -> None:
    project = acts.project()
    people = [factories.lead(project), factories.admin(project), factories.annotator(project)]
    visits, complaints = set[str](), []
    for person in people:
        urls = [url for url in project_pages(project, person) if url not in visits]
        complaints += visit(browse(person), *urls)
        visits |= {*urls}
    assert complaints == []


def test_pages_of_the_annotator_are_clean(browse: Browse) -> None:
    project = acts.project()
    user = factories.annotator(project)
    judge(acts.batch(project, text=LONG, pairs=8), [0, 1, 2, 3, 4, 0, 1, 2], user)
    page = browse(user)
    acts.batch(project, text=UNBROKEN, gif=acts.moving_gif())
    assert visit(page, acts.desk(project)) == []
    acts.start(page, project)
    assert visit(page, *paths(["judging:pair-next", "judging:last-look"], project)) == []

    page.goto(reverse("judging:pair-next", args=[project.uuid]))
    complaints = Complaints(page)
    acts.judge(page, 3, lambda pair: 2, give=acts.by_key)
    assert complaints + too_wide(page, DESKTOP) + too_wide(page, PHONE) == []
    assert visit(page, *paths(["judging:last-look"], project)) == []


def test_pages_of_hours_and_money_are_clean(browse: Browse) -> None:
    """Annotator 7 was paid at two rates in March, and corrected once."""
    project, march = project_in(), "?month=2026-03"
    person, boss = factories.MembershipFactory(project=project, number=7).user, factories.lead(project)
    for day, is_pilot in ((2, False), (20, False), (21, True)):
        judged(project, person, local(f"2026-03-{day:02}T09:00"), 90, pilot=is_pilot)
    values = {"project": project, "annotator": person, "actor": boss}
    pay_rate_set(rate=Decimal("123456.78"), currency="IDR", from_day=date(2026, 3, 10), **values)
    hours_correct(day=date(2026, 3, 2), seconds=36_000, reason=UNBROKEN, **values)
    pay, forecast, hours = paths(["judging:pay", "judging:forecast", "judging:hours"], project)
    of_person = reverse("judging:pay-person", args=[project.uuid, 7])
    assert visit(browse(boss), pay + march, of_person + march, forecast) == []
    assert visit(browse(person), hours + march) == []


def test_the_page_of_webhooks_is_clean(browse: Browse) -> None:
    """One with messages that came to every end, and one that is added."""
    webhook = factories.WebhookFactory(url=f"https://example.org/{UNBROKEN}")
    ends = {
        "sent": {"sent_at": timezone.now(), "status": 200},
        "failed": {"error": UNBROKEN},
        "waiting": {"error": LONG},
    }
    for state, values in ends.items():
        about = {"event": "query.waiting", "payload": {}, "attempts": 3, "next_try_at": timezone.now(), "state": state}
        WebhookDelivery.objects.create(webhook=webhook, **about, **values)
    page = browse(factories.lead(webhook.project))
    complaints = visit(page, *paths(["judging:webhooks"], webhook.project))
    page.get_by_label("Address").fill("https://example.org/new")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_text("The secret of https://example.org/new")).to_be_visible()
    assert complaints + looked_at(page) == []


def test_pages_of_an_account_are_clean(browse: Browse) -> None:
    user = User.objects.create_user("somebody", PASSWORD)
    factories.MembershipFactory(user=user, role="annotator", project__name=UNBROKEN)
    page = browse(user)
    Client().force_login(user)  # elsewhere, too
    complaints = visit(page, *map(reverse, ("account", "password-change", "totp", "tokens")))

    page.get_by_label("Name").fill(UNBROKEN)
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_text("Your new token")).to_be_visible()
    complaints += looked_at(page)

    page.goto(reverse("account"))
    page.set_viewport_size(PHONE)
    table = page.locator("table", has=page.get_by_role("button", name="Log out of"))
    assert table.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth")

    page.goto(reverse("totp"))
    page.set_viewport_size(DESKTOP)
    assert left_of(page.get_by_text("Back to your account")) == left_of(page.get_by_role("heading", level=1))
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("button", name="Turn it on")).to_be_visible()
    complaints += looked_at(page)
    secret = page.locator("code.secret").inner_text()
    page.get_by_label("Code").fill(code_at(secret))
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_text("Your recovery codes")).to_be_visible()
    complaints += looked_at(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy them").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").split() == page.locator(".codes code").all_inner_texts()
    assert complaints + visit(page, *map(reverse, ("account", "totp", "tokens"))) == []


def left_of(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["x"]


def test_pages_of_a_log_in_by_two_steps_and_of_a_new_password_are_clean(browse: Browse) -> None:
    user = User.objects.create_user("somebody", PASSWORD)
    give_phone(user)
    page = browse()
    complaints = Complaints(page)
    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("heading", name="The second step")).to_be_visible()
    choose_url = password_link(user)
    used_up = reverse("password-choose", args=[choose_url.split("/")[3], "a-b"])
    assert complaints + looked_at(page) + visit(page, reverse("password-forgotten"), choose_url, used_up) == []


def test_all_five_grades_are_in_sight_without_scrolling(browse: Browse) -> None:
    project = acts.project()
    acts.batch(project, text=LONG)
    page = browse(factories.annotator(project))
    acts.start(page, project)
    lines = "h => Math.round(h.getBoundingClientRect().height / parseFloat(getComputedStyle(h).lineHeight))"
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert page.locator("h1.query").evaluate(lines) >= 2
        for grade in range(5):
            expect(page.locator(f"button[name=grade][value='{grade}']")).to_be_in_viewport(ratio=1)


def test_pages_that_ask_again_show_what_has_changed(browse: Browse) -> None:
    project = acts.project()
    judge_round(batch := acts.batch(project), [1, 2, 3], [1, 2, 3])
    JudgmentDay.objects.update(day=timezone.localdate())
    release = release_create(project=project, actor=None, wake=False)
    page = browse(factories.lead(project))
    complaints = Complaints(page)
    page.clock.install()
    page.goto(reverse("judging:overview", args=[project.uuid]))
    waiting = page.locator("dt", has_text="Wait for your decision").locator("+ dd")
    expect(waiting).to_have_text("1")
    page.get_by_text("As a table").click()
    Batch.objects.filter(pk=batch.pk).update(number=2)
    page.clock.run_for(5100)
    expect(waiting).to_have_text("0")
    expect(page.get_by_role("columnheader", name="Day")).to_be_visible()  # what was unfolded stays so

    page.goto(reverse("judging:releases", args=[project.uuid]))
    expect(page.get_by_text("Preparing the files")).to_be_visible()
    Release.objects.filter(pk=release.pk).update(state=Release.State.FAILED, error="The disk is full.")
    page.clock.run_for(2100)
    expect(page.get_by_text("The disk is full.")).to_be_visible()
    expect(page.get_by_role("main")).to_have_count(1)
    assert complaints == []


def test_a_page_that_nobody_sees_asks_for_nothing(browse: Browse, server_log: list[str]) -> None:
    project = acts.project()
    page = browse(factories.lead(project))
    page.clock.install()
    page.goto(reverse("judging:overview", args=[project.uuid]))
    waiting = page.locator("dt", has_text="Wait for your decision").locator("+ dd")
    expect(waiting).to_have_text("0")
    visibility_script = """Object.defineProperty(document, 'hidden', {value: %s, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'))"""
    page.evaluate(visibility_script % "true")
    factories.BatchFactory(query__project=project, state="done", pairs=0)
    before = len(server_log)
    page.clock.run_for(60_000)
    assert len(server_log) == before
    page.evaluate(visibility_script % "false")
    expect(waiting).to_have_text("1")
