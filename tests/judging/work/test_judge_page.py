"""The page of a pair, with and without JavaScript: what is shown, graded, and what follows."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Query
from judging.models import Assignment, Judgment
from judging.work.rules import LONGEST_MS
from tests.factories import BatchFactory, ProjectFactory, annotator
from tests.judging.play import judge, judge_round, pairs_of
from tests.judging.views.acts import (
    HEADERS,
    HTMX,
    PAGE,
    REPLACE_URL,
    at,
    end,
    form,
    grade,
    grade_all,
    graded,
    key,
    keys_in,
    pairs_in_order,
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
        assert url("judgment-create", third) in page
        assert "pair 3 of 3" in page
        assert 'value="2" max="3"' in page
        assert open_assignment.batch.query.text in page

    def test_all_graded(self, browser: Client, open_assignment: Assignment) -> None:
        grade_all(browser, open_assignment)
        assert browser.get(url("pair-next", open_assignment.project)).headers["Location"] == url(
            "last-look", open_assignment.project
        )

    def test_nothing_open(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        for name in ("pair-next", "last-look"):
            assert client.get(url(name, project)).headers["Location"] == url("desk", project)

    def test_pairs_come_in_the_order_that_was_drawn(self, client: Client) -> None:
        assignment = take(BatchFactory(pairs=6))
        client.force_login(assignment.annotator)
        matches = []
        for pair in pairs_in_order(assignment):
            page = client.get(url("pair-next", assignment.project)).content.decode()
            matches.append(url("judgment-create", pair) in page)
            client.post(url("judgment-create", pair), form(assignment, pair, 2))
        assert matches == [True] * 6

    def test_the_next_previews_are_loaded_ahead_nearest_first(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        first, second, third = pairs_in_order(open_assignment)
        grade(browser, open_assignment, second, 2)
        page = browser.get(url("pair", first)).content.decode()
        assert re.findall(r'class="ahead" src="([^"]+)"', page) == [
            f"/previews/{third.candidate.moment.preview_uuid}.gif"
        ]


class TestPair:
    def test_page_and_fragment(self, browser: Client, open_assignment: Assignment) -> None:
        pair = pairs_in_order(open_assignment)[1]
        page, part = (browser.get(url("pair", pair), headers=headers) for headers in HEADERS.values())
        assert page.content.decode().startswith(PAGE)
        assert part.content.decode().strip().startswith('<section id="pair"')
        assert part.headers[REPLACE_URL] == url("pair", pair)
        for answer in (page, part):  # the form of the grade and that of the flag
            assert keys_in(answer.content.decode()) == [str(key(open_assignment, pair))]

    def test_back_leads_to_the_pair_before(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        back = re.compile(r'href="([^"]+)" data-back')
        assert back.findall(browser.get(url("pair", second)).content.decode()) == [url("pair", first)]
        assert back.findall(browser.get(url("pair", first)).content.decode()) == []

    def test_of_an_ended_assignment_htmx_goes_to_own_grades(self, browser: Client, open_assignment: Assignment) -> None:
        """A whole page does not land inside the judging page."""
        end(open_assignment)
        answer = browser.get(url("pair", pairs_in_order(open_assignment)[0]), headers=HTMX)
        assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, url("own-grades", open_assignment.project))

    def test_of_an_ended_assignment_leads_to_own_grades(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        answer = client.get(url("pair", pairs_of(batch)[0]))
        assert answer.headers["Location"] == url("own-grades", batch.project)


class TestGrade:
    def test_without_javascript(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        answer = browser.post(url("judgment-create", first), form(open_assignment, first, "4"))
        assert (answer.status_code, answer.headers["Location"]) == (302, url("pair-next", open_assignment.project))
        assert Judgment.objects.get().grade == 4

    def test_htmx_answers_with_the_next_pair_alone(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        answer = grade(browser, open_assignment, first, 0)
        body = answer.content.decode().strip()
        assert answer.status_code == 200
        assert body.startswith('<section id="pair"')
        assert PAGE not in body
        assert url("judgment-create", second) in body
        assert keys_in(body) == [str(key(open_assignment, second))]
        assert 'value="1" max="3"' in body

    def test_htmx_answers_to_the_last_grade_with_the_last_look(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        answer = grade_all(browser, open_assignment)
        body = answer.content.decode().strip()
        assert body.startswith('<section id="pair"')
        assert "A last look" in body
        assert url("assignment-finish", open_assignment.project) in body
        assert answer.headers[REPLACE_URL] == url("last-look", open_assignment.project)

    def test_what_was_left_out_comes_after_the_end(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, third = pairs_in_order(open_assignment)
        grade(browser, open_assignment, second, 1)
        answer = grade(browser, open_assignment, third, 1)
        assert url("judgment-create", first) in answer.content.decode()

    def test_a_row_says_how_it_was_given(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        grade(browser, open_assignment, second, 4)
        key_of_first = key(open_assignment, first)
        browser.post(
            url("judgment-create", first), form(open_assignment, first, "1", comment=" too dark "), headers=HTMX
        )
        judgment = Judgment.objects.get(pair=first)
        assert (judgment.uuid, judgment.position, judgment.previous_grade, judgment.comment) == (
            key_of_first,
            1,
            4,
            "too dark",
        )
        assert (judgment.assignment, judgment.round, judgment.seat, judgment.source) == (
            open_assignment,
            1,
            1,
            "person",
        )

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
        assert (
            browser.post(url("judgment-create", first), form(open_assignment, first, "4", **form_values)).status_code
            == 302
        )
        assert Judgment.objects.get().active_ms == saved_ms

    def test_the_lease_starts_anew(self, browser: Client, open_assignment: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        grade(browser, open_assignment, pairs_in_order(open_assignment)[0], 1)
        open_assignment.refresh_from_db()
        assert open_assignment.expires_at > timezone.now() + timedelta(minutes=19)

    def test_back_to_change(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        grade(browser, open_assignment, first, 1)
        assert graded(browser.get(url("pair", first))) == ["1"]
        grade(browser, open_assignment, first, 3)
        judgment = Judgment.objects.get()
        assert (judgment.grade, judgment.revision, judgment.changes.get().from_grade) == (3, 1, 1)
        assert graded(browser.get(url("pair", first))) == ["3"]

    def test_a_comment_is_shown_again_changed_and_taken_back(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        first = pairs_in_order(open_assignment)[0]
        comments = []
        for more in ({"comment": "<dark>"}, {}, {"comment": "bright"}, {"comment": ""}):
            browser.post(url("judgment-create", first), form(open_assignment, first, "1", **more))
            comments.append(Judgment.objects.get().comment)
            if comments[-1] == "<dark>":
                assert "&lt;dark&gt;</textarea>" in browser.get(url("pair", first)).content.decode()
        assert comments == ["<dark>", "<dark>", "bright", ""]

    def test_round_2_opens_escalated_pairs_only(self, client: Client) -> None:
        batch = BatchFactory()
        judge_round(batch, [0, 1], [4, 1])
        second = take(batch)
        client.force_login(second.annotator)
        escalated, settled = pairs_of(batch)
        assert client.get(url("pair", settled)).status_code == 404
        assert grade(client, second, settled, 4).status_code == 404
        assert grade(client, second, escalated, 4).status_code == 200


class TestAddress:
    """A reload stays where the person is: the address follows what htmx shows."""

    def test_next_is_where_the_next_pair_is(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        here = url("pair-next", open_assignment.project)
        answer = browser.post(url("judgment-create", first), form(open_assignment, first, 1), headers=at(here))
        assert REPLACE_URL not in answer.headers
        back = url("pair", second)
        answer = browser.post(url("judgment-create", second), form(open_assignment, second, 1), headers=at(back))
        assert answer.headers[REPLACE_URL] == here

    def test_another_than_the_next_has_its_own(self, browser: Client, open_assignment: Assignment) -> None:
        _, second, third = pairs_in_order(open_assignment)
        answer = grade(browser, open_assignment, second, 1)
        assert answer.headers[REPLACE_URL] == url("pair", third)

    @pytest.mark.parametrize("address", ["http://[::1/", "", "//", "\x7f%00"])
    def test_nonsense_is_no_address(self, browser: Client, open_assignment: Assignment, address: str) -> None:
        first = pairs_in_order(open_assignment)[0]
        headers = {**HTMX, "HX-Current-URL": address}
        answer = browser.post(url("judgment-create", first), form(open_assignment, first, 1), headers=headers)
        assert answer.status_code == 200
        assert answer.headers[REPLACE_URL] == url("pair-next", open_assignment.project)

    def test_a_bad_grade_stays(self, browser: Client, open_assignment: Assignment) -> None:
        first = pairs_in_order(open_assignment)[0]
        here = url("pair-next", open_assignment.project)
        answer = browser.post(url("judgment-create", first), form(open_assignment, first, 9), headers=at(here))
        assert answer.status_code == 422
        assert REPLACE_URL not in answer.headers


def test_a_query_is_shown_as_text_not_as_html(browser: Client, open_assignment: Assignment) -> None:
    Query.objects.filter(pk=open_assignment.batch.query_id).update(text="<b>bold</b> & co")
    page = browser.get(url("pair-next", open_assignment.project)).content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in page
    part = browser.get(url("pair", pairs_in_order(open_assignment)[0]), headers=HTMX).content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in part
