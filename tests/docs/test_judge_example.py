"""docs/examples/judge.py against a running site."""

import urllib.request
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services.credentials import token_create
from judging.models import Assignment, Judgment
from moment_retrieval.client import ApiError, Client
from tests.docs.pages import example_module
from tests.factories import BatchFactory, annotator
from tests.judging.play import pairs_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def example() -> ModuleType:
    return example_module("judge")


def client_of(server: LiveServer, person: User) -> Client:
    return Client(server.url, token_create(user=person, name="example"))


def test_a_batch_from_taking_to_finishing(example: ModuleType, live_server: LiveServer, tmp_path: Path) -> None:
    batch = BatchFactory(pairs=5)
    person = annotator(batch.project)
    grades = {str(pair.uuid): position for position, pair in enumerate(pairs_of(batch))}
    sizes: list[int] = []

    def grade_of(query: str, pair: dict[str, Any]) -> int:
        assert query == batch.query.text
        preview = PurePath(pair["previews"]["gif"]).stem
        sizes.append(client.preview_gif(preview, tmp_path / "preview.gif").stat().st_size)
        return grades[pair["uuid"]]

    client = client_of(live_server, person)
    (project,) = client.projects()
    assert example.judge(client, project["uuid"], grade_of) == 5
    rows = Judgment.objects.values_list("pair__uuid", "grade", "annotator")
    assert set(rows) == {(UUID(uuid), grade, person.pk) for uuid, grade in grades.items()}
    assert Assignment.objects.get().state == "finished"
    assert len(sizes) == 5 and all(sizes)
    assert example.judge(client, project["uuid"], grade_of) == 0  # nothing waits
    with pytest.raises(ApiError) as refusal:
        example.judge(client, BatchFactory().project.uuid, grade_of)
    assert (refusal.value.status, refusal.value.code) == (404, "not_found")


def test_a_connection_that_breaks_after_each_request(
    example: ModuleType, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is lost once; the repetition stores nothing twice."""
    batch = BatchFactory(pairs=3)
    person = annotator(batch.project)
    client = client_of(live_server, person)
    open_url = urllib.request.urlopen
    requests: list[tuple[str, bytes | None]] = []

    def breaks(request: urllib.request.Request, timeout: float) -> Any:
        content = (request.full_url, request.data)
        requests.append(content)  # type: ignore[arg-type]
        answer = open_url(request, timeout=timeout)
        if requests.count(content) == 1:  # type: ignore[arg-type]
            raise ConnectionResetError("the answer is lost")
        return answer

    monkeypatch.setattr(urllib.request, "urlopen", breaks)
    monkeypatch.setattr("moment_retrieval.api_requests.time.sleep", lambda seconds: None)
    assert example.judge(client, batch.project.uuid, lambda query, pair: 2) == 3
    assert len(requests) == 2 * (1 + 3 + 1)
    assert list(Judgment.objects.values_list("grade", "revision")) == [(2, 0)] * 3
    assert Assignment.objects.get().state == "finished"
