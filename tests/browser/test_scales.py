"""Other scales on the judging page: as many buttons and keys as grades, all in sight on a phone."""

from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from judging.guidelines.selectors import levels_of
from judging.models import Judgment
from tests import factories
from tests.browser import acts
from tests.browser.axe import barriers_in
from tests.browser.conftest import Browse

MOST = 9
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.parametrize(("top_grade", "judges"), [(1, 3), (2, 2), (9, 2)])
def test_a_key_and_a_button_for_each_grade(browse: Browse, top_grade: int, judges: int) -> None:
    rules: dict[str, Any] = {"top_grade": top_grade, "judges": judges, "max_spread": 0}
    project = factories.ProjectFactory(**rules, guideline__levels=levels_of(top_grade))
    acts.batch(project, text="A person opens a letter", pairs=3)
    page = browse(factories.annotator(project))
    acts.start(page, project)
    buttons = page.locator("button[name=grade]")
    expect(buttons).to_have_count(top_grade + 1)
    assert barriers_in(page, "light") == []
    page.set_viewport_size(PHONE)
    for grade in range(top_grade + 1):
        expect(buttons.nth(grade)).to_be_in_viewport(ratio=1)
    assert barriers_in(page, "dark") == []
    if top_grade < MOST:
        page.keyboard.press(str(top_grade + 1))
        expect(page.locator("#no-grade")).to_have_text(f"Grades go from 0 to {top_grade}.")
        expect(page.locator("#no-grade")).to_be_visible()
    for position, grade in enumerate((top_grade, 0), start=2):
        acts.by_key(page, grade)
        acts.arrive(page, position)
    assert list(Judgment.objects.order_by("pk").values_list("grade", flat=True)) == [top_grade, 0]
