"""Flagging a pair on its page."""

import pytest
from django.test import Client

from judging.models import Assignment, Flag
from tests.judging.views.acts import HTMX, REPLACE_URL, grade, pairs_in_order, url

pytestmark = pytest.mark.django_db


class TestFlag:
    def test_plain(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        answer = browser.post(url("flag-set", first), {"reason": "broken", "comment": "all grey"})
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", open_assignment.project))
        flag = Flag.objects.get()
        assert (flag.pair, flag.assignment, flag.annotator) == (first, open_assignment, open_assignment.annotator)
        assert (flag.reason, flag.comment, flag.withdrawn_at) == ("broken", "all grey", None)
        assert url("judgment-create", second) in browser.get(answer.headers["Location"]).content.decode()
        answer = browser.post(url("flag-withdraw", first))
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair", first))
        assert Flag.objects.get().withdrawn_at is not None

    def test_htmx(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        answer = browser.post(url("flag-set", first), {"reason": "offensive"}, headers=HTMX)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"')
        assert url("judgment-create", second) in body
        assert 'value="1" max="3"' in body
        answer = browser.post(url("flag-withdraw", first), headers=HTMX)
        body = answer.content.decode()
        assert url("judgment-create", first) in body
        assert "You flagged this pair" not in body
        assert 'value="0" max="3"' in body

    def test_the_pair_says_that_it_is_flagged(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        browser.post(url("flag-set", first), {"reason": "unreadable"})
        page = browser.get(url("pair", first)).content.decode()
        assert "You flagged this pair</b>: the query cannot be understood. It needs no grade from you." in page
        assert url("flag-withdraw", first) in page
        assert url("flag-set", first) not in page

    def test_again_keeps_one_with_the_newest_words(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        for reason in ("broken", "broken", "offensive"):
            browser.post(url("flag-set", first), {"reason": reason})
        assert Flag.objects.get().reason == "offensive"

    def test_the_last_flag_leads_to_the_last_look(self, browser: Client, open_assignment: Assignment) -> None:
        *others, last = pairs_in_order(open_assignment)
        for pair in others:
            grade(browser, open_assignment, pair, 1)
        answer = browser.post(url("flag-set", last), {"reason": "broken"}, headers=HTMX)
        assert "A last look" in answer.content.decode()
        assert answer.headers[REPLACE_URL] == url("last-look", open_assignment.project)

    def test_taken_back_twice(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        browser.post(url("flag-set", first), {"reason": "broken"})
        browser.post(url("flag-withdraw", first))
        when = Flag.objects.get().withdrawn_at
        assert browser.post(url("flag-withdraw", first)).status_code == 302
        assert Flag.objects.get().withdrawn_at == when
