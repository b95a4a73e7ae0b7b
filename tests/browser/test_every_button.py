"""Every form of every page answers at once: the page changes while the server's answer is held back."""

import re
from functools import partial

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import ADMIN_PAGES, ANNOTATOR_PAGES, STAFF_PAGES, busy_project, paths, planned_pool

PASSWORD = "a long password"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PRESS = """index => {
  const form = document.forms[index];
  form.noValidate = true;
  const before = document.body.innerHTML;
  form.requestSubmit(form.querySelector("button:not([type=button])"));
  return document.body.innerHTML !== before;
}"""
FORMS = """() => [...document.forms].map((form) =>
  form.method !== "dialog" && form.querySelector("button:not([type=button])") ? `${form.method} ${form.action}` : "")"""


def hold(routes: list[Route], route: Route) -> None:
    routes.append(route)


def silent_forms(page: Page, *addresses: str, pressed: set[str]) -> list[str]:
    """Press the button of each form: those whose page stays as it was. Each kind of form is tried once."""
    silent = []

    def is_sent() -> bool:
        page.wait_for_timeout(5)
        return bool(routes)

    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("load")
        routes: list[Route] = []
        page.route("**", partial(hold, routes))
        for index, form in enumerate(UUID.sub("uuid", form) for form in page.evaluate(FORMS)):
            if not form or form in pressed:  # one without a button cannot be pressed
                continue
            pressed.add(form)
            if not page.evaluate(PRESS, index):
                silent.append(f"{address}: {form}")
            acts.wait_until(is_sent)  # the request follows the press
            while routes:
                routes.pop().abort("aborted")  # the page stays
            expect(page.locator(".htmx-request")).to_have_count(0)  # it has noticed
        page.unroute("**")
    return silent


@pytest.mark.usefixtures("encoder")
def test_every_form_answers_before_the_server_does(browse: Browse) -> None:
    project, pressed = busy_project(), set[str]()
    lead, admin = browse(factories.lead(project)), browse(factories.admin(project))
    pool = reverse("pools:pool", args=[planned_pool(project).uuid])
    more = [*paths(["judging:people", "judging:pay"], project), reverse("annotation:import-new"), pool]
    more.append(reverse("judging:collection-new"))
    assert silent_forms(lead, *paths(STAFF_PAGES, project), *more, pressed=pressed) == []
    assert silent_forms(admin, *paths(ADMIN_PAGES, project), pressed=pressed) == []
    project = acts.project()
    page = browse(factories.annotator(project))
    acts.batch(project, text="A person sings", pairs=3)
    acts.start(page, project)
    assert silent_forms(page, *paths(ANNOTATOR_PAGES, project), pressed=pressed) == []
    own = browse(User.objects.create_user("somebody", PASSWORD))
    assert silent_forms(own, *map(reverse, ("account", "totp", "tokens", "password-change")), pressed=pressed) == []
    assert silent_forms(browse(), reverse("login"), pressed=pressed) == []
    assert len(pressed) > 40


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
