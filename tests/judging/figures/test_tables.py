"""Tables 1 and 4 over what was judged, beside what the paper prints."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import TextStatistics, Video
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing
from annotation.statistics.services import statistics_compute
from judging.figures import views
from judging.figures.selectors import judged_figures
from judging.models import BatchReview
from judging.releases.selectors import finished_queries
from tests.conftest import Messages
from tests.factories import BatchFactory, CaptionFactory, PairFactory, ProjectFactory, admin

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(autouse=True)
def untagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """WordNet takes seconds to read."""

    def missing() -> object:
        raise SimilarityMissing("not installed")

    monkeypatch.setattr(registry, "wordnet", missing)
    monkeypatch.setattr(views, "wordnet_is_here", lambda: False)


@pytest.fixture
def project() -> Project:
    """Three queries: one closed, one extended, one that nobody has decided about; and a pilot, which counts nowhere."""
    new_project: Project = ProjectFactory()
    closed = BatchFactory(query__project=new_project, query__text="A man sits", pairs=0, state="done")
    BatchReview.objects.create(batch=closed, decision="close", suggestion="close")
    extended = BatchFactory(query__project=new_project, query__text="A woman runs far", pairs=0, state="done")
    BatchReview.objects.create(batch=extended, decision="extend", suggestion="extend")
    second = BatchFactory(query=extended.query, number=2, pairs=0)
    undecided = BatchFactory(query__project=new_project, pairs=0)
    pilot = BatchFactory(query__project=new_project, pairs=0, state="done", is_pilot=True)
    for batch, rank, relevance in (
        *((closed, 1, 4), (closed, 2, 0), (extended, 1, 1), (extended, 2, 2), (second, 21, 3)),
        *((undecided, 1, 2), (pilot, 1, 4)),
    ):
        PairFactory(batch=batch, candidate__rank=rank, state="settled", relevance=relevance)
    PairFactory(batch=closed, candidate__rank=3, state="dropped", reason="no_consensus")
    PairFactory(batch=undecided, candidate__rank=2)
    Video.objects.filter(corpus=new_project.dataset.corpus).update(duration_s=100)
    CaptionFactory(moment__video__corpus=new_project.dataset.corpus, description__text="It rains.")
    return new_project


def figures(project: Project) -> dict[str, Any]:
    return judged_figures(project, "val", finished=finished_queries(project.pk))


def test_what_was_judged(project: Project) -> None:
    results = figures(project)
    counts = ("settled", "dropped", "judged", "relevant", "one_batch", "two_batches", "moments", "videos")
    assert [results[name] for name in counts] == [6, 1, 3, 5, 1, 1, 6, 6]
    assert results["relevant_per_query"] == 1  # of the closed one: the others are not finished
    assert (results["consensus"], results["one_share"], results["two_share"]) == (pytest.approx(600 / 7), 50, 50)
    assert (results["moment_mean"], results["ratio"]) == (2.75, pytest.approx(0.0275))
    assert results["video_hours"] == pytest.approx(600 / 3600)


def test_moments_of_several_queries_count_once(project: Project) -> None:
    first = project.batches.filter(query__text="A man sits").get().pairs.first()
    assert first is not None
    other = project.batches.filter(query__text="A woman runs far", number=1).get()
    PairFactory(batch=other, candidate__rank=9, candidate__moment=first.candidate.moment, state="settled", relevance=1)
    results = figures(project)
    assert (results["settled"], results["moments"]) == (7, 6)


def test_nothing_judged_is_not_nought() -> None:
    results = figures(ProjectFactory())
    assert (results["settled"], results["moments"]) == (0, 0)
    for name in ("relevant_per_query", "consensus", "one_share", "moment_mean"):
        assert results[name] is None


class TestPages:
    @pytest.fixture
    def browser(self, client: Client, project: Project) -> Client:
        client.force_login(admin(project))
        return client

    @staticmethod
    def page_of(browser: Client, project: Project, name: str = "judging:tables") -> str:
        answer: Any = browser.get(reverse(name, args=[project.uuid]))
        assert answer.status_code == 200
        return str(answer.content.decode())

    def test_the_first_visit_has_words_counted(self, browser: Client, project: Project, messages: Messages) -> None:
        with messages():
            assert "are being counted" in self.page_of(browser, project)
        page = self.page_of(browser, project)
        assert "are being counted" not in page
        for words in ("TVR-Ranking, validation", "as published", "whoever runs this site installs", "12,191", "27.1"):
            assert words in page

    def test_the_files(self, browser: Client, project: Project) -> None:
        text = self.page_of(browser, project, "judging:tables-tex")
        assert "Relevant moments per query & 1.0 & -- & 27.1 & 27.0" in text
        statistics_compute(project_id=project.pk)
        rows = csv.DictReader(io.StringIO(self.page_of(browser, project, "judging:tables-csv")))
        values = {(row["column"], row["measure"]): row["value"] for row in rows}
        measured = {name: values["split val", name] for name in ("relevant_per_query", "moments", "words_max")}
        assert measured == {"relevant_per_query": "1.0", "moments": "6", "words_max": "6"}
        assert (values["all", "queries"], values["published val", "relevant_per_query"]) == ("1", "27.1")
        assert ("split val", "verbs") not in values

    def test_of_nothing(self, client: Client) -> None:
        empty = ProjectFactory()
        client.force_login(admin(empty))
        assert "Nothing to count yet" in self.page_of(client, empty)
        assert not TextStatistics.objects.exists()
