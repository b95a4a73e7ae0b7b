"""The annotator's desk, the last look at a batch, presence, own grades and the guideline."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Membership
from core import clock
from core.models import Job
from judging.models import Assignment, Batch, Flag
from judging.work.rules import LEAVING
from judging.work.selectors.assignments import work_done
from judging.work.services.judgments import flag_withdraw
from tests.factories import NOW, BatchFactory, MembershipFactory, ProjectFactory, annotator
from tests.judging import play
from tests.judging.play import flag, judge, pairs_by_rank, pairs_in_order
from tests.judging.views.acts import HTMX, end, grade, grade_all, lapse, rows, url

pytestmark = pytest.mark.django_db


class TestDesk:
    def test_open_batch(self, browser: Client, open_assignment: Assignment) -> None:
        page = browser.get(url("desk", open_assignment.project)).content.decode()
        assert url("pair-next", open_assignment.project) in page and "Welcome back" in page
        body = browser.get(url("desk", open_assignment.project), headers=HTMX).content.decode().strip()
        assert body.startswith('<article id="start"')

    @pytest.mark.parametrize(("is_paused", "words"), [(False, "Start a batch"), (True, "Nothing to judge right now")])
    def test_work_to_take(self, client: Client, is_paused: bool, words: str) -> None:
        batch = BatchFactory(is_paused=is_paused)
        client.force_login(annotator(batch.project))
        assert words in client.get(url("desk", batch.project)).content.decode()

    def test_an_open_batch_is_offered_while_others_are_prepared(self, client: Client) -> None:
        batch = BatchFactory()
        Job.objects.create(project=batch.project, kind="demo", title="Cutting previews", done=1, total=9)
        client.force_login(annotator(batch.project))
        page = client.get(url("desk", batch.project)).content.decode()
        assert "Start a batch" in page and "Being prepared" not in page
        batch.pairs.all().delete()
        Batch.objects.all().delete()
        assert "Being prepared" in client.get(url("desk", batch.project)).content.decode()


class TestTake:
    def test_to_the_first_pair(self, client: Client) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        client.force_login(annotator(batch.project))
        for _ in range(2):
            answer = client.post(url("assignment-take", batch.project))
            assert answer.headers["Location"] == url("pair-next", batch.project)
        assert Assignment.objects.get().batch == batch

    def test_nothing_waiting(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        answer = client.post(url("assignment-take", project), follow=True)
        assert "Nothing is waiting for you right now" in answer.content.decode()


class TestFinish:
    def test_last_look_then_finish(self, browser: Client, open_assignment: Assignment) -> None:
        other: Batch = BatchFactory(query__project=open_assignment.project)
        pairs = pairs_in_order(open_assignment)
        for pair in pairs[:2]:
            grade(browser, open_assignment, pair, 2)
        browser.post(url("flag-set", pairs[2]), {"reason": "broken"})
        page = browser.get(url("last-look", open_assignment.project)).content.decode()
        assert re.findall(r'<li><a href="([^"]+)"', page) == [url("pair", pair) for pair in pairs]
        assert page.count("grade-flag") == 1
        answer = browser.post(url("assignment-finish", open_assignment.project), follow=True)
        assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
        assert "final now" in answer.content.decode()
        open_assignment.refresh_from_db()
        assert (open_assignment.state, other.assignments.exists()) == ("finished", False)

    def test_more_leads_to_the_next_batch_at_once(self, browser: Client, open_assignment: Assignment) -> None:
        other, _ = [BatchFactory(query__project=open_assignment.project) for _ in range(2)]
        grade_all(browser, open_assignment)
        answer = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"})
        assert answer.headers["Location"] == url("pair-next", open_assignment.project)
        assert other.query.text in browser.get(answer.headers["Location"]).content.decode()
        second = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"})
        assert second.status_code == 409  # the batch that was just taken has no grade yet
        assert Assignment.objects.get(state="open").batch == other

    def test_more_where_there_is_none(self, browser: Client, open_assignment: Assignment) -> None:
        grade_all(browser, open_assignment)
        answer = browser.post(url("assignment-finish", open_assignment.project), {"more": "yes"}, follow=True)
        assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
        assert "Nothing is waiting for you right now" in answer.content.decode()

    def test_a_pair_is_missing(self, browser: Client, open_assignment: Assignment) -> None:
        first, second, _ = pairs_in_order(open_assignment)
        grade(browser, open_assignment, first, 1)
        page = browser.get(url("last-look", open_assignment.project)).content.decode()
        assert "2 pairs still need a grade or a flag" in page and "Finish and" not in page
        for message in ("2 pairs still need a grade or a flag.", "One pair still needs a grade or a flag."):
            answer = browser.post(url("assignment-finish", open_assignment.project))
            assert answer.status_code == 409
            assert message in answer.content.decode()
            grade(browser, open_assignment, second, 1)
        assert Assignment.objects.get().state == "open"


def test_giving_back(browser: Client, open_assignment: Assignment) -> None:
    answer = browser.post(url("assignment-return", open_assignment.project), follow=True)
    assert answer.redirect_chain == [(url("desk", open_assignment.project), 302)]
    assert "Given back" in answer.content.decode()
    assert Assignment.objects.get().state == "returned"
    again = browser.post(url("assignment-return", open_assignment.project))
    assert again.headers["Location"] == url("desk", open_assignment.project)


def test_presence(browser: Client, open_assignment: Assignment) -> None:
    """Leaving keeps the batch for a moment, a heartbeat for the whole lease, and nothing revives it."""
    answer = browser.post(url("leave", open_assignment.project))
    assert (answer.status_code, answer.content) == (204, b"")
    open_assignment.refresh_from_db()
    assert timedelta(seconds=80) < open_assignment.expires_at - clock.now() <= LEAVING
    answer = browser.post(url("heartbeat", open_assignment.project))
    assert (answer.status_code, answer.content) == (204, b"")
    open_assignment.refresh_from_db()
    assert open_assignment.expires_at > timezone.now() + timedelta(minutes=19)
    for ending in (lapse, end):
        ending(open_assignment)
        before = rows()
        assert browser.post(url("heartbeat", open_assignment.project), headers=HTMX).status_code == 409
        assert browser.post(url("leave", open_assignment.project)).status_code == 204
        assert rows() == before


class TestOwnGrades:
    @pytest.mark.parametrize("status", ["qualified", "suspended", "left"])
    def test_own_grades_only_and_without_the_moments_for_who_is_out(self, client: Client, status: str) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [3, 0], person)
        judge(batch, [4, 2])
        Membership.objects.filter(user=person).update(status=status)
        client.force_login(person)
        page = client.get(url("own-grades", batch.project)).content.decode()
        assert batch.query.text in page
        assert sorted(re.findall(r'class="grade grade-(\d)"', page)) == ["0", "3"]
        assert ("/previews/" in page) == ("you no longer do" not in page) == (status == "qualified")

    def test_of_the_flags_those_that_stand(self, browser: Client, open_assignment: Assignment) -> None:
        stays, goes, *_ = pairs_by_rank(open_assignment)
        flag(open_assignment, stays, reason=Flag.Reason.OFFENSIVE)
        flag(open_assignment, goes)
        flag_withdraw(annotator=open_assignment.annotator, pair_uuid=goes.uuid, now=NOW)
        end(open_assignment, "lapsed")
        page = browser.get(url("own-grades", open_assignment.project)).content.decode()
        assert re.findall(r'alt="A moment that you flagged: ([^"]+)"', page) == ["offensive or disturbing"]

    def test_a_lapsed_batch_says_so_an_open_one_is_hidden(self, browser: Client, open_assignment: Assignment) -> None:
        assert "No finished batch yet" in browser.get(url("own-grades", open_assignment.project)).content.decode()
        end(open_assignment, "lapsed")
        page = browser.get(url("own-grades", open_assignment.project)).content.decode()
        assert "time ran out" in page and "No grade was given." in page


def test_guideline_shows_the_version_in_force_and_runs_no_html(browser: Client, open_assignment: Assignment) -> None:
    open_assignment.project.guidelines.create(version=2, body="# Two\n<script>alert(1)</script>", levels=["a"] * 5)
    page = browser.get(url("guideline", open_assignment.project)).content.decode()
    assert "Version 2" in page and "<h1>Two</h1>" in page
    assert "<script>alert" not in page


def test_work_of_one_person_and_project_and_of_today() -> None:
    """Grades count before their batch is finished."""
    here, begun, elsewhere = BatchFactory(pairs=3), BatchFactory(pairs=3), BatchFactory(pairs=2)
    person = annotator(here.project)
    of_here = {"project": here.project, "annotator": person, "since": NOW}
    assert work_done(**of_here) == {"batches": 0, "judgments": 0, "today": 0}
    judge(here, [1, 2, 3], person, now=NOW - timedelta(days=1))
    judge(here, [1, 2, 3])
    for batch in (begun, elsewhere):
        MembershipFactory(project=batch.project, user=person)
    judge(elsewhere, [4, 4], person, now=NOW - timedelta(days=1))
    play.grade(play.take(begun, person), [1, 2])
    assert work_done(**of_here) == {"batches": 1, "judgments": 3, "today": 0}
    assert work_done(**{**of_here, "project": begun.project}) == {"batches": 0, "judgments": 2, "today": 2}
