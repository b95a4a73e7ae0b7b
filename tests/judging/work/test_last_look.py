"""The last look: finishing a batch, or giving it back."""

import re

import pytest
from django.test import Client

from judging.models import Assignment, Batch
from tests.factories import BatchFactory
from tests.judging.views.acts import end, grade, grade_all, lapse, pairs_in_order, take, url

pytestmark = pytest.mark.django_db


class TestFinish:
    def test_last_look_then_finish(self, browser: Client, open_assignment: Assignment) -> None:
        grade_all(browser, open_assignment)
        page = browser.get(url("last-look", open_assignment.project)).content.decode()
        assert re.findall(r'<li><a href="([^"]+)"', page) == [
            url("pair", pair) for pair in pairs_in_order(open_assignment)
        ]
        answer = browser.post(url("assignment-finish", open_assignment.project), follow=True)
        assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
        assert "final now" in answer.content.decode()
        open_assignment.refresh_from_db()
        assert open_assignment.state == "finished"

    def test_more_leads_to_the_next_batch_at_once(self, browser: Client, open_assignment: Assignment) -> None:
        other: Batch = BatchFactory(query__project=open_assignment.project)
        grade_all(browser, open_assignment)
        answer = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"})
        assert answer.headers["Location"] == url("pair-next", open_assignment.project)
        assert other.assignments.get().annotator == open_assignment.annotator
        assert other.query.text in browser.get(answer.headers["Location"]).content.decode()

    def test_without_more_nothing_is_taken(self, browser: Client, open_assignment: Assignment) -> None:
        other: Batch = BatchFactory(query__project=open_assignment.project)
        grade_all(browser, open_assignment)
        browser.post(url("assignment-finish", open_assignment.project))
        assert not other.assignments.exists()

    def test_more_where_there_is_none(self, browser: Client, open_assignment: Assignment) -> None:
        grade_all(browser, open_assignment)
        answer = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"}, follow=True)
        assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
        assert "Nothing is waiting for you right now" in answer.content.decode()
        open_assignment.refresh_from_db()
        assert open_assignment.state == "finished"

    def test_more_pressed_twice_takes_one_batch(self, browser: Client, open_assignment: Assignment) -> None:
        for _ in range(2):
            BatchFactory(query__project=open_assignment.project)
        grade_all(browser, open_assignment)
        browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"})
        second = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"})
        assert second.status_code == 409  # the batch that was just taken has no grade yet
        assert Assignment.objects.filter(annotator=open_assignment.annotator, state="open").count() == 1
        assert Assignment.objects.count() == 2

    def test_flags_are_shown_and_suffice(self, browser: Client, open_assignment: Assignment) -> None:
        for pair in pairs_in_order(open_assignment):
            browser.post(url("flag-set", pair), {"reason": "broken"})
        page = browser.get(url("last-look", open_assignment.project)).content.decode()
        assert page.count("grade-flag") == 3
        assert browser.post(url("assignment-finish", open_assignment.project)).status_code == 302
        open_assignment.refresh_from_db()
        assert open_assignment.state == "finished"

    def test_a_pair_is_missing(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        grade(browser, open_assignment, first, 1)
        page = browser.get(url("last-look", open_assignment.project)).content.decode()
        assert "2 pairs still need a grade or a flag" in page
        assert "Finish and" not in page
        for message in ("2 pairs still need a grade or a flag.", "One pair still needs a grade or a flag."):
            answer = browser.post(url("assignment-finish", open_assignment.project))
            assert answer.status_code == 409
            assert message in answer.content.decode()
            grade(browser, open_assignment, second, 1)
        assert Assignment.objects.get().state == "open"

    def test_a_second_press_and_time_run_out(self, browser: Client, open_assignment: Assignment) -> None:
        grade_all(browser, open_assignment)
        lapse(open_assignment)
        assert browser.post(url("assignment-finish", open_assignment.project)).status_code == 409
        end(open_assignment)
        answer = browser.post(url("assignment-finish", open_assignment.project))
        assert answer.headers["Location"] == url("desk", open_assignment.project)


class TestReturn:
    def test_grades_stay_and_the_rest_is_free(self, browser: Client, open_assignment: Assignment) -> None:
        grade(browser, open_assignment, pairs_in_order(open_assignment)[0], 4)
        answer = browser.post(url("assignment-return", open_assignment.project), follow=True)
        assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
        assert "Given back" in answer.content.decode()
        open_assignment.refresh_from_db()
        assert open_assignment.state == "returned"
        assert open_assignment.judgments.get().grade == 4
        assert take(open_assignment.batch).pair_ids != []

    def test_again_or_with_nothing_in_hand(self, browser: Client, open_assignment: Assignment) -> None:
        for _ in range(2):
            answer = browser.post(url("assignment-return", open_assignment.project))
            assert answer.headers["Location"] == url("desk", open_assignment.project)
        assert Assignment.objects.get().state == "returned"
