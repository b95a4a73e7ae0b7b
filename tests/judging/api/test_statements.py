"""How many statements a grade costs: always the same, whatever the project holds."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judging.models import Assignment
from tests.factories import BatchFactory
from tests.judging import play
from tests.judging.api.acts import Program, bearer, url
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import hold, key

pytestmark = pytest.mark.django_db
# the assignment with its pairs, the judgment with the renewed lease
STATEMENTS = 2
WHO = {"token": 1, "session": 1}  # with the person


def statements(client: Client, assignment: Assignment, index: int, grade: int) -> int:
    pair = pairs_in_order(assignment)[index]
    body = {"grade": grade, "key": str(key(assignment, pair))}
    with CaptureQueriesContext(connection) as capture:
        answer = client.post(url("judgment", pair), body, content_type="application/json")
    assert answer.status_code == 200
    return len(capture.captured_queries)


@pytest.mark.parametrize("credential", WHO)
@pytest.mark.parametrize(("pairs", "batches"), [(1, 0), (20, 0), (20, 5), (40, 5)])
def test_one_judgment(credential: str, pairs: int, batches: int) -> None:
    assignment = hold(BatchFactory(pairs=pairs))
    for _ in range(batches):
        other = hold(BatchFactory(query__project=assignment.project))
        play.grade(other, [1, 1], now=other.created_at)
    client = Client(headers=bearer(assignment.annotator)) if credential == "token" else Client()
    if credential == "session":
        client.force_login(assignment.annotator)
    for index in range(0, pairs, 19):
        assert statements(client, assignment, index, 2) == STATEMENTS + WHO[credential]


@pytest.mark.parametrize("name", ["judgments", "assignment"])
def test_reading_costs_the_same_for_one_pair_and_for_twenty(name: str) -> None:
    counts = set()
    for pairs in (1, 20):
        assignment = hold(BatchFactory(pairs=pairs))
        program = Program(assignment.annotator)
        if name == "judgments":
            for pair in pairs_in_order(assignment):
                program.grade(assignment, pair, 1)
            program.post("finish", assignment.project)
        with CaptureQueriesContext(connection) as capture:
            assert program.get(name, assignment.project).status_code == 200
        counts.add(len(capture.captured_queries))
    assert len(counts) == 1
