"""What `manage.py check --deploy` finds."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from config import checks
from config.embedded.services import BASE_DIR

GOOD_KEY = "Zr8uZpwq1vT0bB3cYx5kLm7nQe9sFg2hJd4aUiOyRtEwPlKjHg6"
GOOD = {
    "SECRET_KEY": GOOD_KEY,
    "SITE_URL": "https://judge.example.org",
    "ALLOWED_HOSTS": ["judge.example.org"],
    "EMBEDDED_DATABASE": False,
    "CELERY_BROKER_URL": "redis://broker:6379/0",
    "EMAIL_HOST": "mail.example.org",
    "TRUSTED_PROXIES": 1,
    "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
}


@pytest.fixture(autouse=True)
def good(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://broker:6379/0")
    for name, value in {**GOOD, "MOMENTJUDGE_VAR": tmp_path}.items():
        setattr(settings, name, value)


def found() -> list[str]:
    ours = (checks.secret_key, checks.address, checks.services, checks.folders, checks.mail, checks.proxies)
    return [str(message.id).removeprefix("momentjudge.") for check in ours for message in check()]


def test_good_settings_pass() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SECRET_KEY", "short", ["E001"]),
        ("SECRET_KEY", "x" * 60, ["E001"]),
        ("SECRET_KEY", "change-me-" + GOOD_KEY, ["E001"]),
        ("SITE_URL", "http://judge.example.org", ["E002"]),
        ("SITE_URL", "https://other.example.org", ["E004"]),
        ("ALLOWED_HOSTS", ["*"], ["E003"]),
        ("ALLOWED_HOSTS", [".example.org"], []),
        ("ALLOWED_HOSTS", [".ample.org"], ["E004"]),
        ("EMBEDDED_DATABASE", True, ["E005"]),
        ("CELERY_BROKER_URL", "amqp://broker", ["E008"]),
        ("MOMENTJUDGE_VAR", Path("/no/such/folder"), ["E009"]),
        ("EMAIL_HOST", "", ["W001"]),
        ("TRUSTED_PROXIES", 0, ["W002"]),
    ],
)
def test_a_bad_setting_is_named(settings: Settings, name: str, value: Any, expected: list[str]) -> None:
    setattr(settings, name, value)
    assert found() == expected


def test_no_broker_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKER_URL")
    assert found() == ["E007"]


def test_they_are_registered_for_deploy_alone(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 0
    settings.EMAIL_HOST = ""
    own = [message.id for message in run_checks(include_deployment_checks=True) if "momentjudge" in str(message.id)]
    assert sorted(own) == ["momentjudge.W001", "momentjudge.W002"]
    assert not [message for message in run_checks() if "momentjudge" in str(message.id)]


def test_check_deploy_is_clean_with_the_settings_of_production(tmp_path: Path) -> None:
    said = production(tmp_path)
    done = manage(said, "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("name", ["DATABASE_URL", "BROKER_URL", "ALLOWED_HOSTS", "SECRET_KEY"])
def test_what_is_missing_stops_every_start(tmp_path: Path, name: str) -> None:
    said = production(tmp_path)
    del said[name]
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings.production"],
        env=said,
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"{name} must be set" in done.stderr


def production(var: Path) -> dict[str, str]:
    """The environment of a good site."""
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings.production",
        "DATABASE_URL": "postgresql://momentjudge:word@db.example/momentjudge",
        "BROKER_URL": "redis://broker.example:6379/0",
        "ALLOWED_HOSTS": "judge.example.org",
        "SECRET_KEY": GOOD_KEY,
        "MOMENTJUDGE_VAR": str(var),
        "EMAIL_HOST": "mail.example.org",
        "TRUSTED_PROXIES": "1",
    }


def manage(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BASE_DIR / "manage.py"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
