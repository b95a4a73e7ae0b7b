"""Kept counts equal a count of the rows, whatever is done."""

from collections import Counter
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import Project
from judging.guidelines.services import policy_publish
from judging.models import Batch, Judgment, JudgmentDay, Pair, Tally
from judging.projects import overview
from judging.review.selectors import review_queue
from judging.work.services import batches
from judging.work.services.batches import tallies_fold, tallies_recount
from tests.factories import BatchFactory, ProjectFactory, triggers_asleep
from tests.judging.growing import Growing
from tests.judging.play import judge_round

STATES = [("open", None, ""), ("escalated", None, ""), ("dropped", None, "no_consensus")]
STATES += [("withdrawn", None, "flagged_twice"), *(("settled", relevance, "") for relevance in range(5))]
STEPS = ["add", "set", "delete", "round", "fold"]


def count_rows(project: Project) -> dict[str, int]:
    """A count of the rows, in plain Python."""
    counts: Counter[str] = Counter()
    for state, relevance in Pair.objects.filter(batch__project=project).values_list("state", "relevance"):
        counts[f"pair:{state}" if relevance is None else f"pair:{state}:{relevance}"] += 1
    for batch in Batch.objects.filter(project=project):
        counts[f"batch:{batch.number}:{batch.state}:{batch.round}"] += 1
    return dict(counts)


class TestPairsAndBatches(TestCase):
    @settings(max_examples=25)
    @given(
        st.lists(st.tuples(st.sampled_from(["add", "set", "delete", "round", "fold"]), st.integers(0, 8)), max_size=8)
    )
    def test_whatever_is_written(self, steps: list[tuple[str, int]]) -> None:
        project, other = ProjectFactory(), ProjectFactory()
        BatchFactory(query__project=other, pairs=2)
        for step, n in steps:
            batch = Batch.objects.filter(project=project).order_by("?").first()
            pairs = Pair.objects.filter(batch__project=project)
            if step == "add":
                BatchFactory(query__project=project, pairs=n % 4)
            elif step == "set":
                state, relevance, reason = STATES[n]
                some = list(pairs.order_by("?").values_list("pk", flat=True)[: n % 5])
                pairs.filter(pk__in=some).update(state=state, relevance=relevance, reason=reason)
            elif step == "delete":
                Pair.objects.filter(pk__in=list(pairs.order_by("?").values_list("pk", flat=True)[: n % 3])).delete()
            elif step == "round" and batch:
                done_at = datetime(2026, 1, 1, tzinfo=UTC) if n % 2 else None
                Batch.objects.filter(pk=batch.pk).update(
                    round=1 + n % 2, state="done" if done_at else "open", done_at=done_at
                )
            elif step == "fold":
                tallies_fold()
        assert overview.tallies(project) == count_rows(project)
        assert overview.tallies(other) == {"pair:open": 2, "batch:1:open:1": 1}


pytestmark = pytest.mark.django_db


def test_pooled_batches_are_counted_and_wait_for_no_decision() -> None:
    pool = Growing()
    pool.close()
    (pooled,) = pool.open(pool.plan(pool.rows("run", [3, 4])))
    judge_round(pooled, [2, 2], [2, 2])
    assert overview.tallies(pool.project) == count_rows(pool.project)
    assert overview.tallies(pool.project)["batch:3:done:1"] == 1
    assert tallies_recount(project=pool.project) is False
    assert not review_queue(pool.project).exists()


class TestJudgments:
    def test_by_annotator_and_day_of_the_time_zone(self) -> None:
        project = ProjectFactory()
        policy_publish(project=project, actor=None, time_zone="Asia/Singapore")
        batch = BatchFactory(query__project=project)
        judge_round(batch, [0, 4], [4, 4])
        judge_round(batch, [1], [1])
        rows = list(JudgmentDay.objects.filter(project=project).order_by("second_round", "annotator"))
        assert [(row.judgments, row.second_round, row.imported) for row in rows] == [(2, 0, 0)] * 2 + [(1, 1, 0)] * 2
        judged_at = Judgment.objects.earliest("pk").created_at
        with connection.cursor() as cursor:
            cursor.execute("SELECT (%s AT TIME ZONE 'Asia/Singapore')::date", [judged_at])
            assert {row.day for row in rows} == {cursor.fetchone()[0]}

    def test_a_change_is_no_second_judgment(self) -> None:
        batch = BatchFactory(pairs=1)
        judge_round(batch, [0], [1])
        assert sum(JudgmentDay.objects.values_list("judgments", flat=True)) == 2


class TestRecount:
    @pytest.fixture
    def project(self) -> Project:
        """Counts that went wrong: rows were written past the triggers."""
        project: Project = ProjectFactory(name="a project")
        batch = BatchFactory(query__project=project, pairs=3)
        judge_round(batch, [0, 4, 4], [0, 4, 0])
        with triggers_asleep():
            Pair.objects.filter(batch=batch, state="settled").update(
                state="dropped", relevance=None, reason="no_consensus"
            )
            JudgmentDay.objects.update(judgments=99)
        return project

    def test_what_was_wrong_is_right_again(self, project: Project) -> None:
        assert overview.tallies(project) != count_rows(project)
        assert tallies_recount(project=project) is True
        assert overview.tallies(project) == count_rows(project)
        assert list(JudgmentDay.objects.values_list("judgments", flat=True)) == [3, 3]
        assert tallies_recount(project=project) is False

    def test_the_command(self, project: Project) -> None:
        BatchFactory(query__project=ProjectFactory(name="another"))
        output = StringIO()
        call_command("recount", stdout=output)
        assert output.getvalue() == "a project: was wrong, and is right now\nanother: was right\n"
        call_command("recount", "--project", "a project", stdout=output)
        assert output.getvalue().endswith("a project: was right\n")
        with pytest.raises(CommandError, match="no project named 'none'"):
            call_command("recount", "--project", "none")


def test_folding_keeps_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FOLD_FROM", 5)
    project = ProjectFactory()
    for _ in range(3):
        judge_round(BatchFactory(query__project=project), [0, 1], [0, 1])
    before = overview.tallies(project)
    assert Tally.objects.filter(project=project).count() > 5
    tallies_fold()
    assert Tally.objects.filter(project=project).count() == len(before) == 3
    assert overview.tallies(project) == before == count_rows(project)
