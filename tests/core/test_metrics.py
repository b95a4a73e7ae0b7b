"""/metrics: who gets it, and that every figure of the dashboard and the alarms is one that is told."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from core.observability import metrics, requests, tasks
from tests.factories import AssignmentFactory
from tests.judging.play import grade

TOKEN = "a-token-for-prometheus-alone"
DOCKER = Path(__file__).resolve().parents[2] / "docker"
METRIC = re.compile(r"\bmomentjudge_[a-z_]+")
LOG_IN = {"Authorization": f"Bearer {TOKEN}"}


class Broker:
    """As much of Redis as is asked: two hashes and the lengths of lists."""

    def __init__(self) -> None:
        self.hashes: dict[str, dict[bytes, bytes]] = {}
        self.answers: list[Any] = []
        self.pipeline = lambda transaction: self

    def __enter__(self) -> "Broker":
        self.answers = []
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def hincrby(self, name: str, field: str, n: int) -> None:
        values = self.hashes.setdefault(name, {})
        values[field.encode()] = str(int(values.get(field.encode(), b"0")) + n).encode()

    def hset(self, name: str, field: str, value: str) -> None:
        self.hashes.setdefault(name, {})[field.encode()] = value.encode()

    def hdel(self, name: str, field: str) -> None:
        self.hashes.get(name, {}).pop(field.encode(), None)

    def llen(self, name: str) -> None:
        self.answers.append({"celery": 3, "uploads": 1}.get(name, 0))

    def hlen(self, name: str) -> None:
        self.answers.append(2)

    def hgetall(self, name: str) -> None:
        self.answers.append(self.hashes.get(name, {}))

    def execute(self) -> list[Any]:
        return self.answers


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    fake_broker = Broker()
    monkeypatch.setattr(tasks, "broker", lambda: fake_broker)
    monkeypatch.setattr(tasks, "_unavailable_until", 0.0)
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    metrics._of_site.cache_clear()
    yield fake_broker
    metrics._of_site.cache_clear()


def figures(client: Client) -> dict[str, dict[tuple[str, ...], float]]:
    metrics._of_site.cache_clear()  # it keeps an answer for some seconds
    answer = client.get("/metrics", headers=LOG_IN | {"host": "10.0.0.7"})
    assert answer.status_code == 200
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            values.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return values


def test_without_the_setting_there_is_no_such_page_and_without_the_token_nothing_on_it(
    client: Client, settings: Settings
) -> None:
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers=LOG_IN).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for header in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer é"):
        answer = client.get("/metrics", headers={"Authorization": header})
        assert (answer.status_code, b"momentjudge_" in answer.content) == (401, False), header


@pytest.mark.django_db
def test_it_counts_what_was_done(client: Client, settings: Settings, broker: Broker) -> None:
    settings.METRICS_TOKEN = TOKEN
    assignment = AssignmentFactory()
    before = figures(client)
    grade(assignment, [2, 3])
    tasks.task_count("judging.tasks.batch_advance", seconds=1.5, outcome=tasks.FAILURES)
    tasks.worker_note("worker@one", ["celery", "uploads"])
    client.get("/login/")
    after = figures(client)
    person, idle = ("person",), {(queue,): 0 for queue in ("judging", "celery", "uploads", "gpu", "search")}
    assert after["momentjudge_judgments_total"][person] == before["momentjudge_judgments_total"][person] + 2
    assert after["momentjudge_leases_open"][()] >= 1
    assert after["momentjudge_queue_length"] == {**idle, ("celery",): 3, ("uploads",): 1}
    assert after["momentjudge_task_failures_total"] == {("judging.tasks.batch_advance",): 1}
    assert after["momentjudge_task_seconds_total"] == {("judging.tasks.batch_advance",): 1.5}
    assert after["momentjudge_workers"] == {**idle, ("celery",): 1, ("uploads",): 1}
    assert after["momentjudge_request_seconds_count"][("GET", "login", "2xx")] >= 1
    assert set(after["momentjudge_up"].values()) == {1.0}


@pytest.mark.django_db
def test_a_scrape_survives_an_unavailable_broker(
    client: Client, settings: Settings, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(tasks, "broker", Mock(side_effect=OSError("no route to 10.0.0.3")))
    tasks.task_count("a.task", seconds=1, outcome=tasks.RUNS)  # no task fails by it
    values = figures(client)
    assert values["momentjudge_up"] == {("database",): 1, ("broker",): 0}
    assert "momentjudge_judgments_total" in values


@pytest.mark.django_db
def test_a_scrape_asks_few_questions(broker: Broker, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(9):
        list(metrics.figures())


def test_a_worker_that_was_not_heard_of_is_not_up(broker: Broker) -> None:
    now = time.time()
    for host, ago in (("old@one", 90), ("gone@two", 200_000), ("new@three", 0)):
        broker.hset(tasks.SEEN, host, f"{now - ago:.0f}|celery")
    families = {family.name: family.samples for family in metrics.of_broker()}
    silent, up = families["momentjudge_worker_silent_seconds"], families["momentjudge_workers"]
    assert {sample.labels["worker"] for sample in silent} == {"old@one", "new@three"}
    assert {sample.labels["queue"]: sample.value for sample in up}["celery"] == 1
    assert b"gone@two" not in broker.hashes[tasks.SEEN]


def test_a_worker_that_ends_is_forgotten_though_the_broker_did_not_answer_a_moment_ago(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.worker_note("ending@one", ["celery"])
    monkeypatch.setattr(tasks, "_unavailable_until", time.monotonic() + 60)
    tasks.worker_forget("ending@one")
    assert broker.hashes[tasks.SEEN] == {}


@pytest.mark.django_db
def test_the_dashboard_and_the_alarms_name_figures_that_are_exported(
    client: Client, settings: Settings, broker: Broker
) -> None:
    settings.METRICS_TOKEN = TOKEN
    for outcome in (tasks.RUNS, tasks.FAILURES, tasks.RETRIES):
        tasks.task_count("a.task", seconds=1, outcome=outcome)
    tasks.worker_note("worker@one", ["celery"])
    requests.SLOW.labels("home").inc()
    requests.POOLED.labels("size").set(1)
    client.get("/login/")
    metrics._of_site.cache_clear()
    text = client.get("/metrics", headers=LOG_IN).content.decode()
    families = list(text_string_to_metric_families(text))
    samples = {sample.name for family in families for sample in family.samples}
    board = json.loads((DOCKER / "grafana" / "momentjudge.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(expressions) > 20
    texts = [*expressions, (DOCKER / "momentjudge.rules.yml").read_text()]
    dashboard_names = {name for words in texts for name in METRIC.findall(words)}
    names = {family.name for family in families}
    assert dashboard_names - samples - names == set()
    dashboard_families = {re.sub("_(total|bucket|count)$", "", name) for name in dashboard_names}
    assert {name for name in names if name.startswith("momentjudge_")} - dashboard_families == set()
