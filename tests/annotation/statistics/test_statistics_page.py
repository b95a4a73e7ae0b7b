"""Statistics of a project's texts: computing, the page, the files, the command."""

import csv
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Caption, CastMember, Query, TextStatistics
from annotation.queries.services import queries_draw, query_set_create
from annotation.statistics import services
from annotation.statistics.rules import replacement_words
from annotation.statistics.selectors import state_of_texts
from annotation.statistics.services import statistics_compute, statistics_request
from tests.conftest import Messages
from tests.factories import (
    CandidateFactory,
    CaptionFactory,
    DescriptionFactory,
    MeasureFactory,
    MomentFactory,
    ProjectFactory,
    lead,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
Limit = Callable[[int], AbstractContextManager[object]]
WORDS = [
    ("Ross and Joey wave.", "Two men wave.", "video", 0.41),
    ("Rachel reads.", "A woman reads.", "video", 0.8),
    ("Monica sings.", "A woman sings.", "video", 0.82),
    ("Phoebe says no.", "A woman says no.", "both", 0.62),
    ("It rains.", "It rains.", "subtitle", 1.0),
]


@pytest.fixture
def project() -> Project:
    project: Project = ProjectFactory()
    corpus = project.dataset.corpus
    for description, caption, kind, similarity in WORDS:
        values = {"description__text": description, "description__kind": kind, "similarity": similarity}
        values["similarity_measure"] = MeasureFactory()
        CaptionFactory(moment__video__corpus=corpus, text=caption, provider="rules", **values)
    DescriptionFactory(moment=MomentFactory(video__corpus=corpus), text="Ross leaves.")  # of no caption yet
    CaptionFactory(text="elsewhere")
    return project


def computed(project: Project) -> dict[str, dict[str, object]]:
    row = statistics_compute(project_id=project.pk)
    assert row is not None
    return {figures["group"]: figures for figures in row.data["groups"]}


def url(project: Project, name: str = "statistics") -> str:
    return reverse(f"annotation:{name}", args=[project.uuid])


@pytest.fixture
def person(project: Project, client: Client) -> Client:
    client.force_login(lead(project))
    return client


class TestCompute:
    def test_groups(self, project: Project) -> None:
        queries_draw(project=ProjectFactory(corpus=project.dataset.corpus), sizes={"val": 3}, seed=1)
        queries_draw(project=project, sizes={"val": 1, "test": 1}, seed=1)
        query_set_create(project=project, name="first", queries=project.queries.filter(split="val"), actor=None)
        groups = computed(project)
        kinds = ["kind video", "kind subtitle", "kind both"]
        assert list(groups) == ["all", *kinds, "split val", "split test", "split train", "set first"]
        assert [groups[group]["pairs"] for group in groups] == [5, 3, 1, 1, 1, 1, 1, 1]
        before, after = (groups["all"][side] for side in ("descriptions", "captions"))
        assert (before["texts"], before["with_names"]) == (6, 5)  # type: ignore[index]
        assert (after["texts"], after["with_names"]) == (5, 0)  # type: ignore[index]
        pairs = [(description, caption) for description, caption, kind, _ in WORDS if kind == "video"]
        assert dict(groups["kind video"]["replacements"]) == replacement_words(pairs)  # type: ignore[call-overload]
        CastMember.objects.create(corpus=project.dataset.corpus, name="rains", gender="F")
        assert computed(project)["kind subtitle"]["captions"]["with_names"] == 1  # type: ignore[index]

    def test_a_query_counts_as_it_is_worded(self, project: Project) -> None:
        queries_draw(project=project, sizes={"val": 3}, seed=1)
        Caption.objects.filter(queries__project=project).update(text="Anything else at all.")
        groups = computed(project)
        assert groups["split val"]["captions"]["vocabulary"] == 7  # type: ignore[index]
        assert groups["split val"]["similarity"]["texts"] == 0  # type: ignore[index]
        assert groups["kind video"]["captions"]["distinct"] == 1  # type: ignore[index]

    def test_candidates_by_rank(self, project: Project) -> None:
        queries_draw(project=project, sizes={"val": 2, "test": 1}, seed=1)
        for index, query in enumerate(project.queries.filter(split="val")):
            for rank in (1, 2, 20):
                CandidateFactory(query=query, rank=rank, similarity=0.5 + index / 10 - rank / 100)
        row = statistics_compute(project_id=project.pk)
        assert row is not None
        first, last = row.data["candidates"]
        assert (first["split"], first["rank"], first["queries"]) == ("val", 1, 2)
        assert (first["mean"], first["least"], first["most"]) == pytest.approx((0.54, 0.49, 0.59))
        assert (last["rank"], last["mean"]) == (20, pytest.approx(0.35))

    def test_what_changes_the_figures_makes_them_old(self, project: Project) -> None:
        queries_draw(project=project, sizes={"val": 1}, seed=1)
        corpus, states = project.dataset.corpus, [state_of_texts(project)]
        assert state_of_texts(project) == states[0]
        for change in (
            lambda: Caption.objects.filter(text="It rains.").update(text="It pours."),
            lambda: Query.objects.filter(split="train").update(split="test"),
            lambda: CandidateFactory(query=project.queries.first()),
            lambda: CastMember.objects.create(corpus=corpus, name="Ann", gender="F"),
            lambda: DescriptionFactory(moment=MomentFactory(video__corpus=corpus)),
        ):
            change()
            states.append(state_of_texts(project))
        assert len(set(states)) == 6

    def test_a_failure_is_saved_and_shown(
        self, project: Project, person: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*args: object, **values: object) -> object:
            raise RuntimeError("no memory")

        statistics_request(project=project)
        monkeypatch.setattr(services, "figures", broken)
        with pytest.raises(RuntimeError):
            statistics_compute(project_id=project.pk)
        page = person.get(url(project)).content.decode()
        assert "RuntimeError: no memory" in page and "Compute them anew" in page

    def test_few_statements_answer_a_request(self, project: Project, django_assert_max_num_queries: Limit) -> None:
        statistics_request(project=project)
        with django_assert_max_num_queries(34):
            statistics_compute(project_id=project.pk)
        row = TextStatistics.objects.get()
        assert row.computed_at is not None and row.requested_at is None


class TestPage:
    def test_the_first_visit_has_them_computed_and_later_ones_show_them(
        self, project: Project, person: Client, messages: Messages
    ) -> None:
        with messages():
            page = person.get(url(project)).content.decode()
        assert "are being computed" in page and 'hx-trigger="every 2s"' in page
        page = person.get(url(project)).content.decode()
        assert "<svg" in page and "being computed" not in page and "Compute them anew" not in page
        assert "1 word</th>" in page  # the table beside the picture
        page = person.get(url(project), {"group": "kind subtitle"}).content.decode()
        assert '<h2 class="chosen">Of the speech</h2>' in page
        assert '<h2 class="chosen">All</h2>' in person.get(url(project), {"group": "x"}).content.decode()
        Caption.objects.filter(text="It rains.").update(text="It pours.")
        assert "have changed since" in person.get(url(project)).content.decode()
        with messages():
            person.post(url(project, "statistics-compute"))
        assert "have changed since" not in person.get(url(project)).content.decode()
        person.force_login(lead(empty := ProjectFactory()))
        assert "No description yet" in person.get(url(empty)).content.decode()
        assert not TextStatistics.objects.filter(project=empty).exists()
        assert person.get(url(empty, "statistics-csv")).status_code == 404

    def test_files(self, project: Project, person: Client) -> None:
        queries_draw(project=project, sizes={"val": 1}, seed=1)
        query_set_create(project=project, name='=x,"y"', queries=project.queries.filter(split="val"), actor=None)
        statistics_compute(project_id=project.pk)
        rows = list(csv.DictReader(io.StringIO(person.get(url(project, "statistics-csv")).content.decode())))
        values = {(row["group"], row["texts"], row["measure"]): row["value"] for row in rows}
        assert len(values) == len(rows)
        assert values["all", "descriptions", "with_names"] == "5"
        assert values["all", "both", "similarity_mean"] == "0.73"
        assert values['set =x,"y"', "both", "pairs"] == "1"
        bins = list(csv.DictReader(io.StringIO(person.get(url(project, "histograms-csv")).content.decode())))
        counts = {(row["group"], row["texts"], row["histogram"], row["from"], row["to"]): row["count"] for row in bins}
        assert counts["kind both", "captions", "words", "4", "5"] == "1"
        assert counts["all", "both", "similarity", "0.4", "0.45"] == "1"


def test_command(project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--csv", str(tmp_path / "figures.csv"), "--histograms", str(tmp_path / "bins.csv")]
    call_command("query_statistics", project.name, *words)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("All"))
    assert line.split()[:2] == ["All", "6"]
    head = '"group","texts","measure","value"\n"all","descriptions","texts",6\n'
    assert (tmp_path / "figures.csv").read_text().startswith(head)
    assert '"all","captions","words",2,3,1\n' in (tmp_path / "bins.csv").read_text()
    with pytest.raises(CommandError, match="no project named 'x'"):
        call_command("query_statistics", "x")
