"""Requests and tasks have ids, in answers and in every line of the logs; and what is slow is written down."""

import io
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection, connections
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from accounts.access import ANNOTATOR, grant
from accounts.models import Identity, User
from core.observability import requests, tasks
from core.observability.logs import NOTES, formatter, request_fields
from tests.factories import ProjectFactory, annotator


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Provide the log as JSON."""
    out, records = io.StringIO(), []
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter("json"))
    handler.emit = lambda record: records.append(json.loads(handler.format(record)))  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    yield records
    logging.getLogger().removeHandler(handler)
    clear_contextvars()


def test_a_sane_request_id_is_used_and_any_other_is_replaced(client: Client) -> None:
    sane = {"X-Request-ID": "from-the-proxy-1"}
    assert client.get("/healthz", headers=sane).headers["X-Request-ID"] == "from-the-proxy-1"
    for odd in ("", "short", "with spaces in it", "x" * 65, "<script>alert</script>", "new\nline-12"):
        new_id = client.get("/healthz", headers={"X-Request-ID": odd}).headers["X-Request-ID"]
        assert new_id != odd and len(new_id) == 32


@pytest.mark.django_db
def test_pages_of_refusals_and_faults_name_their_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.views.EmailForm", Mock(side_effect=RuntimeError("broken")))
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("somebody"))
    for path, status in (("/nowhere/", 404), (reverse("password-forgotten"), 500)):
        answer = client.get(path)
        assert answer.status_code == status
        assert answer.headers["X-Request-ID"] in answer.content.decode()


@pytest.mark.django_db
def test_a_line_says_in_which_request_and_who_by_number(lines: list[dict[str, Any]], client: Client) -> None:
    project = ProjectFactory()
    person = annotator(project)
    Identity.objects.create(user=person, name="Some Body", email="some@example.org")
    client.force_login(person)
    answer = client.get(reverse("judging:releases", args=[project.uuid]))
    assert answer.status_code == 403
    (line,) = [line for line in lines if line["logger"] == "core.refusals"]
    assert line["request_id"] == answer.headers["X-Request-ID"]
    assert line["route"] == "judging:releases"
    assert person.username not in json.dumps(lines)
    client.get(reverse("judging:desk", args=[project.uuid]))
    assert get_contextvars() == {}  # the next request of this thread begins with nothing


@pytest.mark.django_db
def test_granting_access_binds_the_number(rf: Any) -> None:
    project = ProjectFactory()
    person = annotator(project)
    request = rf.get("/")
    request.user = person
    membership = grant(request, project, ANNOTATOR)
    assert get_contextvars() == {"member": f"annotator {membership.number}", "project": str(project.uuid)}
    clear_contextvars()


def test_an_e_mail_address_is_in_no_line_and_workers_keep_their_names(lines: list[dict[str, Any]]) -> None:
    try:
        raise ValueError("Key (lower(email))=(some@example.org) already exists.")
    except ValueError:
        logging.getLogger("judging").exception("while saving other@example.org")
    assert "example.org" not in json.dumps(lines)
    assert lines[0]["exception"].startswith("Traceback")
    logging.getLogger("celery.apps.worker").handle(
        logging.LogRecord("celery.apps.worker", logging.INFO, "", 0, "worker@judge.example.org ready.", None, None)
    )
    assert lines[1]["event"] == "worker@judge.example.org ready."


def test_a_line_for_people_ends_with_its_context() -> None:
    bind_contextvars(request_id="abc", task="a.task")
    record = logging.LogRecord("judging.services", logging.WARNING, "", 0, "late by %s", ("5 s",), None)
    line = formatter("lines").format(record)
    assert line.endswith("WARNING judging.services late by 5 s [request_id=abc task=a.task]")
    clear_contextvars()


def test_the_access_log_knows_no_query_string() -> None:
    environ = {"REQUEST_METHOD": "GET", "RAW_URI": "/somewhere/?email=some@example.org", NOTES: {"request_id": "abc"}}
    fields = {"method": "GET", "path": "/somewhere/", "status_code": 200, "bytes": 12, "duration_ms": 3.0}
    answer = SimpleNamespace(status="200 OK", sent=12)
    assert request_fields(answer, environ, 0.003) == {**fields, "request_id": "abc"}


class Task:
    """As much of a Celery task as its signals show."""

    name = "judging.tasks.batch_advance"

    def __init__(self, message: dict[str, Any]) -> None:
        self.request = SimpleNamespace(get=message.get)


def test_a_task_inherits_the_request_that_sent_it(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks, "task_count", lambda name, *, seconds, outcome: outcomes.append((name, outcome)))
    bind_contextvars(request_id="abc", member="annotator 7", route="judging:judgment-create")
    headers: dict[str, Any] = {"id": "1"}
    tasks.message_sign(headers=headers)
    clear_contextvars()
    task = Task(headers)
    tasks.task_begin(task_id="1", task=task)
    inherited = {"request_id": "abc", "member": "annotator 7"}
    assert get_contextvars() == inherited | {"task_id": "1", "task": "judging.tasks.batch_advance"}
    tasks.task_end(task_id="1", task=task, state="FAILURE")
    assert get_contextvars() == {}
    assert outcomes == [("judging.tasks.batch_advance", tasks.FAILURES)]


def test_an_eager_task_restores_what_was_bound() -> None:
    bind_contextvars(request_id="abc")
    task = Task({"is_eager": True})
    tasks.task_begin(task_id="2", task=task)
    tasks.task_end(task_id="2", task=task, state="SUCCESS")
    assert get_contextvars() == {"request_id": "abc"}
    clear_contextvars()


@pytest.mark.django_db
def test_a_slow_statement_is_logged_without_its_values(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, lines: list[dict[str, Any]]
) -> None:
    settings.SLOW_QUERY_MS = 0.0001
    monkeypatch.setattr(connections["default"], "execute_wrappers", [])
    requests.watch(connections["default"])
    requests.watch(connections["default"])
    bind_contextvars(route="home")
    User.objects.filter(username="some.body").exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'some ''secret'' text'")
    assert [line["route"] for line in lines] == ["home", "home"]
    assert lines[1]["statement"] == "SELECT '...'"
    assert lines[0]["duration_ms"] >= 0
    assert not {"some.body", "secret"} & set(json.dumps(lines).replace("'", " ").split())


@pytest.mark.django_db
def test_no_statement_is_timed_where_the_limit_is_0(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SLOW_QUERY_MS = 0
    monkeypatch.setattr(connections["default"], "execute_wrappers", [])
    requests.watch(connections["default"])
    assert connections["default"].execute_wrappers == []
