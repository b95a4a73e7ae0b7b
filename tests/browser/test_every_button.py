"""Every form of every page answers at once: the page changes while the server's answer is held back."""

from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pytest
from django.urls import resolve, reverse
from playwright.sync_api import Page, Route, expect
from pytest_django import Settings

from accounts.models import User
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.site import Address, BusySite, enter
from tests.judging.views.endpoints.routes import page_routes

PASSWORD = "a long password"
BUTTONS = """() => [...document.forms].flatMap((form, index) => {
  const buttons = [...form.elements].filter(({type, disabled}) => type === "submit" && !disabled);
  const address = (button) => button.getAttribute("formaction") ?? form.getAttribute("action") ?? "";
  const first = new Map(buttons.reverse().map((button) => [address(button), button])); // of those that do the same
  return form.getAttribute("method") === "dialog" ? [] : [...first.values()].map((button) => ({
    form: index, button: [...form.elements].indexOf(button), method: form.getAttribute("method") ?? "get",
    path: new URL(address(button), location).pathname, of_page: form.closest("main") !== null,
    asks_device: form.hasAttribute("data-passkey"),
  }));
})"""
PRESS = """({form, button}) => {
  document.forms[form].noValidate = true;
  const pressed = document.forms[form].elements[button];
  pressed.click();
  const isWhite = getComputedStyle(pressed, "::before").filter !== "none"; // what turns on it
  const [red, green, blue, alpha = 1] = getComputedStyle(pressed).backgroundColor.match(/[\\d.]+/g).map(Number);
  const isPale = alpha === 0 || Math.min(red, green, blue) > 200;
  return pressed.matches(".grades .pressed") || pressed.disabled
    || pressed.matches("[aria-busy=true]") && !(isWhite && isPale);
}"""
LEFT_OUT = {  # routes that are no page and to which no form leads: why
    **dict.fromkeys(("account_login", "mfa_authenticate", "mfa_index"), "are other names of pages, for allauth"),
    **dict.fromkeys(("judging:caption-edits-said", "models_runner:features-hub"), "are parts of pages, without a form"),
    **dict.fromkeys(("judging:heartbeat", "judging:leave"), "are told by a script: test_presence"),
    **dict.fromkeys(("annotation:uploads", "annotation:upload"), "take pieces from a script: test_video_uploads"),
    **dict.fromkeys(
        ("openid_connect_login", "openid_connect_callback", "provider-unlink"), "need a provider: test_sign_on"
    ),
    "judging:clip-draft": "is told by a script: test_marking",
    "metrics": "needs a token and is text: tests/core/test_metrics",
}


class Kind(NamedTuple):
    """Tell forms apart; those in the header are the same on every page."""

    page: str
    method: str
    route: str


def hold(routes: list[Route], route: Route) -> None:
    routes.append(route)


def silent_forms(page: Page, addresses: list[Address], pressed: set[Kind]) -> list[str]:
    """Press the button of each form: those whose page stays as it was. Each kind of form is tried once."""
    silent = []

    def is_sent() -> bool:
        page.wait_for_timeout(5)
        return bool(routes)

    for address in addresses:
        page.goto(address.url)
        assert page.url.endswith(address.url)
        page.wait_for_load_state("load")
        routes: list[Route] = []
        page.route("**", partial(hold, routes))
        for button in page.evaluate(BUTTONS):
            target = resolve(button["path"]).view_name
            kind = Kind(address.route if button["of_page"] else "", button["method"], target)
            if kind in pressed:
                continue
            pressed.add(kind)
            if not page.evaluate(PRESS, button):
                silent.append(f"{address}: {kind}")
            if not button["asks_device"]:
                acts.wait_until(is_sent)  # the request follows the press
            while routes:
                routes.pop().abort("aborted")  # the page stays
            expect(page.locator(".htmx-request")).to_have_count(0)  # it has noticed
        page.unroute("**")
    return silent


@pytest.mark.usefixtures("encoder")
def test_every_form_answers_before_the_server_does(browse: Browse, settings: Settings, tmp_path: Path) -> None:
    """A route is a page that is opened here, a file, leads on to a page, or is where a form of a page leads."""
    settings.EXPERIMENTS_ROOT = tmp_path
    (tmp_path / "film.mp4").touch()
    settings.VIDEO_FOLDERS = [tmp_path]
    site, pressed, silent = BusySite(), set[Kind](), []
    pages, others = site.pages()
    for who, addresses in groupby(sorted(pages, key=attrgetter("who")), attrgetter("who")):
        silent += silent_forms(enter(browse(), site.visitors[who]), list(addresses), pressed)
    assert silent == []
    reached = {address.route for address in pages} | {kind.route for kind in pressed}
    assert page_routes() - reached - others == LEFT_OUT.keys()


def test_a_button_goes_on_after_its_download_and_when_its_page_comes_back(browse: Browse) -> None:
    page = browse(User.objects.create_user("somebody", PASSWORD))
    page.clock.install()
    page.goto(reverse("account"))
    button = page.get_by_role("button", name="Download what is stored of you")
    with page.expect_download():
        button.click()
    assert button.get_attribute("aria-busy") == "true" and button.is_disabled()
    page.clock.run_for(3100)
    assert button.get_attribute("aria-busy") is None and button.is_enabled()
