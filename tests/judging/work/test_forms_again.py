"""Forms sent again, and one pair in two tabs."""

import pytest
from django.test import Client

from judging.models import Assignment, Judgment
from tests.judging.views.acts import (
    HEADERS,
    HTMX,
    PAGE,
    REPLACE_URL,
    at,
    body_of,
    end,
    form,
    grade,
    grade_all,
    graded,
    headers_of,
    key,
    keys_in,
    pairs_in_order,
    rows,
    url,
)

pytestmark = pytest.mark.django_db


class TestReplay:
    """A form that is sent again is answered as the first time, and nothing is written."""

    @pytest.mark.parametrize("position", [0, 1, 2])
    def test_htmx(self, browser: Client, open_assignment: Assignment, position: int) -> None:
        for pair in pairs_in_order(open_assignment)[:position]:
            grade(browser, open_assignment, pair, 1)
        pair = pairs_in_order(open_assignment)[position]
        data = form(open_assignment, pair, 3, comment="once")
        first = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", open_assignment.project)))
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", open_assignment.project)))
        assert body_of(again) == body_of(first)
        assert (again.status_code, headers_of(again)) == (first.status_code, headers_of(first))
        assert rows() == before

    def test_plain(self, browser: Client, open_assignment: Assignment) -> None:
        pair = pairs_in_order(open_assignment)[0]
        data = form(open_assignment, pair, 3)
        first = browser.post(url("judgment-create", pair), data)
        before = rows()
        again = browser.post(url("judgment-create", pair), data)
        assert (again.status_code, headers_of(again)) == (first.status_code, headers_of(first))
        assert rows() == before

    def test_of_a_change(self, browser: Client, open_assignment: Assignment) -> None:
        pair = pairs_in_order(open_assignment)[1]
        grade(browser, open_assignment, pair, 3)
        data = form(open_assignment, pair, 4)
        first = browser.post(url("judgment-create", pair), data, headers=HTMX)
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=HTMX)
        assert (body_of(again), headers_of(again)) == (body_of(first), headers_of(first))
        assert rows() == before

    def test_late_shows_what_followed_then(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, third = pairs_in_order(open_assignment)
        data = form(open_assignment, first, 3)
        browser.post(url("judgment-create", first), data, headers=HTMX)
        grade(browser, open_assignment, second, 1)
        again = browser.post(url("judgment-create", first), data, headers=at(url("pair-next", open_assignment.project)))
        assert url("judgment-create", second) in again.content.decode()
        assert keys_in(again.content.decode()) == [str(key(open_assignment, second))]
        assert again.headers[REPLACE_URL] == url("pair", second)
        assert open_assignment.judgments.count() == 2
        assert not open_assignment.judgments.filter(pair=third).exists()

    def test_after_the_end_writes_nothing(self, browser: Client, open_assignment: Assignment) -> None:
        pair = pairs_in_order(open_assignment)[2]
        data = form(open_assignment, pair, 3)
        grade_all(browser, open_assignment, 3)
        end(open_assignment)
        before = rows()
        assert browser.post(url("judgment-create", pair), data, headers=HTMX).status_code == 200
        assert rows() == before


class TestTwoTabs:
    @pytest.mark.parametrize("mode", HEADERS)
    def test_the_second_sees_what_the_first_gave(self, browser: Client, open_assignment: Assignment, mode: str) -> None:
        pair = pairs_in_order(open_assignment)[0]
        both = key(open_assignment, pair)
        browser.post(url("judgment-create", pair), {"key": both, "grade": 3})
        before = rows()
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=HEADERS[mode])
        body = answer.content.decode()
        assert answer.status_code == 409
        assert "This form was used already: your grade for this pair is 3." in body
        assert graded(answer) == ["3"]
        assert (PAGE in body) == (mode == "plain")
        assert rows() == before
        fresh = keys_in(body)
        assert fresh == [str(key(open_assignment, pair))] != [str(both)]
        assert browser.post(url("judgment-create", pair), {"key": fresh[0], "grade": 0}).status_code == 302
        assert Judgment.objects.get().grade == 0

    def test_the_address_follows_the_pair_that_is_shown_again(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        pair = pairs_in_order(open_assignment)[0]
        both = key(open_assignment, pair)
        grade(browser, open_assignment, pair, 3)
        headers = at(url("pair-next", open_assignment.project))
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=headers)
        assert (answer.status_code, answer.headers[REPLACE_URL]) == (409, url("pair", pair))

    def test_a_grade_changed_twice_in_one_tab_is_stale_in_the_other(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        pair = pairs_in_order(open_assignment)[0]
        for value in (1, 2, 3):
            grade(browser, open_assignment, pair, value)
        stale = {"key": key(open_assignment, pair, n_answers=1), "grade": 4}
        answer = browser.post(url("judgment-create", pair), stale, headers=HTMX)
        assert answer.status_code == 409
        assert "your grade for this pair is 3" in answer.content.decode()
        assert Judgment.objects.get().grade == 3
