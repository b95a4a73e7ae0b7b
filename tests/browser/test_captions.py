"""Captions in review, decided by keyboard; and a rewriting, seen from its order to its end."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.captions.services.rewriting import REWRITINGS, rewriting_run
from annotation.models import Caption
from config.celery_app import app
from tests import factories
from tests.annotation.captions.test_captions import waiting
from tests.annotation.captions.test_rewriting import describe
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


@pytest.mark.usefixtures("encoder")
def test_a_rewriting_shows_its_progress_at_once_and_its_end_with_what_is_to_be_decided(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key and no press is needed between the order and its end; a worker takes it when it can."""
    calls: list[tuple[int]] = []
    monkeypatch.setattr(app.tasks[REWRITINGS.task], "apply", calls.append)
    project = factories.ProjectFactory()
    describe(project, "Ross waves at Rachel.", "Ross <b>walks</b> in.")
    page = browse(factories.lead(project))
    page.goto(reverse("annotation:captions", args=[project.uuid]))
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()

    page.get_by_role("button", name="Rewrite 2 descriptions").click()
    progress = page.get_by_role("progressbar", name="Rewriting descriptions")
    expect(progress).to_have_attribute("value", "0")
    expect(page.locator("#progress .job")).to_contain_text("0 of 2")
    expect(page.get_by_role("button", name="Rewrite")).to_have_count(0)

    project.jobs.update(done=1)
    expect(progress).to_have_attribute("value", "1")
    page.evaluate("document.body.dataset.before = 'yes'")
    [(rewriting_id,)] = calls
    rewriting_run(rewriting_id=rewriting_id)
    expect(page.get_by_role("status").filter(has_text="Descriptions rewritten, ")).to_be_visible()
    expect(progress).to_have_count(0)
    expect(page.locator("body[data-before]")).to_have_count(0)  # the whole page was loaded again
    expect(page.locator("article.caption")).to_have_count(1)
    expect(page.locator("article.caption")).to_contain_text("holds markup")
    expect(page.locator("#waiting")).to_have_text("1")
