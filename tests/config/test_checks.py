"""Findings of `manage.py check --deploy`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from config import checks
from core.embedded.services import BASE_DIR
from core.env import Provider

GOOD_KEY = "Zr8uZpwq1vT0bB3cYx5kLm7nQe9sFg2hJd4aUiOyRtEwPlKjHg6"
SHORT_KEY = {"SECRET_KEY": "change-me"}
GOOD = {
    "SECRET_KEY": GOOD_KEY,
    "SITE_URL": "https://judge.site.test",
    "ALLOWED_HOSTS": ["judge.site.test"],
    "EMBEDDED_DATABASE": False,
    "CELERY_BROKER_URL": "redis://broker:6379/0",
    "EMAIL_HOST": "mail.example.org",
    "TRUSTED_PROXIES": 1,
    "TOTP_REQUIRED_FOR": ["lead"],
    "METRICS_TOKEN": "",
    "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
}


@pytest.fixture(autouse=True)
def good(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://broker:6379/0")
    for name, value in {**GOOD, "MOMENTJUDGE_VAR": tmp_path}.items():
        setattr(settings, name, value)


def message_ids() -> list[str]:
    return [str(message.id).removeprefix("momentjudge.") for message in checks.open_site()]


@pytest.mark.parametrize(
    ("name", "value", "correct_ids"),
    [
        ("SECRET_KEY", GOOD_KEY, []),
        ("SECRET_KEY", "short", ["E001"]),
        ("SECRET_KEY", "x" * 60, ["E001"]),
        ("SECRET_KEY", "change-me-" + GOOD_KEY, ["E001"]),
        ("SECRET_KEY_FALLBACKS", [GOOD_KEY[::-1]], []),
        ("SECRET_KEY_FALLBACKS", [GOOD_KEY[::-1], "short", "change-me-" + GOOD_KEY], ["E001", "E001"]),
        ("OIDC", [Provider({"name": "the lab", "secret": "change-me"}, [])], ["E010"]),
        ("SITE_URL", "http://judge.site.test", ["E002"]),
        ("SITE_URL", "https://other.site.test", ["E004"]),
        ("ALLOWED_HOSTS", ["*"], ["E003"]),
        ("ALLOWED_HOSTS", [".site.test"], []),
        ("ALLOWED_HOSTS", [".te.test"], ["E004"]),
        ("EMBEDDED_DATABASE", True, ["E005"]),
        ("CELERY_BROKER_URL", "amqp://broker", ["E008"]),
        ("MOMENTJUDGE_VAR", Path("/no/such/folder"), ["E009"]),
        ("EMAIL_HOST", "", ["W001"]),
        ("TRUSTED_PROXIES", 0, ["W002"]),
        ("TOTP_REQUIRED_FOR", [], ["W003"]),
        ("METRICS_TOKEN", "change-me", ["E010"]),
        ("CELERY_BROKER_URL", "redis://:change-me@broker:6379/0", ["E010"]),
        ("STORAGES", {"default": {"OPTIONS": {"access_key": "EXAMPLE", "secret_key": "change-me"}}}, ["E010", "E010"]),
        ("ALLOWED_HOSTS", ["judge.site.test", "judge.example.org"], ["E011"]),
        ("ALLOWED_HOSTS", ["judge.site.test", ".example.com"], ["E011"]),
        ("ALLOWED_HOSTS", ["judge.site.test", "for-example.org"], []),
    ],
)
def test_a_bad_setting_is_named(settings: Settings, name: str, value: Any, correct_ids: list[str]) -> None:
    setattr(settings, name, value)
    assert message_ids() == correct_ids


def test_no_broker_of_its_own_and_the_password_of_the_example(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BROKER_URL")
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "change-me")
    assert sorted(message_ids()) == ["E007", "E010"]


def test_they_are_registered_for_deploy_alone(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 0
    settings.EMAIL_HOST = ""
    settings.TOTP_REQUIRED_FOR = []
    own = [message.id for message in run_checks(include_deployment_checks=True) if "momentjudge" in str(message.id)]
    assert sorted(own) == ["momentjudge.W001", "momentjudge.W002", "momentjudge.W003"]
    assert not [message for message in run_checks() if "momentjudge" in str(message.id)]


@pytest.mark.deployment
def test_check_deploy_is_clean_with_the_settings_of_production(tmp_path: Path) -> None:
    process = manage(production(tmp_path), "check", "--deploy", "--fail-level", "WARNING")
    assert (process.returncode, "no issues" in process.stdout) == (0, True), process.stderr


def test_the_example_file_as_it_is_fails_and_names_what_is_left(tmp_path: Path) -> None:
    lines = (BASE_DIR / "docker" / "momentjudge.env.example").read_text().splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings.production", **example}
    environment |= {"SECRET_KEY": GOOD_KEY, "MOMENTJUDGE_VAR": str(tmp_path)}
    process = manage(environment, "check", "--deploy", "--fail-level", "ERROR")
    assert process.returncode != 0
    for words in ("The password in DATABASE_URL is an", "SITE_URL names an", "ALLOWED_HOSTS names an"):
        assert words in process.stderr
    assert "TOTP_REQUIRED_FOR" not in process.stderr


@pytest.mark.parametrize(
    ("name", "instead"), [("DATABASE_URL", {}), ("BROKER_URL", {}), ("ALLOWED_HOSTS", {}), ("SECRET_KEY", SHORT_KEY)]
)
def test_what_is_missing_stops_every_start_in_one_line(tmp_path: Path, name: str, instead: dict[str, str]) -> None:
    environment = production(tmp_path)
    del environment[name]
    process = manage(environment | instead, "check")
    assert (process.returncode, process.stderr.count("\n")) == (1, 1)
    assert process.stderr.startswith(f"{name} must be set")


def production(var: Path) -> dict[str, str]:
    """The environment of a good site."""
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings.production",
        "DATABASE_URL": "postgresql://momentjudge:word@db.example/momentjudge",
        "BROKER_URL": "redis://broker.example:6379/0",
        "ALLOWED_HOSTS": "judge.site.test",
        "SECRET_KEY": GOOD_KEY,
        "MOMENTJUDGE_VAR": str(var),
        "EMAIL_HOST": "mail.example.org",
        "TRUSTED_PROXIES": "1",
        "TOTP_REQUIRED_FOR": "lead,admin",
    }


def manage(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BASE_DIR / "manage.py"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
