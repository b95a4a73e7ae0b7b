"""One pair graded by many requests of a program at the same time."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import close_old_connections, connection
from django.http import HttpResponse
from django.test import Client

from judging.models import Assignment, Judgment
from tests.factories import BatchFactory
from tests.judging.api.acts import bearer, url
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import hold, key

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"


@pytest.fixture
def assignment() -> Assignment:
    return hold(BatchFactory(pairs=3))


def test_the_same_grade_from_many_connections_at_once(assignment: Assignment) -> None:
    """One is stored; every one is answered alike."""
    headers, pair = bearer(assignment.annotator), pairs_in_order(assignment)[0]
    body = {"grade": 3, "key": str(key(assignment, pair))}
    answers = at_once(headers, pair, [body] * 6)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert Judgment.objects.count() == 1


def test_different_grades_at_once(assignment: Assignment) -> None:
    """The first one counts, the others are told."""
    headers, pair = bearer(assignment.annotator), pairs_in_order(assignment)[0]
    bodies = [{"grade": grade, "key": str(key(assignment, pair))} for grade in range(5)]
    answers = at_once(headers, pair, bodies)
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    accepted_grade = next(
        body["grade"] for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 200
    )
    assert Judgment.objects.get().grade == accepted_grade


def at_once(headers: dict[str, str], pair: Any, bodies: list[dict[str, Any]]) -> list[HttpResponse]:
    def send(body: dict[str, Any]) -> HttpResponse:
        try:
            return Client(headers=headers).post(url("judgment", pair), body, content_type=JSON)
        finally:
            close_old_connections()
            connection.close()

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(send, bodies))
