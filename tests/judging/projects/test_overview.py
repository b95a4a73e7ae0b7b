"""The lead's first page: live state, forecast, and how it renews itself."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Project, User
from core.models import Job
from judging.guidelines.selectors import policy_in_force
from judging.models import BatchReview, Flag, JudgmentDay
from judging.projects import overview as projects_overview
from judging.review.selectors import review_queue
from judging.work.selectors.flags import flags_waiting
from judging.work.services.pairs import flags_dismiss
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    FlagFactory,
    MembershipFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
    lead,
)
from tests.judging.growing import Growing
from tests.judging.play import judge, judge_round
from tests.judging.views.acts import HTMX, url

pytestmark = pytest.mark.django_db


def overview_of(project: Project) -> SimpleNamespace:
    return SimpleNamespace(**projects_overview.overview(project, policy_in_force(project.pk), now=timezone.now()))


def add_judgments(project: Project, judgments: int, *, days_ago: int = 0, imported: int = 0) -> None:
    """So many judgments of somebody on a day."""
    day = timezone.now().date() - timedelta(days=days_ago)
    counts = {"judgments": judgments, "second_round": 0, "simulated": 0, "imported": imported}
    JudgmentDay.objects.create(project=project, annotator=annotator(project), day=day, **counts)


def facts(page: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>([^<]+)</dt><dd>(?:<a [^>]*>)?([\d,]+)", page))


class TestTryingToJudge:
    def test_without_a_demo_it_says_where_there_is_one(self, lead_client: Client, project: Project) -> None:
        page = lead_client.get(url("overview", project)).content.decode()
        assert "Try judging" in page and "This site has none" in page and "annotator-demo" not in page

    def test_it_names_the_log_in_of_the_demo(self, lead_client: Client, project: Project) -> None:
        demo = ProjectFactory(name="Six shows", demo_videos=6, demo_seed=1)
        MembershipFactory(project=demo, role="lead", user__username="lead")
        member = MembershipFactory(project=demo, user__username="annotator")
        page = lead_client.get(url("overview", project)).content.decode()
        assert "<code>annotator</code>" in page and "<code>annotator-demo</code>" in page and "Six shows" in page
        User.objects.filter(pk=member.user_id).update(is_active=False)
        assert "annotator-demo" not in lead_client.get(url("overview", project)).content.decode()


class TestNumbers:
    def test_all_of_them(self, lead_client: Client, project: Project) -> None:
        judge_round(BatchFactory(query__project=project), [2, 2], [2, 2])
        begun = BatchFactory(query__project=project)
        judge_round(begun, [0, 4], [4, 4])
        FlagFactory(assignment=AssignmentFactory(batch=begun), pair=begun.pairs.get(state="escalated"))
        judge_round(BatchFactory(query__project=ProjectFactory()), [1, 1], [1, 1])
        Job.objects.create(project=project, kind="one", title="Work", state="failed", error="The disk is full.")
        add_judgments(project, 3, days_ago=6)
        add_judgments(project, 3, days_ago=7)
        page = lead_client.get(url("overview", project)).content.decode()
        waiting = {"Wait for your decision": "1", "Flags to answer": "1", "Failed jobs": "1", "Annotators at work": "1"}
        assert facts(page) == {**waiting, "Judgments": "14", "Pairs escalated": "1", "Pairs dropped": "0"}
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
        assert '<th scope="row">pooled</th>' in client.get(url("overview", scenario.project)).content.decode()

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


def test_jobs_that_run_or_failed_and_were_not_done_since(lead_client: Client, project: Project) -> None:
    for state in Job.State.values:
        Job.objects.create(project=project, kind=state, title=f"Work {state}", state=state, total=4, error="why")
    for state in ("failed", "done"):
        Job.objects.create(project=project, kind="one", title="Work mended", state=state)
    page = lead_client.get(url("overview", project)).content.decode()
    assert "Work running" in page
    assert "<b>Work failed</b> failed: why" in page
    assert "Work done" not in page and "Work mended" not in page


class TestForecast:
    def test_grades_of_the_present_round_are_subtracted(self, project: Project) -> None:
        batch = BatchFactory(query__project=project, pairs=2)
        before = overview_of(project).finish.judgments
        judge(batch, [1, 1])
        assert overview_of(project).finish.judgments == before - 2

    def test_queries_without_a_batch_count(self, project: Project) -> None:
        QueryFactory(project=project)
        QueryFactory(project=project, split="train")
        # 20 pairs and what the paper saw: 1.47 batches, 2.36 grades a pair
        assert overview_of(project).finish.judgments == 70

    def test_nothing_yet_then_nobody_judges_then_nothing_left(self, lead_client: Client, project: Project) -> None:
        page = lead_client.get(url("overview", project)).content.decode()
        assert "Nothing to judge yet" in page and "No batch is open yet" in page
        batch = BatchFactory(query__project=project, state="done")
        assert "nobody has judged within a week" in lead_client.get(url("overview", project)).content.decode()
        batch.pairs.update(state="settled", relevance=1)
        BatchReview.objects.create(batch=batch, decision="close", suggestion="close")
        assert "Nothing is left to judge" in lead_client.get(url("overview", project)).content.decode()


class TestRenewal:
    def request_again(self, lead_client: Client, project: Project, digest: str) -> Any:
        return lead_client.get(url("overview", project), {"seen": digest}, headers=HTMX)

    def test_while_nothing_changed_nothing_is_sent(self, lead_client: Client, project: Project) -> None:
        page = lead_client.get(url("overview", project)).content.decode()
        [digest] = re.findall(r"\?seen=(\w+)", page)
        assert self.request_again(lead_client, project, digest).status_code == 204
        BatchFactory(query__project=project)
        answer = self.request_again(lead_client, project, digest)
        assert (answer.status_code, answer.content.decode().strip()[:20]) == (200, '<section id="state" ')

    @pytest.mark.parametrize("batches", [1, 9])
    def test_as_many_statements_whatever_there_is(  # type: ignore[no-untyped-def]
        self, lead_client: Client, project: Project, batches: int, django_assert_num_queries
    ) -> None:
        for number in range(batches):
            batch = BatchFactory(query__project=project)
            judge_round(batch, [number % 5, 4], [number % 5, 4])
            CandidateFactory(query=batch.query, rank=21)
        lead_client.get(url("overview", project))
        with django_assert_num_queries(9):
            lead_client.get(url("overview", project), headers=HTMX)
