"""The page of a pair, with and without JavaScript: what is shown, graded and flagged, and what follows."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from judging.models import Assignment, Flag, Judgment, Pair
from judging.work.rules import LONGEST_MS
from tests.factories import BatchFactory
from tests.judging.play import pairs_in_order
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
    rows,
    take,
    url,
)

pytestmark = pytest.mark.django_db


class TestNext:
    def test_first_pair_without_an_answer(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, third = pairs_in_order(open_assignment)
        grade(browser, open_assignment, first, 3)
        browser.post(url("flag-set", second), {"reason": "broken"})
        page = browser.get(url("pair-next", open_assignment.project)).content.decode()
        assert page.startswith(PAGE)
        for words in (
            url("judgment-create", third),
            "pair 3 of 3",
            'value="2" max="3"',
            open_assignment.batch.query.text,
        ):
            assert words in page

    def test_nothing_to_grade(self, browser: Client, open_assignment: Assignment) -> None:
        project = open_assignment.project
        grade_all(browser, open_assignment)
        assert browser.get(url("pair-next", project)).headers["Location"] == url("last-look", project)
        end(open_assignment)
        for name in ("pair-next", "last-look"):
            assert browser.get(url(name, project)).headers["Location"] == url("desk", project)

    def test_pairs_come_in_the_order_that_was_drawn(self, client: Client) -> None:
        assignment = take(BatchFactory(pairs=6))
        client.force_login(assignment.annotator)
        for pair in pairs_in_order(assignment):
            page = client.get(url("pair-next", assignment.project)).content.decode()
            assert url("judgment-create", pair) in page
            client.post(url("judgment-create", pair), form(assignment, pair, 2))

    def test_next_previews_are_loaded_ahead_nearest_first(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, third = pairs_in_order(open_assignment)
        grade(browser, open_assignment, second, 2)
        page = browser.get(url("pair", first)).content.decode()
        previews = [f"/previews/{third.candidate.moment.preview_uuid}.gif"]
        assert re.findall(r'class="ahead" src="([^"]+)"', page) == previews


class TestPair:
    def test_page_and_fragment(self, browser: Client, open_assignment: Assignment) -> None:
        first, pair, _ = pairs_in_order(open_assignment)
        page, part = (browser.get(url("pair", pair), headers=headers) for headers in HEADERS.values())
        assert page.content.decode().startswith(PAGE)
        assert part.content.decode().strip().startswith('<section id="pair"')
        assert part.headers[REPLACE_URL] == url("pair", pair)
        for answer in (page, part):  # the form of the grade and that of the flag
            assert keys_in(answer.content.decode()) == [str(key(open_assignment, pair))]
        back = re.compile(r'href="([^"]+)" data-back')
        assert back.findall(page.content.decode()) == [url("pair", first)]
        assert back.findall(browser.get(url("pair", first)).content.decode()) == []

    def test_of_an_ended_assignment_leads_to_own_grades(self, browser: Client, open_assignment: Assignment) -> None:
        """A whole page does not land inside the judging page."""
        end(open_assignment)
        pair, own_grades = pairs_in_order(open_assignment)[0], url("own-grades", open_assignment.project)
        assert browser.get(url("pair", pair)).headers["Location"] == own_grades
        answer = browser.get(url("pair", pair), headers=HTMX)
        assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, own_grades)


class TestGrade:
    def test_without_javascript(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        grade(browser, open_assignment, second, 1)
        data = form(open_assignment, first, "4", comment=" too dark ")
        answer = browser.post(url("judgment-create", first), data)
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", open_assignment.project))
        row = Judgment.objects.get(pair=first)
        assert (row.grade, row.uuid, row.position, row.comment) == (4, data["key"], 1, "too dark")
        assert (row.previous_grade, row.source, row.round, row.slot) == (1, "person", 1, 1)

    def test_htmx_shows_the_next_pair_then_the_last_look(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, third = pairs_in_order(open_assignment)
        body = grade(browser, open_assignment, first, 0).content.decode().strip()
        assert body.startswith('<section id="pair"') and PAGE not in body
        assert url("judgment-create", second) in body and 'value="1" max="3"' in body
        assert keys_in(body) == [str(key(open_assignment, second))]
        grade(browser, open_assignment, second, 0)
        answer = browser.post(url("flag-set", third), {"reason": "broken"}, headers=HTMX)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"') and "A last look" in body
        assert url("assignment-finish", open_assignment.project) in body
        assert answer.headers[REPLACE_URL] == url("last-look", open_assignment.project)

    @pytest.mark.parametrize(
        ("form_values", "saved_ms"),
        [
            ({"active_ms": "4321"}, 4321),
            ({}, LONGEST_MS),  # what has passed since the batch was handed out
            *(({"active_ms": nonsense}, LONGEST_MS) for nonsense in ("", "-1", "1e3", "NaN", "٣٣", "9" * 9999)),
            ({"active_ms": ["1", "7"]}, 7),
        ],
    )
    def test_time_that_cannot_be_read_costs_no_grade(
        self, browser: Client, open_assignment: Assignment, form_values: dict[str, Any], saved_ms: int
    ) -> None:
        Assignment.objects.filter(pk=open_assignment.pk).update(created_at=timezone.now() - timedelta(hours=2))
        first = pairs_in_order(open_assignment)[0]
        browser.post(url("judgment-create", first), form(open_assignment, first, "4", **form_values))
        assert Judgment.objects.get().active_ms == saved_ms

    def test_back_to_change_grade_and_comment(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        steps = ((1, {"comment": "<dark>"}, "<dark>"), (3, {}, "<dark>"), (3, {"comment": "bright"}, "bright"))
        for value, more, comment in (*steps, (3, {"comment": ""}, "")):
            browser.post(url("judgment-create", first), form(open_assignment, first, value, **more))
            assert Judgment.objects.get().comment == comment
            page = browser.get(url("pair", first))
            assert graded(page) == [str(value)]
            assert f"{comment.replace('<', '&lt;').replace('>', '&gt;')}</textarea>" in page.content.decode()
        assert Judgment.objects.get().changes.get().from_grade == 1


class TestAddress:
    """A reload stays where the person is: the address follows what htmx shows."""

    def test_it_is_that_of_the_pair_shown(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        here = url("pair-next", open_assignment.project)

        def send(pair: Pair, value: int, address: str) -> HttpResponse:
            data = form(open_assignment, pair, value)
            return browser.post(url("judgment-create", pair), data, headers=at(address))  # type: ignore[return-value]

        bad = send(first, 9, here)
        assert (bad.status_code, REPLACE_URL in bad.headers) == (422, False)
        assert REPLACE_URL not in send(first, 1, here).headers
        assert send(second, 1, url("pair", second)).headers[REPLACE_URL] == here

    def test_another_than_the_next_has_its_own(self, browser: Client, open_assignment: Assignment) -> None:
        _, second, third = pairs_in_order(open_assignment)
        assert grade(browser, open_assignment, second, 1).headers[REPLACE_URL] == url("pair", third)

    @pytest.mark.parametrize("address", ["http://[::1/", "", "//", "\x7f%00"])
    def test_nonsense_is_no_address(self, browser: Client, open_assignment: Assignment, address: str) -> None:
        first = pairs_in_order(open_assignment)[0]
        headers = {**HTMX, "HX-Current-URL": address}
        answer = browser.post(url("judgment-create", first), form(open_assignment, first, 1), headers=headers)
        assert answer.status_code == 200
        assert answer.headers[REPLACE_URL] == url("pair-next", open_assignment.project)


class TestFlag:
    def test_without_javascript(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        for reason in ("broken", "unreadable"):
            answer = browser.post(url("flag-set", first), {"reason": reason, "comment": "all grey"})
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", open_assignment.project))
        flag = Flag.objects.get()
        assert (flag.pair, flag.reason, flag.comment, flag.withdrawn_at) == (first, "unreadable", "all grey", None)
        page = browser.get(url("pair", first)).content.decode()
        assert "You flagged this pair</b>: the query cannot be understood. It needs no grade from you." in page
        assert url("flag-withdraw", first) in page and url("flag-set", first) not in page
        for _ in range(2):
            answer = browser.post(url("flag-withdraw", first))
            assert (answer.status_code, answer.headers["Location"]) == (302, url("pair", first))
        assert Flag.objects.get().withdrawn_at is not None


@pytest.mark.parametrize("mode", HEADERS)
def test_a_form_sent_again_is_answered_as_the_first_time(
    browser: Client, open_assignment: Assignment, mode: str
) -> None:
    first, pair, _ = pairs_in_order(open_assignment)
    grade(browser, open_assignment, first, 1)
    grade(browser, open_assignment, pair, 3)
    data = form(open_assignment, pair, 4, comment="once")
    headers = at(url("pair-next", open_assignment.project)) if mode == "htmx" else {}
    answer = browser.post(url("judgment-create", pair), data, headers=headers)
    before = rows()
    again = browser.post(url("judgment-create", pair), data, headers=headers)
    assert (again.status_code, body_of(again), headers_of(again)) == (
        *(answer.status_code, body_of(answer), headers_of(answer)),
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
