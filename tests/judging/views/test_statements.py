"""Cost of one judgment: statements, function calls, templates and log records; always the same.

A clock tells little on a busy machine; counts tell at once when every judgment has begun to do more.
"""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import Project
from judging.models import Assignment, Judgment
from tests.factories import BatchFactory, QueryFactory, annotator
from tests.judging import play
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import HTMX, end, form, grade, hold, url

pytestmark = pytest.mark.django_db
# session with account, the assignment with its pairs, the judgment with the renewed lease
STATEMENTS = 3
# a change locks the assignment and looks again; it reads the judgment, keeps the earlier grade and renews the lease
STATEMENTS_OF_A_CHANGE = 10
CALLS = 2550  # of Python functions, in the handler, all middleware with it, as production is set up
TEMPLATES = ["judging/work/_controls.html"]  # beside the fragment; the buttons are kept from the first judgment


def crowd(project: Project, *, batches: int, people: int) -> None:
    """Have other people judge in the same project; the last batch of each is still open."""
    others = [annotator(project) for _ in range(people)]
    for number in range(batches):
        assignment = hold(BatchFactory(query=QueryFactory(project=project), pairs=4), annotator=others[number % people])
        play.grade(assignment, [0, 1, 2, 3], now=assignment.created_at)
        if number < batches - people:
            end(assignment)


def sent_by(client: Client, assignment: Assignment, index: int) -> list[str]:
    """The statements of one judgment of the pair at ``index``."""
    pair = pairs_in_order(assignment)[index]
    data = form(assignment, pair, 2)
    with CaptureQueriesContext(connection) as capture:
        answer = client.post(url("judgment-create", pair), data, headers=HTMX)
    assert answer.status_code == 200
    return [query["sql"] for query in capture.captured_queries]


@pytest.mark.parametrize(("pairs", "batches", "people"), [(20, 0, 1), (20, 9, 3), (40, 4, 4)])
def test_one_judgment(client: Client, settings: Settings, pairs: int, batches: int, people: int) -> None:
    """At any place; the twentieth may be the last. Leads must log in with a second step, as in production."""
    settings.TOTP_REQUIRED_FOR = ["lead", "admin"]
    assignment = hold(BatchFactory(pairs=pairs))
    crowd(assignment.project, batches=batches, people=people)
    client.force_login(assignment.annotator)
    for index in range(20):
        statements = sent_by(client, assignment, index)
        assert len(statements) == STATEMENTS, "\n".join(statements)
    assert Judgment.objects.filter(assignment=assignment).count() == 20


@pytest.mark.parametrize("pairs", [1, 20])
def test_the_last_judgment(client: Client, pairs: int) -> None:
    """It is answered with the last look."""
    assignment = hold(BatchFactory(pairs=pairs))
    client.force_login(assignment.annotator)
    for pair in pairs_in_order(assignment)[:-1]:
        grade(client, assignment, pair, 1)
    assert len(sent_by(client, assignment, pairs - 1)) == STATEMENTS


@pytest.mark.parametrize("changes", [0, 5])
def test_a_change(client: Client, changes: int) -> None:
    assignment = hold(BatchFactory(pairs=3))
    client.force_login(assignment.annotator)
    for value in [3, *([1, 3] * changes)]:
        grade(client, assignment, pairs_in_order(assignment)[0], value)
    statements = sent_by(client, assignment, 0)
    assert len(statements) == STATEMENTS_OF_A_CHANGE, "\n".join(statements)


def calls_in(act: Callable[[], object]) -> int:
    """How many Python functions ``act`` calls; what the garbage collector ends meanwhile is not counted."""
    calls = 0
    gc.collect()
    gc.disable()

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def test_function_calls_templates_and_log_records(caplog: pytest.LogCaptureFixture, settings: Settings) -> None:
    """One in twenty more calls is a regression to look for, one in twenty fewer a figure to write down."""
    settings.TOTP_REQUIRED_FOR = ["lead", "admin"]
    token = "a" * 32
    client = Client(enforce_csrf_checks=True, headers={"X-CSRFToken": token})
    client.cookies["csrftoken"] = token
    assignment = hold(BatchFactory(pairs=20))
    client.force_login(assignment.annotator)
    answer_request = client.handler.get_response
    calls: list[int] = []

    def count_calls(request: Any) -> Any:
        answers: list[Any] = []
        calls.append(calls_in(lambda: answers.append(answer_request(request))))
        return answers[0]

    client.handler.get_response = count_calls  # type: ignore[method-assign]
    first, *pairs = pairs_in_order(assignment)[:6]
    grade(client, assignment, first, 2)
    caplog.clear()
    for pair in pairs:
        answer = grade(client, assignment, pair, 2)
        assert [template.name for template in answer.templates] == TEMPLATES
    assert caplog.messages == []
    assert calls[1:] == pytest.approx([CALLS] * len(calls[1:]), rel=0.05)
