"""How many statements one judgment sends to the database: always the same, whatever the project holds."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Project
from judging.models import Assignment, Judgment
from tests.factories import BatchFactory, QueryFactory, annotator
from tests.judging import play
from tests.judging.views.acts import HTMX, end, form, grade, hold, shown, url

pytestmark = pytest.mark.django_db
# session, user, begin, the assignment (locked), its pairs, the judgment with the renewed lease, commit
STATEMENTS = 7
# a change reads the judgment, keeps the earlier grade and renews the lease by statements of their own
STATEMENTS_OF_A_CHANGE = 10


def crowd(project: Project, *, batches: int, people: int) -> None:
    """What other people have judged in the same project; the last of each is still open."""
    others = [annotator(project) for _ in range(people)]
    for number in range(batches):
        held = hold(BatchFactory(query=QueryFactory(project=project), pairs=4), annotator=others[number % people])
        play.grade(held, [0, 1, 2, 3], now=held.created_at)
        if number < batches - people:
            end(held)


def sent_by(client: Client, held: Assignment, place: int) -> list[str]:
    """The statements of one judgment of the pair at ``place``."""
    pair = shown(held)[place]
    data = form(held, pair, 2)
    with CaptureQueriesContext(connection) as sent:
        answer = client.post(url("judgment-create", pair), data, headers=HTMX)
    assert answer.status_code == 200
    return [query["sql"] for query in sent.captured_queries]


@pytest.mark.parametrize(
    ("pairs", "batches", "people"),
    [(20, 0, 1), (20, 1, 1), (20, 30, 1), (20, 30, 8), (40, 8, 8)],
)
def test_one_judgment(client: Client, pairs: int, batches: int, people: int) -> None:
    """At any place; the twentieth may be the last."""
    held = hold(BatchFactory(pairs=pairs))
    crowd(held.project, batches=batches, people=people)
    client.force_login(held.annotator)
    for place in range(20):
        statements = sent_by(client, held, place)
        assert len(statements) == STATEMENTS, "\n".join(statements)
    assert Judgment.objects.filter(assignment=held).count() == 20


@pytest.mark.parametrize("pairs", [1, 2, 20])
def test_the_last_judgment(client: Client, pairs: int) -> None:
    """It is answered with the last look."""
    held = hold(BatchFactory(pairs=pairs))
    client.force_login(held.annotator)
    for pair in shown(held)[:-1]:
        grade(client, held, pair, 1)
    statements = sent_by(client, held, pairs - 1)
    assert len(statements) == STATEMENTS, "\n".join(statements)


@pytest.mark.parametrize("changes", [0, 5])
def test_a_change(client: Client, changes: int) -> None:
    held = hold(BatchFactory(pairs=3))
    client.force_login(held.annotator)
    for value in [3, *([1, 3] * changes)]:
        grade(client, held, shown(held)[0], value)
    statements = sent_by(client, held, 0)
    assert len(statements) == STATEMENTS_OF_A_CHANGE, "\n".join(statements)


@pytest.mark.parametrize("seconds", [1, 2])
def test_round_2_costs_the_same(client: Client, seconds: int) -> None:
    batch = BatchFactory(pairs=seconds)
    play.judge_round(batch, [0] * seconds, [4] * seconds)
    held = hold(batch)
    client.force_login(held.annotator)
    assert held.round == 2
    assert len(sent_by(client, held, 0)) == STATEMENTS
