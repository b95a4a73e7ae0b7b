"""The last look: finishing a batch, or giving it back."""

import re

import pytest
from django.test import Client

from judging.models import Assignment, Batch
from tests.factories import BatchFactory
from tests.judging.views.acts import end, grade, grade_all, lapse, shown, take, url

pytestmark = pytest.mark.django_db


class TestFinish:
    def test_last_look_then_finish(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        page = browser.get(url("last-look", held.project)).content.decode()
        assert re.findall(r'<li><a href="([^"]+)"', page) == [url("pair", pair) for pair in shown(held)]
        answer = browser.post(url("assignment-finish", held.project), follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "final now" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "finished"

    def test_more_leads_to_the_next_batch_at_once(self, browser: Client, held: Assignment) -> None:
        other: Batch = BatchFactory(query__project=held.project)
        grade_all(browser, held)
        answer = browser.post(url("assignment-finish", held.project), {"more": "yes"})
        assert answer.headers["Location"] == url("pair-next", held.project)
        assert other.assignments.get().annotator == held.annotator
        assert other.query.text in browser.get(answer.headers["Location"]).content.decode()

    def test_without_more_nothing_is_taken(self, browser: Client, held: Assignment) -> None:
        other: Batch = BatchFactory(query__project=held.project)
        grade_all(browser, held)
        browser.post(url("assignment-finish", held.project))
        assert not other.assignments.exists()

    def test_more_where_there_is_none(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        answer = browser.post(url("assignment-finish", held.project), {"more": "yes"}, follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "Nothing is waiting for you right now" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "finished"

    def test_more_pressed_twice_takes_one_batch(self, browser: Client, held: Assignment) -> None:
        for _ in range(2):
            BatchFactory(query__project=held.project)
        grade_all(browser, held)
        browser.post(url("assignment-finish", held.project), {"more": "yes"})
        second = browser.post(url("assignment-finish", held.project), {"more": "yes"})
        assert second.status_code == 409  # the batch that was just taken has no grade yet
        assert Assignment.objects.filter(annotator=held.annotator, state="open").count() == 1
        assert Assignment.objects.count() == 2

    def test_flags_are_shown_and_suffice(self, browser: Client, held: Assignment) -> None:
        for pair in shown(held):
            browser.post(url("flag-set", pair), {"reason": "broken"})
        page = browser.get(url("last-look", held.project)).content.decode()
        assert page.count("grade-flag") == 3
        assert browser.post(url("assignment-finish", held.project)).status_code == 302
        held.refresh_from_db()
        assert held.state == "finished"

    def test_a_pair_is_missing(self, browser: Client, held: Assignment) -> None:
        first, second, _ = shown(held)
        grade(browser, held, first, 1)
        page = browser.get(url("last-look", held.project)).content.decode()
        assert "2 pairs still need a grade or a flag" in page
        assert "Finish and" not in page
        for message in ("2 pairs still need a grade or a flag.", "One pair still needs a grade or a flag."):
            answer = browser.post(url("assignment-finish", held.project))
            assert answer.status_code == 409
            assert message in answer.content.decode()
            grade(browser, held, second, 1)
        assert Assignment.objects.get().state == "open"

    def test_a_second_press_and_time_run_out(self, browser: Client, held: Assignment) -> None:
        grade_all(browser, held)
        lapse(held)
        assert browser.post(url("assignment-finish", held.project)).status_code == 409
        end(held)
        answer = browser.post(url("assignment-finish", held.project))
        assert answer.headers["Location"] == url("desk", held.project)


class TestReturn:
    def test_grades_are_kept_and_the_rest_is_free(self, browser: Client, held: Assignment) -> None:
        grade(browser, held, shown(held)[0], 4)
        answer = browser.post(url("assignment-return", held.project), follow=True)
        assert answer.redirect_chain == [(url("desk", held.project), 302)]
        assert "Given back" in answer.content.decode()
        held.refresh_from_db()
        assert held.state == "returned"
        assert held.judgments.get().grade == 4
        assert take(held.batch).pair_ids != []

    def test_again_or_with_nothing_in_hand(self, browser: Client, held: Assignment) -> None:
        for _ in range(2):
            answer = browser.post(url("assignment-return", held.project))
            assert answer.headers["Location"] == url("desk", held.project)
        assert Assignment.objects.get().state == "returned"
