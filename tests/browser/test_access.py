"""For everybody: axe finds nothing on any page, the focus is never lost, and words alone lead through a batch."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from judging.models import Judgment
from tests import factories
from tests.browser import acts
from tests.browser.axe import barriers
from tests.browser.conftest import Browse
from tests.browser.test_every_page import PHONE, paths


def barriers_at(page: Page, *addresses: str) -> list[str]:
    problems = []
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("load")
        problems += barriers(page)
    return problems


def test_axe_finds_nothing_on_pages_that_say_no(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.annotator(project))
    assert barriers_at(page, "/nowhere/", *paths(["judging:overview"], project)) == []


def test_on_a_phone_the_row_of_pages_begins_where_one_is(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project), viewport=PHONE)
    page.goto(reverse("judging:audit", args=[project.uuid]))
    expect(page.locator("nav.group [aria-current]")).to_be_in_viewport(ratio=1)
    assert page.evaluate("window.scrollY") == 0


@pytest.mark.parametrize("size", [{"width": 1280, "height": 720}, PHONE])
def test_axe_finds_nothing_wherever_the_judging_page_is(browse: Browse, size: dict[str, int]) -> None:
    page, _ = acts.judging(browse, media={"gif": acts.moving_gif()}, viewport=size)
    problems = barriers(page)
    for key in ("?", "k"):
        page.keyboard.press(key)
        problems += barriers(page)
        page.keyboard.press("Escape")
    page.get_by_role("link", name="Stop here").click()
    problems += barriers(page)
    page.keyboard.press("Escape")
    acts.settle(page)
    page.get_by_text("Comment", exact=True).click()
    page.get_by_text("Cannot judge", exact=True).click()
    problems += barriers(page)
    page.get_by_role("button", name="Offensive").click()
    acts.arrive(page, 2)
    page.keyboard.press("ArrowLeft")
    acts.arrive(page, 1)
    problems += barriers(page)
    page.keyboard.press("ArrowRight")
    acts.arrive(page, 2)
    page.context.set_offline(True)
    page.keyboard.press("3")
    expect(page.get_by_text("Your 3 is kept")).to_be_visible()
    problems += barriers(page)
    page.locator("#break").evaluate("element => (element.hidden = false)")
    problems += barriers(page)
    page.context.set_offline(False)
    acts.arrive(page, 3)
    page.keyboard.press("4")
    expect(page.get_by_role("heading", name="A last look")).to_be_visible()
    problems += barriers(page)
    assert problems == []


def test_the_focus_is_never_lost_and_every_pair_is_announced(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    group, announced = page.locator("fieldset.grades"), page.locator("#announce")
    expect(group).to_be_focused()
    page.get_by_role("button", name="Good").click()
    acts.arrive(page, 2)
    expect(group).to_be_focused()
    expect(announced).to_have_text("Pair 2 of 3")
    page.get_by_role("link", name="Back").click()
    acts.arrive(page, 1)
    expect(group).to_be_focused()
    expect(announced).to_have_text("Pair 1 of 3")
    page.get_by_role("link", name="Guideline").last.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Guideline").last).to_be_focused()
    page.keyboard.press("0")
    acts.arrive(page, 2)
    page.get_by_text("Cannot judge", exact=True).click()
    page.get_by_role("button", name="The query cannot be understood").click()
    acts.arrive(page, 3)
    expect(group).to_be_focused()
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="A last look")).to_be_focused()
    expect(announced).to_have_text("A last look at your grades")


def test_a_note_above_the_pair_is_announced(browse: Browse) -> None:
    page, _ = acts.judging(browse)
    first = acts.pair_on_page(page)
    other = page.context.new_page()
    other.goto(page.url)
    acts.settle(other)
    page.keyboard.press("3")
    acts.arrive(page, 2)
    other.keyboard.press("1")
    expect(other.get_by_role("alert")).to_contain_text("your grade for this pair is 3")
    assert acts.pair_on_page(other) == first
    expect(other.locator("fieldset.grades")).to_be_focused()
    assert Judgment.objects.get().grade == 3


def test_thumbs_reach_the_grades_and_the_clip_is_in_sight(browse: Browse) -> None:
    page, _ = acts.judging(
        browse, media={"gif": acts.moving_gif()}, viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    for what in (page.locator("h1.query"), page.locator(".clip .moment"), page.get_by_role("slider")):
        expect(what).to_be_in_viewport(ratio=1)
    for grade in range(5):
        button = page.locator(f"button[name=grade][value='{grade}']")
        expect(button).to_be_in_viewport(ratio=1)
        box = button.bounding_box()
        assert box is not None
        assert box["width"] >= 44
        assert box["height"] >= 44
        assert box["y"] > PHONE["height"] * 2 / 3
    assert page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]") == [390, 390]
    page.get_by_role("button", name="Partly").tap()
    acts.arrive(page, 2)
    assert Judgment.objects.get().grade == 2
