"""Proposed moments, which have no descriptions: similarity leaves them out, runs find them, files hold them."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Candidate, Corpus, Moment, Proposal
from annotation.pools.services.candidates import candidates_rank
from annotation.proposals.services import options_checked, proposal_start, proposal_use, proposal_work
from annotation.statistics.services import statistics_compute
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.services.releases import release_receive
from moment_retrieval import formats
from tests.factories import CaptionFactory, QueryFactory, UserFactory
from tests.judging.growing import Growing
from tests.judging.play import judge_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def growing() -> Growing:
    """Moments with captions, and segments of 15 s that nobody described; all of them can be watched."""
    growing = Growing()
    for number, moment in enumerate(growing.moments):
        CaptionFactory(moment=moment, description__moment=moment, text=f"caption {number}")
    options = options_checked(method="uniform", segment_s=15)
    row = proposal_start(corpus=growing.project.dataset.corpus, options=options, actor=None, wake=False)
    proposal_use(proposal=row, actor=None, wake=False)
    proposal_work(proposal_id=row.pk)
    row.moments.update(preview="previews/none.gif", preview_state="ready")
    growing.moments += list(row.moments.order_by("video__name", "start_s"))
    return growing


def proposed(project: Project) -> set[int]:
    return set(Moment.objects.filter(proposal__corpus=project.dataset.corpus).values_list("pk", flat=True))


def test_similarity_ranks_none_of_them(growing: Growing, encoder: object) -> None:
    query = QueryFactory(project=growing.project, split="val", text="caption 3")
    candidates_rank(project_id=growing.project.pk)
    ranked = set(Candidate.objects.filter(query=query).values_list("moment", flat=True))
    assert len(ranked) == 10 and not ranked & proposed(growing.project)


def test_figures_are_of_what_people_marked(growing: Growing, encoder: object) -> None:
    statistics = statistics_compute(project_id=growing.project.pk)
    assert statistics
    assert max(column["moments"] for column in statistics.data["collection"]) == 10


def test_runs_find_them_and_a_release_holds_and_gives_them_back(
    growing: Growing, client: Client, tmp_path: Path
) -> None:
    growing.close()
    index = len(growing.moments) - 1
    [batch] = growing.open(growing.plan(growing.rows("a run", [index])))
    assert growing.indexes_of(batch) == [index]
    client.force_login(growing.lead)
    for url in (
        reverse("judging:batch", args=[batch.uuid]),
        reverse("judging:pair-batch", args=[batch.pairs.get().uuid]),
        reverse("annotation:video", args=[growing.project.uuid, growing.moments[index].video.uuid]),
        reverse("judging:candidates-csv", args=[growing.project.uuid]),
        reverse("judging:figure", args=[growing.project.uuid, "cases"]),
    ):
        assert client.get(url, follow=True).status_code == 200, url
    judge_round(batch, [3], [3])
    release = release_build(release_id=release_create(project=growing.project, actor=None).pk)
    assert release.state == "ready", release.error
    release_receive(release_id=release.pk)
    path = tmp_path / "release.zip"
    path.write_bytes(release.archive.read())
    with ZipFile(path) as archive:
        lines = [json.loads(line) for line in archive.read("moments.jsonl").splitlines()]
        [query] = json.loads(archive.read("val.json"))
        (tmp_path / "val.json").write_bytes(archive.read("val.json"))
    n_proposed = Proposal.objects.get().n_written
    assert sum(not line["captions"] for line in lines) == n_proposed
    rows = [row for row in query["relevant_moment"] if row["caption"] is None]
    assert [(row["timestamp"], row["relevance"]) for row in rows] == [([45.0, 50.0], 3)]
    formats.read_ground_truth(tmp_path / "val.json")
    call_command("import_release", path, project="again", corpus="again", lead=[UserFactory().username])
    again = Corpus.objects.get(name="again")
    moments = Moment.objects.filter(video__corpus=again)
    assert moments.filter(descriptions=None).count() == n_proposed
