"""/healthz and /readyz without servers: each check with what it looks at taken away."""

import os
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.files.storage import FileSystemStorage
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from core.observability import health


@pytest.fixture(autouse=True)
def forgotten_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_last", (0.0, {}))


def checks(monkeypatch: pytest.MonkeyPatch, **wrong: object) -> None:
    def ok() -> None: ...

    monkeypatch.setattr(health, "CHECKS", {"database": ok, "broker": ok, "storage": ok, **wrong})


@pytest.mark.django_db
def test_alive_asks_for_nothing_and_answers_whoever_knows_only_an_address_and_no_tls(
    client: Client, settings: Settings, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["judge.example.org"], True
    with django_assert_num_queries(0):
        answer = client.get("/healthz", headers={"host": "10.0.0.7"})
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_what_is_wrong_is_named_and_nothing_else(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    checks(monkeypatch)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.json() == {"database": "ok", "broker": "ok", "storage": "ok"}
    monkeypatch.setattr(health, "_last", (0.0, {}))
    checks(monkeypatch, broker=Mock(side_effect=OSError("redis://:secret@broker.example is away")))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"database": "ok", "broker": "not reachable", "storage": "ok"}


def test_what_hangs_is_not_waited_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE_S", 0.05)
    answered = threading.Event()
    checks(monkeypatch, storage=lambda: answered.wait(60))
    try:
        assert client.get("/readyz").json()["storage"] == "no answer"
    finally:
        answered.set()


def test_asking_often_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Mock()
    checks(monkeypatch, broker=broker)
    assert {health.readiness()["broker"] for _ in range(5)} == {"ok"}
    assert broker.call_count == 1


@pytest.mark.django_db
def test_a_migrated_database_is_ready_and_one_behind_the_code_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    health.database()
    migrations = health.wanted_migrations() | {("judging", "9999_of_the_next_release")}
    monkeypatch.setattr(health, "wanted_migrations", lambda: migrations)
    with pytest.raises(health.NotReady, match="not migrated"):
        health.database()


def test_a_folder_that_cannot_be_written_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "default_storage", FileSystemStorage(tmp_path / "media"))
    health.storage()
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(health.NotReady, match="cannot be written"):
        health.storage()
