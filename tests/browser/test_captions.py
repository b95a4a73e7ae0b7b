"""Captions in review, decided by keyboard."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Caption
from tests import factories
from tests.annotation.captions.test_captions import waiting
from tests.browser.conftest import Browse


@pytest.mark.usefixtures("encoder")
def test_keys_move_decide_and_undo(browse: Browse) -> None:
    project = factories.ProjectFactory()
    first, second, third = (waiting(project, text=f"A man and Joey wave {n} times.") for n in (1, 2, 3))
    page = browse(factories.lead(project))
    page.goto(reverse("annotation:captions", args=[project.uuid]))
    captions = [page.locator(f"#caption-{caption.uuid}") for caption in (first, second, third)]

    for key, index in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(captions[index]).to_be_focused()
    page.keyboard.press("a")
    expect(captions[0]).to_contain_text("Accepted")
    expect(captions[1]).to_be_focused()
    expect(page.locator("#waiting")).to_have_text("2")

    page.keyboard.press("r")
    expect(captions[1].get_by_label("Caption")).to_have_value("Two people wave.")
    expect(captions[1]).to_be_focused()
    page.keyboard.press("e")
    page.keyboard.press("Control+A")
    page.keyboard.type("Two men wave again")  # its letters are no keys here
    page.keyboard.press("Control+Enter")
    expect(captions[1]).to_contain_text("Two men wave again")
    expect(captions[2]).to_be_focused()
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Show the next ones")).to_be_focused()

    page.keyboard.press("u")
    expect(page.get_by_text("Your last decision is taken back.")).to_be_visible()
    expect(captions[2].get_by_label("Caption")).to_have_value("A man and Joey wave 3 times.")
    states = dict(Caption.objects.values_list("text", "state"))
    assert states == {
        "A man and Joey wave 1 times.": "accepted",
        "Two men wave again": "edited",
        "A man and Joey wave 3 times.": "in_review",
    }
