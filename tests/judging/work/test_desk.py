"""The annotator's desk, own grades and the guideline."""

import re

import pytest
from django.test import Client

from accounts.models import Membership
from judging.models import Assignment, Flag
from judging.work.services.judgments import flag_withdraw
from tests.factories import NOW, BatchFactory, ProjectFactory, annotator
from tests.judging.play import flag, judge, pairs_by_rank
from tests.judging.views.acts import HTMX, end, url

pytestmark = pytest.mark.django_db


class TestDesk:
    def test_open_batch(self, browser: Client, open_assignment: Assignment) -> None:
        page = browser.get(url("desk", open_assignment.project)).content.decode()
        assert url("pair-next", open_assignment.project) in page
        assert "Welcome back" in page

    def test_work_to_take(self, client: Client) -> None:
        batch = BatchFactory()
        client.force_login(annotator(batch.project))
        assert "Start a batch" in client.get(url("desk", batch.project)).content.decode()

    def test_nothing_to_take(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        assert "Nothing to judge right now" in client.get(url("desk", project)).content.decode()

    def test_paused_work_is_none(self, client: Client) -> None:
        batch = BatchFactory(is_paused=True)
        client.force_login(annotator(batch.project))
        assert "Nothing to judge right now" in client.get(url("desk", batch.project)).content.decode()

    def test_htmx_gets_the_fragment(self, browser: Client, open_assignment: Assignment) -> None:
        body = browser.get(url("desk", open_assignment.project), headers=HTMX).content.decode().strip()
        assert body.startswith('<article id="start"')

    def test_work_done_counts_only_this_project(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [1, 1], person)
        client.force_login(person)
        page = client.get(url("desk", batch.project)).content.decode()
        assert re.findall(r"<dd>(\d+)</dd>", page) == ["0", "1", "2"]


class TestTake:
    def test_to_the_first_pair(self, client: Client) -> None:
        batch = BatchFactory()
        client.force_login(annotator(batch.project))
        answer = client.post(url("assignment-take", batch.project))
        assert answer.headers["Location"] == url("pair-next", batch.project)
        assert batch.assignments.count() == 1

    def test_again_gives_the_same(self, client: Client) -> None:
        batch = BatchFactory()
        BatchFactory(query__project=batch.project)
        client.force_login(annotator(batch.project))
        for _ in range(2):
            client.post(url("assignment-take", batch.project))
        assert Assignment.objects.get().batch == batch

    def test_nothing_waiting(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(annotator(project))
        answer = client.post(url("assignment-take", project), follow=True)
        assert "Nothing is waiting for you right now" in answer.content.decode()


class TestOwnGrades:
    def test_own_grades_only(self, client: Client) -> None:
        batch = BatchFactory()
        person = annotator(batch.project)
        judge(batch, [3, 0], person)
        judge(batch, [4, 2])
        client.force_login(person)
        page = client.get(url("own-grades", batch.project)).content.decode()
        assert batch.query.text in page
        assert sorted(re.findall(r'class="grade grade-(\d)"', page)) == ["0", "3"]

    def test_of_the_flags_those_that_stand(self, browser: Client, open_assignment: Assignment) -> None:
        stays, goes, *_ = pairs_by_rank(open_assignment)
        flag(open_assignment, stays, reason=Flag.Reason.OFFENSIVE)
        flag(open_assignment, goes)
        flag_withdraw(annotator=open_assignment.annotator, pair_uuid=goes.uuid, now=NOW)
        end(open_assignment, "lapsed")
        page = browser.get(url("own-grades", open_assignment.project)).content.decode()
        assert re.findall(r'alt="A moment that you flagged: ([^"]+)"', page) == ["offensive or disturbing"]

    @pytest.mark.parametrize("status", ["suspended", "left"])
    def test_who_is_out_reads_the_grades_without_the_moments(self, client: Client, status: str) -> None:
        batch = BatchFactory(pairs=2)
        person = annotator(batch.project)
        judge(batch, [3, 0], person)
        Membership.objects.filter(user=person).update(standing=status)
        client.force_login(person)
        page = client.get(url("own-grades", batch.project)).content.decode()
        assert sorted(re.findall(r'class="grade grade-(\d)"', page)) == ["0", "3"]
        assert "/previews/" not in page and "you no longer do" in page

    def test_a_lapsed_batch_says_so_and_an_open_one_is_not_shown(
        self, browser: Client, open_assignment: Assignment
    ) -> None:
        assert "No finished batch yet" in browser.get(url("own-grades", open_assignment.project)).content.decode()
        end(open_assignment, "lapsed")
        page = browser.get(url("own-grades", open_assignment.project)).content.decode()
        assert "time ran out" in page
        assert "No grade was given." in page


def test_guideline_shows_the_version_in_force_and_runs_no_html(browser: Client, open_assignment: Assignment) -> None:
    open_assignment.project.guidelines.create(version=2, body="# Two\n<script>alert(1)</script>", levels=["a"] * 5)
    page = browser.get(url("guideline", open_assignment.project)).content.decode()
    assert "Version 2" in page
    assert "<h1>Two</h1>" in page
    assert "<script>alert" not in page
