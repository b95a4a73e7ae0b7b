"""Forms sent again, and one pair in two tabs."""

import pytest
from django.test import Client

from judging.models import Assignment, Judgment
from tests.judging.views.acts import (
    HTMX,
    PAGE,
    REPLACE_URL,
    WAYS,
    at,
    end,
    form,
    grade,
    grade_all,
    graded,
    kept,
    key,
    keys_in,
    rows,
    said,
    shown,
    url,
)

pytestmark = pytest.mark.django_db


class TestReplay:
    """A form that is sent again is answered as the first time, and nothing is written."""

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_htmx(self, browser: Client, held: Assignment, place: int) -> None:
        for pair in shown(held)[:place]:
            grade(browser, held, pair, 1)
        pair = shown(held)[place]
        data = form(held, pair, 3, comment="once")
        first = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", held.project)))
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=at(url("pair-next", held.project)))
        assert said(again) == said(first)
        assert (again.status_code, kept(again)) == (first.status_code, kept(first))
        assert rows() == before

    def test_plain(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        data = form(held, pair, 3)
        first = browser.post(url("judgment-create", pair), data)
        before = rows()
        again = browser.post(url("judgment-create", pair), data)
        assert (again.status_code, kept(again)) == (first.status_code, kept(first))
        assert rows() == before

    def test_of_a_change(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[1]
        grade(browser, held, pair, 3)
        data = form(held, pair, 4)
        first = browser.post(url("judgment-create", pair), data, headers=HTMX)
        before = rows()
        again = browser.post(url("judgment-create", pair), data, headers=HTMX)
        assert (said(again), kept(again)) == (said(first), kept(first))
        assert rows() == before

    def test_late_shows_what_followed_then(self, browser: Client, held: Assignment) -> None:
        first, second, third = shown(held)
        data = form(held, first, 3)
        browser.post(url("judgment-create", first), data, headers=HTMX)
        grade(browser, held, second, 1)
        again = browser.post(url("judgment-create", first), data, headers=at(url("pair-next", held.project)))
        assert url("judgment-create", second) in again.content.decode()
        assert keys_in(again.content.decode()) == [str(key(held, second))]
        assert again.headers[REPLACE_URL] == url("pair", second)
        assert held.judgments.count() == 2
        assert not held.judgments.filter(pair=third).exists()

    def test_after_the_end_writes_nothing(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[2]
        data = form(held, pair, 3)
        grade_all(browser, held, 3)
        end(held)
        before = rows()
        assert browser.post(url("judgment-create", pair), data, headers=HTMX).status_code == 200
        assert rows() == before


class TestTwoTabs:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_second_sees_what_the_first_gave(self, browser: Client, held: Assignment, way: str) -> None:
        pair = shown(held)[0]
        both = key(held, pair)
        browser.post(url("judgment-create", pair), {"key": both, "grade": 3})
        before = rows()
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=WAYS[way])
        body = answer.content.decode()
        assert answer.status_code == 409
        assert "This form was used already: your grade for this pair is 3." in body
        assert graded(answer) == ["3"]
        assert (PAGE in body) == (way == "plain")
        assert rows() == before
        fresh = keys_in(body)
        assert fresh == [str(key(held, pair))] != [str(both)]
        assert browser.post(url("judgment-create", pair), {"key": fresh[0], "grade": 0}).status_code == 302
        assert Judgment.objects.get().grade == 0

    def test_the_address_follows_the_pair_that_is_shown_again(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        both = key(held, pair)
        grade(browser, held, pair, 3)
        headers = at(url("pair-next", held.project))
        answer = browser.post(url("judgment-create", pair), {"key": both, "grade": 0}, headers=headers)
        assert (answer.status_code, answer.headers[REPLACE_URL]) == (409, url("pair", pair))

    def test_a_grade_changed_twice_in_one_tab_is_stale_in_the_other(self, browser: Client, held: Assignment) -> None:
        pair = shown(held)[0]
        for value in (1, 2, 3):
            grade(browser, held, pair, value)
        stale = {"key": key(held, pair, n_answers=1), "grade": 4}
        answer = browser.post(url("judgment-create", pair), stale, headers=HTMX)
        assert answer.status_code == 409
        assert "your grade for this pair is 3" in answer.content.decode()
        assert Judgment.objects.get().grade == 3
