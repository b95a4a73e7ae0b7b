"""The lead's first page: live state, forecast, and how it renews itself."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Project
from core.models import Job
from judging.guidelines.selectors import policy_in_force
from judging.models import BatchReview, Flag, JudgmentDay
from judging.projects import overview as projects_overview
from judging.projects.overview import overview_counts
from judging.review.selectors import review_queue
from judging.work.selectors.flags import flags_waiting
from judging.work.services.pairs import flags_dismiss
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    FlagFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
    lead,
)
from tests.judging.growing import Growing
from tests.judging.play import judge, judge_round

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def browser(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


def url(project: Project) -> str:
    return reverse("judging:overview", args=[project.uuid])


def overview_of(project: Project) -> SimpleNamespace:
    return SimpleNamespace(**projects_overview.overview(project, policy_in_force(project.pk), now=timezone.now()))


def add_judgments(project: Project, judgments: int, *, days_ago: int = 0, imported: int = 0) -> None:
    """So many judgments of somebody on a day."""
    day = timezone.now().date() - timedelta(days=days_ago)
    counts = {"judgments": judgments, "second_round": 0, "simulated": 0, "imported": imported}
    JudgmentDay.objects.create(project=project, annotator=annotator(project), day=day, **counts)


def facts(page: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>([^<]+)</dt><dd>(?:<a [^>]*>)?([\d,]+)", page))


class TestNumbers:
    def test_all_of_them(self, browser: Client, project: Project) -> None:
        judge_round(BatchFactory(query__project=project), [2, 2], [2, 2])
        begun = BatchFactory(query__project=project)
        judge_round(begun, [0, 4], [4, 4])
        FlagFactory(assignment=AssignmentFactory(batch=begun), pair=begun.pairs.get(state="escalated"))
        judge_round(BatchFactory(query__project=ProjectFactory()), [1, 1], [1, 1])
        Job.objects.create(project=project, kind="one", title="Work", state="failed", error="The disk is full.")
        add_judgments(project, 3, days_ago=6)
        add_judgments(project, 3, days_ago=7)
        page = browser.get(url(project)).content.decode()
        assert facts(page) == {
            "Wait for your decision": "1",
            "Flags to answer": "1",
            "Failed jobs": "1",
            "Annotators at work": "1",
            "Judgments": "14",
            "Pairs escalated": "1",
            "Pairs dropped": "0",
        }
        assert "The disk is full." in page
        assert "1 this week" in page

    def test_batches_by_number_and_round(self, project: Project) -> None:
        for values in ({"round": 2}, {}, {}, {"state": "done"}):
            BatchFactory(query__project=project, pairs=0, **values)
        BatchFactory(query__project=project, pairs=0, number=2)
        rows = [(row.number, row.first_round, row.second_round, row.done) for row in overview_of(project).batches]
        assert rows == [(1, 2, 1, 1), (2, 1, 0, 0)]

    def test_pooled_batches_are_one_row_and_say_nothing_of_others(self, client: Client) -> None:
        scenario = Growing()
        QueryFactory(project=scenario.project, number=11)
        before = overview_of(scenario.project).finish
        scenario.open(scenario.plan(scenario.rows("one", [3])))
        scenario.open(scenario.plan(scenario.rows("other", [4])))
        overview = overview_of(scenario.project)
        rows = [(row.number, row.first_round, row.second_round, row.done) for row in overview.batches]
        assert rows == [(1, 1, 0, 0), (3, 2, 0, 0)]
        # two grades and 0.36 more of either pair
        assert overview.finish.judgments - before.judgments == pytest.approx(2 * 2.36, abs=1)
        client.force_login(scenario.lead)
        assert '<th scope="row">pooled</th>' in client.get(url(scenario.project)).content.decode()

    def test_what_is_counted_in_one_statement_is_what_lists_hold(self, project: Project) -> None:
        judge_round(BatchFactory(query__project=project), [2, 2], [2, 2])
        for index in range(3):
            assignment = AssignmentFactory(batch=BatchFactory(query__project=project))
            FlagFactory(assignment=assignment, withdrawn_at=NOW if index == 2 else None)
        flags_dismiss(pair=Flag.objects.earliest("pk").pair, lead=lead(project), words="fine")
        overview = overview_of(project)
        assert overview.flags == flags_waiting(project).count() == 1
        assert overview.waiting == review_queue(project).count() == 1
        assert overview.at_work == 3

    def test_what_was_imported_belongs_to_no_day(self, project: Project) -> None:
        add_judgments(project, 500, imported=500)
        add_judgments(project, 30)
        overview = overview_of(project)
        assert (overview.judgments, overview.imported, overview.today, overview.active) == (530, 500, 30, 1)

    def test_programs_read_the_same(self, project: Project) -> None:
        judge_round(BatchFactory(query__project=project), [0, 4], [4, 4])
        counts = overview_counts(project)
        assert counts["batches"] == {"open": 1, "done": 0}
        assert counts["pairs"] == {"open": 0, "escalated": 1, "settled": 1, "dropped": 0, "withdrawn": 0}
        assert (counts["judgments"], counts["second_rounds"], counts["waiting"]) == (4, 1, 0)


class TestJobs:
    def test_those_that_run_or_failed(self, browser: Client, project: Project) -> None:
        for state in Job.State.values:
            Job.objects.create(project=project, kind=state, title=f"Work {state}", state=state, total=4, error="why")
        page = browser.get(url(project)).content.decode()
        assert "Work running" in page
        assert "<b>Work failed</b> failed: why" in page
        assert "Work done" not in page

    def test_what_was_done_since_has_not_failed(self, project: Project) -> None:
        for state in ("failed", "done"):
            Job.objects.create(project=project, kind="one", title="Work", state=state)
        assert overview_of(project).failed == []


class TestForecast:
    def test_at_the_present_pace(self, browser: Client, project: Project) -> None:
        BatchFactory(query__project=project, pairs=2)
        add_judgments(project, 7)
        add_judgments(project, 7, days_ago=6)
        finish = overview_of(project).finish
        # 4 grades of the open pairs and, as in the paper, 0.72 more of them and 2.22 of 0.47 second batches
        assert (finish.per_day, finish.judgments) == (2, 7)
        assert finish.day == timezone.now().date() + timedelta(days=4)
        assert finish.day.strftime("%b %Y") in browser.get(url(project)).content.decode()

    def test_grades_of_the_present_round_are_subtracted(self, project: Project) -> None:
        batch = BatchFactory(query__project=project, pairs=2)
        before = overview_of(project).finish.judgments
        judge(batch, [1, 1])
        assert overview_of(project).finish.judgments == before - 2

    def test_queries_without_a_batch_count(self, project: Project) -> None:
        QueryFactory(project=project)
        QueryFactory(project=project, split="train")
        assert (
            overview_of(project).finish.judgments == 70
        )  # 20 pairs and what the paper saw: 1.47 batches, 2.36 grades a pair

    def test_nothing_is_left(self, browser: Client, project: Project) -> None:
        batch = BatchFactory(query__project=project, state="done")
        batch.pairs.update(state="settled", relevance=1)
        BatchReview.objects.create(batch=batch, decision="close", suggestion="close")
        assert "Nothing is left to judge" in browser.get(url(project)).content.decode()

    def test_nobody_judges(self, browser: Client, project: Project) -> None:
        BatchFactory(query__project=project)
        assert "nobody has judged within a week" in browser.get(url(project)).content.decode()

    def test_nothing_to_judge_yet(self, browser: Client, project: Project) -> None:
        page = browser.get(url(project)).content.decode()
        assert "Nothing to judge yet" in page
        assert "No batch is open yet" in page


class TestRenewal:
    def request_again(self, browser: Client, project: Project, digest: str) -> Any:
        return browser.get(url(project), {"seen": digest}, headers=HTMX)

    def test_while_nothing_changed_nothing_is_sent(self, browser: Client, project: Project) -> None:
        page = browser.get(url(project)).content.decode()
        [digest] = re.findall(r"\?seen=(\w+)", page)
        assert self.request_again(browser, project, digest).status_code == 204
        BatchFactory(query__project=project)
        answer = self.request_again(browser, project, digest)
        assert (answer.status_code, answer.content.decode().strip()[:20]) == (200, '<section id="state" ')

    @pytest.mark.parametrize("batches", [1, 9])
    def test_as_many_statements_whatever_there_is(  # type: ignore[no-untyped-def]
        self, browser: Client, project: Project, batches: int, django_assert_num_queries
    ) -> None:
        for number in range(batches):
            batch = BatchFactory(query__project=project)
            judge_round(batch, [number % 5, 4], [number % 5, 4])
            CandidateFactory(query=batch.query, rank=21)
        browser.get(url(project))
        with django_assert_num_queries(8):
            browser.get(url(project), headers=HTMX)
