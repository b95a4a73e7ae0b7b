"""Tables 1 and 4 over rows: which moments a column counts."""

import io
from io import StringIO
from typing import Any

import pyarrow as pa
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pyarrow import parquet

from accounts.models import Project
from annotation.models import TrainSet
from annotation.similarity.base import SimilarityMissing
from annotation.statistics import services
from annotation.statistics.services import collection_compute, statistics_compute
from moment_retrieval.relevance.wordnet import WordNet
from tests.factories import (
    NOW,
    CaptionFactory,
    DescriptionFactory,
    MeasureFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(autouse=True)
def untagged(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """WordNet takes seconds to read; verbs are looked for where a test asks for it."""
    if "wordnet" in request.fixturenames:
        return

    def missing() -> WordNet:
        raise SimilarityMissing("not installed")

    monkeypatch.setattr(services.registry, "wordnet", missing)


@pytest.fixture
def project() -> Project:
    """Two videos of two source splits with three moments, one of them described twice, one not at all."""
    project: Project = ProjectFactory()
    first = VideoFactory(corpus=project.dataset.corpus, name="a", duration_s=100, source_split="one")
    second = VideoFactory(corpus=project.dataset.corpus, name="b", duration_s=20, source_split="two")
    twice = MomentFactory(video=first, start_s=0, end_s=10)
    caption = CaptionFactory(moment=twice, description__text="Ross walks.", text="A man walks.")
    DescriptionFactory(moment=twice, text="Ross walks to the door.")
    MomentFactory(video=first, start_s=50, end_s=70)
    other = CaptionFactory(moment=MomentFactory(video=second, start_s=1, end_s=6), text="Nobody waits.")
    QueryFactory(project=project, text="A man walks.", caption=caption, split="val")
    QueryFactory(project=project, text="Nobody waits.", caption=other, split="train")
    MomentFactory()  # of another corpus
    return project


def columns(project: Project) -> dict[str, dict[str, Any]]:
    return {row["column"]: row for row in collection_compute(project)}


def test_the_corpus_its_parts_and_the_splits(project: Project) -> None:
    table = columns(project)
    sizes = [(name, (row["queries"], row["moments"], row["videos"])) for name, row in table.items()]
    assert sizes == [
        *(("all", (3, 3, 2)), ("source one", (2, 2, 1)), ("source two", (1, 1, 1))),
        *(("split val", (1, 1, 1)), ("split train", (1, 1, 1))),
    ]
    row = table["all"]
    assert [row[f"moment_{name}"] for name in ("min", "mean", "max")] == [5, pytest.approx(35 / 3), 20]
    assert [row[f"video_{name}"] for name in ("min", "mean", "max")] == [20, 60, 100]
    assert (row["moment_hours"], row["video_hours"]) == (35 / 3600, 120 / 3600)
    assert row["ratio"] == pytest.approx((0.1 + 0.2 + 0.25) / 3)


def test_verbs_are_counted_where_wordnet_is(project: Project, wordnet: WordNet) -> None:
    """They walk twice, and somebody reads a letter aloud."""
    row = columns(project)["all"]
    assert (row["verbs"], row["lemmas"]) == (2, 2)


def test_what_a_training_set_ranks(project: Project) -> None:
    """Each moment once, however many queries it is ranked for."""
    rows = [("a", 0.0, 10.0, 100.0), ("b", 1.0, 6.0, 20.0), ("a", 0.0, 10.0, 100.0)]
    table = pa.table(dict(zip(("video_name", "start_s", "end_s", "duration"), zip(*rows, strict=True), strict=True)))
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=2)
    train_set = TrainSet(project=project, depth=20, measure=MeasureFactory(), state="done", finished_at=NOW)
    train_set.parquet.save("set.parquet", ContentFile(file.getvalue()), save=False)
    train_set.json.save("set.json", ContentFile(b"[]"), save=False)
    train_set.json_sha256 = train_set.parquet_sha256 = "0" * 64
    train_set.save()
    row = columns(project)["train set 20"]
    assert (row["queries"], row["moments"], row["videos"], row["video_hours"]) == (1, 2, 2, 120 / 3600)
    assert row["ratio"] == pytest.approx((0.1 + 0.25) / 2)


def test_on_the_page_in_the_file_and_by_the_command(project: Project, client: Client) -> None:
    out = StringIO()
    call_command("query_statistics", project.name, stdout=out)
    assert "Size (Table 1)" in out.getvalue() and "69,317" in out.getvalue()
    client.force_login(lead(project))
    page = client.get(reverse("annotation:statistics", args=[project.uuid])).content.decode()
    assert "Lengths (Table 4)" in page and "as published" in page and "Source split one" in page
    file = client.get(reverse("annotation:statistics-csv", args=[project.uuid])).content.decode()
    assert '"source one","collection","moments",2\n' in file
    assert "verbs" not in file


def test_a_changed_moment_or_wordnet_makes_them_old(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    row = statistics_compute(project_id=project.pk)
    assert row is not None
    monkeypatch.setattr(services.registry, "wordnet_is_here", lambda: False)
    assert not services.statistics_are_old(row)
    monkeypatch.setattr(services.registry, "wordnet_is_here", lambda: True)
    assert services.statistics_are_old(row)
    MomentFactory(video=project.dataset.corpus.videos.first(), start_s=3, end_s=4)
    assert services.selectors.state_of_texts(project) != row.state_of_texts
