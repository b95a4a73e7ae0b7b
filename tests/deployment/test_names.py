"""Every module, function and file of ours that the files around the program name is there."""

import re
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.embedded.services import BASE_DIR

PACKAGES = "accounts|annotation|config|core|judging|models_runner|moment_retrieval"
FOLDERS = f"{PACKAGES}|benchmarks|docker|docs|requirements|static|templates|tests|tools"
MODULE = re.compile(rf"(?<![\w./@-])(?:{PACKAGES})(?:\.\w+)+(?![\w/-])")
APP = re.compile(r"celery -A (\S+)|\"-A\", \"(\w+)\"")
REPOSITORY_PATH = re.compile(rf"(?<![\w./=-])(?:/srv/momentjudge/code/|\./)?((?:{FOLDERS})(?:/[\w.*@-]+)+|manage\.py)")
MADE = {"docker/.env"}  # by whoever runs the site


def files() -> list[Path]:
    pathspecs = ["docker", ".ci", "Makefile", "requirements"]
    process = subprocess.run(["git", "ls-files", *pathspecs], cwd=BASE_DIR, capture_output=True, text=True, check=True)
    return [BASE_DIR / name for name in process.stdout.split() if not name.endswith((".lock", ".in"))]


def is_there(name: str) -> bool:
    """Whether the dotted name is a module, or something in one. Settings are looked for and not imported."""
    package, _, last = name.rpartition(".")
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what it would be in is no package
        return find_spec(package) is not None and hasattr(import_module(package), last)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(BASE_DIR)))
def test_what_it_names_is_there(path: Path) -> None:
    text = path.read_text()
    modules = set(MODULE.findall(text)) | {app or other for app, other in APP.findall(text)}
    assert [name for name in sorted(modules) if not is_there(name)] == []
    references = {reference.rstrip(".") for reference in REPOSITORY_PATH.findall(text)} - MADE
    assert [reference for reference in sorted(references) if not list(BASE_DIR.glob(reference))] == []


def test_the_patterns_find_names() -> None:
    text = "python -m celery -A config worker; config.wsgi; core.observability.logs.AccessLog; docker/gone a/core/x.py"
    assert MODULE.findall(text) == ["config.wsgi", "core.observability.logs.AccessLog"]
    assert (APP.findall(text), REPOSITORY_PATH.findall(text)) == ([("config", "")], ["docker/gone"])
    assert is_there("config.wsgi") and is_there("core.jobs.JobKind")
    assert not is_there("config.gone") and not is_there("core.jobs.Gone")
