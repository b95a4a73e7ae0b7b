"""The multiple-choice test before training, in a real browser."""

from django.urls import reverse
from playwright.sync_api import expect

from judging.guidelines.services import policy_publish
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import LONG, UNBROKEN, visit
from tests.judging.exams import newcomer, status_of
from tests.judging.settings import screening_question


def test_from_the_desk_through_the_test_to_training(browse: Browse) -> None:
    project = acts.project()
    for number in range(2):
        screening_question(project, description=f"What happens in clip {number}?", options=[f"right {LONG}", UNBROKEN])
    policy_publish(project=project, actor=None, gate_questions=2, gate_passing=2, gate_is_open=True)
    user = newcomer(project)
    page = browse(user)
    screening_url = reverse("judging:gate", args=[project.uuid])
    page.goto(acts.desk(project))
    page.get_by_role("button", name="Take the test").click()
    assert visit(page, screening_url) == []
    page.get_by_role("button", name="Begin the test").click()
    expect(page.get_by_role("radio")).to_have_count(4)
    assert visit(page, screening_url) == []
    page.keyboard.press("Tab")
    for right in page.get_by_role("radio", name="right").all():
        right.check()
    page.locator("main form button").last.click()
    expect(page.get_by_role("heading", name="Passed")).to_be_visible()
    assert visit(page, screening_url) == []
    assert status_of(user) == "training"
