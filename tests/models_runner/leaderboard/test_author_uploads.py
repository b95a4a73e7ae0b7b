"""Runs of the paper's authors, brought like any other, score what the published scorer says of them."""

import zipfile
from copy import deepcopy

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from annotation.models import Video
from judging.models import Release
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import Run, Score
from moment_retrieval import formats
from moment_retrieval.records import read_corpus
from moment_retrieval.tables import JudgedTable
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.api.acts import bearer, url
from tests.models_runner.acts import participant
from tests.moment_retrieval.shared_data import CORPUS, RUNS, judged, needs_shared, oracle

pytestmark = [pytest.mark.django_db, needs_shared]


@pytest.fixture(scope="module")
def member_once(module_database: None, tmp_path_factory: pytest.TempPathFactory) -> Membership:
    """Of a project with the authors' videos and a release with the judgments that their runs were scored on."""
    membership, folder = participant(ProjectFactory()), tmp_path_factory.mktemp("release")
    corpus = read_corpus(CORPUS)
    Video.objects.bulk_create(
        Video(corpus=membership.project.dataset.corpus, name=name, index=index, duration_s=corpus.durations_s[name])
        for index, name in corpus.names.items()
    )
    formats.write_ground_truth(folder / "val.json", truth())
    with zipfile.ZipFile(folder / "1.zip", "w") as archive:
        archive.write(folder / "val.json", "val.json")
    archive_name = default_storage.save("releases/1.zip", ContentFile((folder / "1.zip").read_bytes()))
    release = Release.objects.create(project=membership.project, version=1, state="ready", archive=archive_name)
    truths_make(release)
    return membership


@pytest.fixture
def member(db: None, member_once: Membership) -> Membership:
    return deepcopy(member_once)


def truth() -> JudgedTable:
    ground_truth = oracle("ground_truth.json")
    rows = {
        query_id: [[ground_truth["videos"][video], *rest] for video, *rest in moments]
        for query_id, moments in ground_truth["queries"].items()
    }
    return JudgedTable.from_moments(judged(rows))


def author_file(name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(f"{name}.val.json.gz", (RUNS / f"{name}.val.json.gz").read_bytes())


def scored_like(name: str, run: Run) -> None:
    """The run has every mean that the published scorer gives."""
    assert (run.state, run.form, run.n_queries, run.error) == ("scored", "tvr-ranking", 500, "")
    (scoring,) = run.scorings.all()
    assert (scoring.n_queries, scoring.n_answered, scoring.missing) == (500, 500, [])
    scores = Score.objects.filter(scoring=scoring, convention="released", gain="exponential", metric__startswith="NDCG")
    assert {(str(score.k), str(score.mu)): score.value for score in scores} == pytest.approx(
        {(k, mu): value for k, by_mu in oracle("expected.json")[name]["mean"].items() for mu, value in by_mu.items()},
        abs=1e-12,
    )


def test_uploads_score_what_the_published_scorer_says(member: Membership, client: Client, messages: Messages) -> None:
    client.force_login(member.user)
    with messages():
        form = {"file": author_file("xml_n20"), "system": "XML", "team": "", "split": "val", "release": 1}
        client.post(reverse("models_runner:run-new", args=[member.project.uuid]), form)
    form = {"file": author_file("reloclnet_n40"), "system": "ReLoCLNet", "split": "val"}
    with messages():
        assert Client(headers=bearer(member.user)).post(url("runs", member.project), form).status_code == 201
    for name, system in (("XML_N20", "XML"), ("ReLoCLNet_N40", "ReLoCLNet")):
        scored_like(name, Run.objects.get(system=system))
    (warning,) = Run.objects.get(system="XML").scorings.get().warnings
    words = "predictions that end after their video, by up to 1.0 s: 985, first in line 1, query 54251, "
    assert warning.startswith(words)
