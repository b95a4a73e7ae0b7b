"""Forms sent again, and one pair in two tabs."""

import pytest
from django.test import Client

from judging.models import Assignment, Judgment
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import (
    HEADERS,
    PAGE,
    REPLACE_URL,
    at,
    body_of,
    form,
    grade,
    graded,
    headers_of,
    key,
    keys_in,
    rows,
    url,
)

pytestmark = pytest.mark.django_db


class TestReplay:
    """A form that is sent again is answered as the first time, and nothing is written."""

    @pytest.mark.parametrize("mode", HEADERS)
    @pytest.mark.parametrize(("position", "earlier_grade"), [(0, None), (1, 3), (2, None)])
    def test_at_once(
        self, browser: Client, open_assignment: Assignment, mode: str, position: int, earlier_grade: int | None
    ) -> None:
        *others, pair = pairs_in_order(open_assignment)[: position + 1]
        for other in others:
            grade(browser, open_assignment, other, 1)
        if earlier_grade is not None:
            grade(browser, open_assignment, pair, earlier_grade)
        data = form(open_assignment, pair, 4, comment="once")
        headers = {**at(url("pair-next", open_assignment.project))} if mode == "htmx" else {}
        first = browser.post(url("judgment-create", pair), data, headers=headers)
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=headers)
        assert (again.status_code, body_of(again), headers_of(again)) == (
            *(first.status_code, body_of(first), headers_of(first)),
        )
        assert rows() == before


@pytest.mark.parametrize("mode", HEADERS)
def test_of_two_tabs_one_sees_what_the_other_gave(browser: Client, open_assignment: Assignment, mode: str) -> None:
    pair = pairs_in_order(open_assignment)[0]
    grade(browser, open_assignment, pair, 1)
    both = key(open_assignment, pair)
    for value in (2, 3):
        grade(browser, open_assignment, pair, value)
    before = rows()
    headers = at(url("pair-next", open_assignment.project)) if mode == "htmx" else {}
    answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=headers)
    body = answer.content.decode()
    assert answer.status_code == 409
    assert "This form was used already: your grade for this pair is 3." in body
    assert graded(answer) == ["3"]
    assert (PAGE in body) == (mode == "plain") == (answer.headers.get(REPLACE_URL) != url("pair", pair))
    assert rows() == before
    fresh = keys_in(body)
    assert fresh == [str(key(open_assignment, pair))] != [str(both)]
    assert browser.post(url("judgment-create", pair), {"key": fresh[0], "grade": 0}).status_code == 302
    assert Judgment.objects.get().grade == 0
