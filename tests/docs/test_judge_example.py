"""docs/examples/judge.py against a running site."""

import urllib.request
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services.credentials import token_create
from judging.models import Assignment, Judgment
from tests.docs.pages import example_module
from tests.factories import BatchFactory, annotator
from tests.judging.play import pairs_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def example() -> ModuleType:
    return example_module("judge")


def site(example: ModuleType, server: LiveServer, person: User) -> Any:
    return example.Site(server.url, token_create(user=person, name="example"))


def test_a_batch_from_taking_to_finishing(example: ModuleType, live_server: LiveServer) -> None:
    batch = BatchFactory(pairs=5)
    person = annotator(batch.project)
    grades = {str(pair.uuid): position for position, pair in enumerate(pairs_of(batch))}
    sizes: list[int] = []

    def grade_of(query: str, pair: dict[str, Any]) -> int:
        assert query == batch.query.text
        with urllib.request.urlopen(urllib.request.Request(pair["previews"]["gif"], headers=at.headers)) as preview:
            sizes.append(len(preview.read()))
        return grades[pair["uuid"]]

    at = site(example, live_server, person)
    (project,) = at.call("GET", "projects/")
    assert example.judge(at, project["uuid"], grade_of) == 5
    rows = Judgment.objects.values_list("pair__uuid", "grade", "annotator")
    assert set(rows) == {(UUID(uuid), grade, person.pk) for uuid, grade in grades.items()}
    assert Assignment.objects.get().state == "finished"
    assert len(sizes) == 5 and all(sizes)
    assert example.judge(at, project["uuid"], grade_of) == 0  # nothing waits
    with pytest.raises(example.RefusedError) as refused:
        example.judge(at, BatchFactory().project.uuid, grade_of)
    assert refused.value.code == "not_found"


def test_a_connection_that_breaks_after_each_request(
    example: ModuleType, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is lost once; the repetition stores nothing twice."""
    batch = BatchFactory(pairs=3)
    person = annotator(batch.project)
    at = site(example, live_server, person)
    open_url, requests = urllib.request.urlopen, []

    def breaks(request: urllib.request.Request, timeout: float) -> Any:
        requests.append(request)
        answer = open_url(request, timeout=timeout)
        if requests.count(request) == 1:
            raise ConnectionResetError("the answer is lost")
        return answer

    monkeypatch.setattr(example.urllib.request, "urlopen", breaks)
    monkeypatch.setattr(example.time, "sleep", lambda seconds: None)
    assert example.judge(at, batch.project.uuid, lambda query, pair: 2) == 3
    assert len(requests) == 2 * (1 + 3 + 1)
    assert list(Judgment.objects.values_list("grade", "revision")) == [(2, 0)] * 3
    assert Assignment.objects.get().state == "finished"
