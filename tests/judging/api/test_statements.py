"""How many statements a grade costs: always the same, whatever the project holds."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judging.models import Assignment
from tests.factories import BatchFactory
from tests.judging import play
from tests.judging.api.acts import Program, bearer, hold, key, shown, url

pytestmark = pytest.mark.django_db
# begin, the assignment (locked), its pairs, the judgment with the renewed lease, commit
STATEMENTS = 5
WHO = {"token": 1, "session": 1}  # with the person


def statements(client: Client, held: Assignment, place: int, grade: int) -> int:
    pair = shown(held)[place]
    body = {"grade": grade, "key": str(key(held, pair))}
    with CaptureQueriesContext(connection) as sent:
        answer = client.post(url("judgment", pair), body, content_type="application/json")
    assert answer.status_code == 200
    return len(sent.captured_queries)


@pytest.mark.parametrize("door", WHO)
@pytest.mark.parametrize(("pairs", "batches"), [(1, 0), (20, 0), (20, 5), (40, 5)])
def test_one_judgment(door: str, pairs: int, batches: int) -> None:
    held = hold(BatchFactory(pairs=pairs))
    for _ in range(batches):
        other = hold(BatchFactory(query__project=held.project))
        play.grade(other, [1, 1], now=other.created_at)
    client = Client(headers=bearer(held.annotator)) if door == "token" else Client()
    if door == "session":
        client.force_login(held.annotator)
    for place in range(0, pairs, 19):
        assert statements(client, held, place, 2) == STATEMENTS + WHO[door]


def test_a_replay_costs_less() -> None:
    held = hold(BatchFactory(pairs=20))
    program = Program(held.annotator)
    pair = shown(held)[0]
    used = str(key(held, pair))
    program.post("judgment", pair, grade=2, key=used)
    with CaptureQueriesContext(connection) as sent:
        program.post("judgment", pair, grade=2, key=used)
    assert [query for query in sent.captured_queries if query["sql"].startswith(("INSERT", "UPDATE", "WITH"))] == []


@pytest.mark.parametrize("name", ["judgments", "assignment"])
def test_reading_costs_the_same_for_one_pair_and_for_twenty(name: str) -> None:
    counts = set()
    for pairs in (1, 20):
        held = hold(BatchFactory(pairs=pairs))
        program = Program(held.annotator)
        if name == "judgments":
            for pair in shown(held):
                program.grade(held, pair, 1)
            program.post("finish", held.project)
        with CaptureQueriesContext(connection) as sent:
            assert program.get(name, held.project).status_code == 200
        counts.add(len(sent.captured_queries))
    assert len(counts) == 1
