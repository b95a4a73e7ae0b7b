"""docs/examples/build.py and score_release.py against a running site: from a folder of videos to scores."""

import json
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Membership, Project
from accounts.services.credentials import token_create
from core.jobs import sweep_all
from judging.models import Batch, Judgment
from judging.people.services import invitation_accept
from moment_retrieval.client import Client
from tests.docs.pages import example_module
from tests.factories import GuidelineConfirmationFactory, ProjectFactory, UserFactory, lead
from tests.media import padded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("encoder")]
TEXTS = ["a man sings a song", "a dog runs on grass", "it rains on a street", "a woman opens a door"]


@pytest.fixture
def folder(tmp_path: Path, clip: bytes) -> Path:
    """Two videos with two moments each."""
    films = tmp_path / "films"
    films.mkdir()
    for number, name in enumerate(("first", "second")):
        (films / f"{name}.mp4").write_bytes(padded(clip, number))
    spans = [("first", 0, 1), ("first", 2, 3), ("second", 0, 2), ("second", 1, 3)]
    lines = [",".join(map(str, (*span, text))) for span, text in zip(spans, TEXTS, strict=True)]
    (films / "moments.csv").write_text("\n".join(["video,start,end,description", *lines]) + "\n")
    return films


@pytest.fixture
def client(live_server: LiveServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of somebody who runs another project; while it waits, what beat would do is done."""
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path / "s")}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    monkeypatch.setattr("moment_retrieval.client.time.sleep", lambda seconds: sweep_all())
    return Client(live_server.url, token_create(user=lead(ProjectFactory()), name="build", scopes=["read", "manage"]))


def join(link: str) -> str:
    """Follow an invitation as somebody new, whom it qualifies; return a token of theirs."""
    secret = link.rstrip("/").rpartition("/")[2]
    person = UserFactory()
    member = invitation_accept(secret=secret, person=person)
    GuidelineConfirmationFactory(guideline=member.project.guidelines.get(), annotator=person)
    return token_create(user=person, name="judge")


def test_from_nothing_to_a_release(
    client: Client, folder: Path, tmp_path: Path, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, judge, score = (example_module(name) for name in ("build", "judge", "score_release"))
    uuid, links = build.build(client, folder, "films")
    project = Project.objects.get(uuid=uuid)
    assert project.dataset.corpus.videos.count() == 2
    assert [project.queries.filter(split=split).count() for split in ("val", "test", "train")] == [1, 1, 2]
    assert Batch.objects.filter(project=project).count() == 2
    judges = [Client(live_server.url, join(link)) for link in links]
    grades = [judge.judge(one, uuid, grade_of(project)) for one in judges for _ in range(2)]
    assert sum(grades) == Judgment.objects.count() == 2 * 2 * 4
    assert client.progress(uuid)["batches"]["done"] == 2
    archive = build.release(client, uuid, tmp_path)
    with ZipFile(archive) as packed:
        judged = json.loads(packed.read("val.json")) + json.loads(packed.read("test.json"))
    assert {query["query"].lower() for query in judged} <= set(TEXTS)
    assert len(judged) == 2
    unpacked = score.fetch(client, uuid, tmp_path / "")
    measures = {str(name): value for name, value in score.scored(unpacked, judged).items()}
    assert measures["nDCG@20"] == pytest.approx(1.0)
    assert Membership.objects.filter(project=project, roles=["annotator"]).count() == 4


def grade_of(project: Project) -> Callable[[str, dict[str, object]], int]:
    """Grade the query's own moment 4 and every other one 1."""
    own = {
        query.text: str(query.caption.moment.preview_uuid)
        for query in project.queries.select_related("caption__moment")
    }
    return lambda query, pair: 4 if own[query] in pair["previews"]["gif"] else 1  # type: ignore[index]
