"""What README and docs/ name exists: links, pictures, files, commands, settings, constraints."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands

from tests.docs.pages import ROOT, anchors, blocks, links, pages, tables

PICTURES = ROOT / "docs" / "pictures"
PACKAGES = ("config", "core", "accounts", "annotation", "judging", "models_runner", "moment_retrieval")
SOURCES = (*PACKAGES, "benchmarks", "tests", "tools")
FILE = re.compile(rf"`((?:{'|'.join(SOURCES)}|docs|requirements|templates|static|\.ci)/[\w./-]+)`")
NAMES = [page.relative_to(ROOT).as_posix() for page in pages()]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    page = ROOT / name
    for target in links(page):
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if file.parent == PICTURES and not any(PICTURES.glob("*.png")):
            continue  # none has been taken yet
        assert file.exists(), f"{name} leads to {target}"
        assert not anchor or anchor in anchors(file), f"{name} leads to {target}: there is no such heading"


@pytest.mark.parametrize("name", NAMES)
def test_every_file_named_exists(name: str) -> None:
    missing = [path for path in FILE.findall((ROOT / name).read_text()) if not (ROOT / path).exists()]
    assert not missing


def test_the_readme_tree_names_files_that_exist() -> None:
    tree = next(block.text for block in blocks() if block.page.name == "README.md" and "pyproject.toml" in block.text)
    named = [path for line in tree.splitlines() for path in re.split(r" {2,}", line)[0].split()]
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_command_named_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    assert set(re.findall(r"manage\.py ([a-z]\w+)", text)) <= set(get_commands())
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"`make ([a-z-]+)|^ *(?:\w+=\S+ )?make ([a-z-]+)", text, re.MULTILINE)
    assert {one or other for one, other in called} <= targets


def test_every_setting_named_is_read_somewhere() -> None:
    docker = [path for path in (ROOT / "docker").rglob("*") if path.is_file()]
    docker.append(ROOT / "models_runner" / "experiments" / "child.py")  # it sets what libraries of a training read
    docker.append(ROOT / "tests" / "mutations.py")
    sources = [
        ROOT / "Makefile",
        *docker,
        *(ROOT / "config").rglob("*.py"),
        *(ROOT / "core").rglob("*.py"),
        *(ROOT / "tests").rglob("shared_data.py"),
    ]
    read = "\n".join(path.read_text() for path in sources)
    named = set(re.findall(r"`([A-Z]{2,}(?:_[A-Z]+)*)(?:=[^`]*)?`", "\n".join(page.read_text() for page in pages())))
    assert named
    assert [name for name in sorted(named) if name not in read and not _in_code(name)] == []


def _in_code(name: str) -> bool:
    """Whether a capitalised name is a constant of ours rather than a setting."""
    return any(f"{name} =" in path.read_text() for app in PACKAGES for path in (ROOT / app).rglob("*.py"))


def test_every_constraint_named_exists() -> None:
    held = {constraint.name for model in apps.get_models() for constraint in model._meta.constraints}
    migrations = (path.read_text() for path in ROOT.glob("*/migrations/*.sql"))
    held |= {name for text in migrations for name in re.findall(r"CREATE (?:CONSTRAINT )?TRIGGER (\w+)", text)}
    assert _in_last_column(ROOT / "docs" / "rules.md") <= held
    assert _in_last_column(ROOT / "docs" / "rules.md")


def _in_last_column(page: Path) -> set[str]:
    """What the table of rules says of the database."""
    return {name for row in tables(page) if len(row) == 4 for name in re.findall(r"`(\w+_\w+)`", row[3])}
