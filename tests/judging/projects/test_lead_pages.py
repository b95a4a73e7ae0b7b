"""The lead's pages: what they show and what they do."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import Project
from annotation.models import ProjectCorpus
from core.models import AuditEvent, Job
from judging.models import Batch
from judging.work.services.batches import batch_advance
from tests.conftest import Messages
from tests.factories import BatchFactory, CandidateFactory, CaptionFactory, MomentFactory, QueryFactory
from tests.judging.play import finish, grade, judge, judge_round, take
from tests.judging.views.acts import url

pytestmark = pytest.mark.django_db


def finished_batch(project: Project, value: int = 2, pairs: int = 2) -> Batch:
    batch: Batch = BatchFactory(query__project=project, pairs=pairs)
    judge_round(batch, [value] * pairs, [value] * pairs)
    return batch


class TestQueries:
    def test_search_and_state(self, lead_client: Client, project: Project) -> None:
        open_one = BatchFactory(query__project=project, query__text="A woman opens a door")
        done_one = BatchFactory(query__project=project, query__text="A man closes a door", state="done")
        elsewhere = BatchFactory(query__text="A door elsewhere")
        for query_string, expected_batches in (
            ("", [open_one, done_one]),
            ("?q=woman", [open_one]),
            ("?q=DOOR", [open_one, done_one]),
            ("?state=done", [done_one]),
            ("?state=nonsense&page=none", [open_one, done_one]),
            ("?q=window", []),
        ):
            page = lead_client.get(url("queries", project) + query_string).content.decode()
            batches = [batch for batch in (open_one, done_one, elsewhere) if url("batch", batch) in page]
            assert batches == expected_batches, query_string

    def test_number_of_database_queries_is_fixed(  # type: ignore[no-untyped-def]
        self, lead_client: Client, project: Project, django_assert_max_num_queries
    ) -> None:
        for _ in range(12):
            finished_batch(project, pairs=1)
        with django_assert_max_num_queries(17):
            lead_client.get(url("queries", project))

    def test_rank_and_open(self, lead_client: Client, project: Project, messages: Messages, encoder: object) -> None:
        query = QueryFactory(project=project)
        CandidateFactory(query=query)
        assert "no batch yet" in lead_client.get(url("queries", project)).content.decode()
        with messages():
            answer = lead_client.post(url("batches-open", project))
        assert answer.headers["Location"] == url("queries", project)
        assert query.batches.count() == 1
        assert "no batch yet" not in lead_client.get(url("queries", project)).content.decode()
        assert AuditEvent.objects.filter(project=project, action="batches.open").exists()

    def test_the_similarity_is_chosen_and_shown(
        self, lead_client: Client, project: Project, messages: Messages, encoder: object
    ) -> None:
        query = QueryFactory(project=project, text="a dog")
        CaptionFactory(moment=MomentFactory(video__corpus=project.dataset.corpus), text="A dog barks.")
        with messages():
            lead_client.post(url("batches-open", project), {"similarity": "bow"})
        assert query.candidates.get().similarity == 0.5
        page = lead_client.get(url("queries", project)).content.decode()
        assert "Candidates ranked by <b>bow</b> (version 1; texts clean; 326 stop words" in page

    def test_a_corpus_without_videos_is_ranked_and_nothing_opens(
        self, lead_client: Client, project: Project, messages: Messages, encoder: object
    ) -> None:
        QueryFactory(project=project, text="a dog", number=7, split="val")
        moment = MomentFactory(
            video__corpus=project.dataset.corpus, video__name="alpha", start_s=1, end_s=2, uncut=True
        )
        CaptionFactory(moment=moment, text="=A dog barks.")
        page = lead_client.get(url("queries", project)).content.decode()
        assert "The corpus has no videos" in page
        assert "Rank candidates and open batches" not in page
        with messages():
            lead_client.post(url("candidates-rank", project), {"similarity": "bow"})
        assert not Batch.objects.exists()
        answer = lead_client.get(url("candidates-csv", project))
        header, row = csv.reader(b"".join(answer.streaming_content).decode().splitlines())
        assert (
            "All candidates as CSV</a> <small>1 row</small>"
            in lead_client.get(url("queries", project)).content.decode()
        )
        columns = "query_id,split,query,rank,similarity,source,video_name,start,end,captions,measure"
        assert header == columns.split(",")
        assert row == ["7", "val", "a dog", "1", "0.5", "similarity", "alpha", "1.0", "2.0", "'=A dog barks.", "bow"]

    def test_a_similarity_that_is_not_offered_or_not_here(
        self, lead_client: Client, project: Project, tmp_path: Path, settings: Any
    ) -> None:
        settings.MOMENTJUDGE_VAR = tmp_path
        QueryFactory(project=project)
        for name, message in (("/etc", "Choose one of the similarities"), ("pos", "install_wordnet")):
            answer = lead_client.post(url("batches-open", project), {"similarity": name}, follow=True)
            assert message in answer.content.decode()
        page = lead_client.get(url("queries", project)).content.decode()
        assert '<option value="pos" disabled>pos: verbs and nouns (not installed)</option>' in page
        assert '<option value="bow">bow: words</option>' in page
        assert page.count("manage.py install_wordnet") == 1
        assert not project.jobs.exists()
        project.refresh_from_db()
        assert project.dataset.similarity == ""

    def test_a_ranking_that_stopped_says_why(self, lead_client: Client, project: Project) -> None:
        QueryFactory(project=project)
        Job.objects.create(project=project, kind="batches", state="failed", error="The sentence model is not here.")
        ProjectCorpus.objects.filter(pk=project.pk).update(similarity="some/model")
        page = lead_client.get(url("queries", project)).content.decode()
        assert "The last ranking stopped. The sentence model is not here." in page
        assert '<option value="some/model" selected>some/model</option>' in page


def test_grades_of_a_batch_by_number_and_the_whole_history(lead_client: Client, project: Project) -> None:
    batch = BatchFactory(query__project=project)
    second = BatchFactory(query=batch.query, number=2)
    assert url("batch", second) in lead_client.get(url("batch", batch)).content.decode()
    assignment = take(batch)
    grade(assignment, [0, 3])  # that may still change
    assert "grade grade-" not in lead_client.get(url("batch", batch)).content.decode()
    finish(assignment)
    judge(batch, [4, 3])
    batch_advance(batch_id=batch.pk)
    judge(batch, [2])
    page = lead_client.get(url("batch", batch)).content.decode()
    assert re.findall(r'grade grade-(\d)"', page) == ["0", "4", "2", "3", "3"]
    assert "round 2" in page
    number = assignment.annotator.memberships.get().number
    assert f"by {number}</span>" in page
