"""Names in README and docs/ exist: links, pictures, files, commands, settings, constraints, tests of faults."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from django.apps import apps
from django.core.management import get_commands

from tests.docs.pages import ROOT, anchors, blocks, links, pages, tables
from tools.packages import LAYERS, LIBRARY, concepts, drawing, imports

MANAGE_COMMAND = re.compile(r"manage\.py ([a-z]\w+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
QUOTED_TARGET = re.compile(r"`make ([a-z-]+)")
TYPED_TARGET = re.compile(r"^ *(?:\w+=\S+ )?make ([a-z-]+)", re.MULTILINE)
IMPORT = re.compile(r"from (moment_retrieval[\w.]*) import ([\w, ]+)")
PICTURES = ROOT / "docs" / "pictures"
PACKAGES = ("config", "core", "accounts", "annotation", "judging", "models_runner", "moment_retrieval")
SOURCES = (*PACKAGES, "benchmarks", "tests", "tools")
FILE = re.compile(rf"`((?:{'|'.join(SOURCES)}|docs|requirements|templates|static|\.ci)/[\w./-]+)`")


def named_in_pages(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Page and name, for every name that the pattern finds in a page."""
    return [(page.relative_to(ROOT).as_posix(), name) for page in pages() for name in pattern.findall(page.read_text())]


def test_every_link_leads_somewhere() -> None:
    pictures_exist = any(PICTURES.glob("*.png"))
    for page in pages():
        for target in links(page):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if file.parent == PICTURES and not pictures_exist:
                continue
            assert file.exists(), f"{page} leads to {target}"
            assert not anchor or anchor in anchors(file), f"{page} leads to {target}: there is no such heading"


def test_every_file_named_exists_and_those_of_the_tree_of_folders() -> None:
    assert [(page, path) for page, path in named_in_pages(FILE) if not (ROOT / path).exists()] == []
    tree = next(block.text for block in blocks() if block.page.name == "architecture.md")
    paths = [path for line in tree.splitlines() for path in re.split(r" {2,}", line)[0].split()]
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_name_imported_from_the_library_exists() -> None:
    imports = [(page.name, *statement) for page in pages() for statement in IMPORT.findall(page.read_text())]
    assert len(imports) > 10
    for page, module, names in imports:
        for name in names.split(", "):
            assert hasattr(import_module(module), name), f"{page} imports {name} from {module}"


def test_every_command_named_exists() -> None:
    commands, targets = get_commands(), TARGET.findall((ROOT / "Makefile").read_text())
    assert [(page, name) for page, name in named_in_pages(MANAGE_COMMAND) if name not in commands] == []
    names = named_in_pages(QUOTED_TARGET) + named_in_pages(TYPED_TARGET)
    assert [(page, name) for page, name in names if name not in targets] == []


def test_every_setting_named_is_read_somewhere() -> None:
    docker = [path for path in (ROOT / "docker").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    docker.append(ROOT / "models_runner" / "experiments" / "child.py")  # it sets what libraries of a training read
    docker.append(ROOT / "tests" / "mutations.py")
    sources = [
        ROOT / "Makefile",
        *docker,
        *(ROOT / "config").rglob("*.py"),
        *(ROOT / "core").rglob("*.py"),
        *(ROOT / "tests").rglob("shared_data.py"),
        ROOT / "tests" / "production" / "test_soak.py",
        ROOT / "tests" / "contract" / "test_contract.py",
    ]
    read = "\n".join(path.read_text() for path in sources)
    names = set(re.findall(r"`([A-Z]{2,}(?:_[A-Z]+)*)(?:=[^`]*)?`", "\n".join(page.read_text() for page in pages())))
    assert names
    assert [name for name in sorted(names) if name not in read and not _in_code(name)] == []


def _in_code(name: str) -> bool:
    """Whether a capitalised name is a constant of ours rather than a setting."""
    return any(f"{name} =" in path.read_text() for app in PACKAGES for path in (ROOT / app).rglob("*.py"))


def test_every_constraint_named_exists() -> None:
    constraint_names = {constraint.name for model in apps.get_models() for constraint in model._meta.constraints}
    migrations = "\n".join(path.read_text() for path in ROOT.glob("*/migrations/*.sql"))
    new_names = dict(re.findall(r"ALTER TRIGGER (\w+) ON \w+ RENAME TO (\w+)", migrations))
    triggers = re.findall(r"CREATE (?:CONSTRAINT )?TRIGGER (\w+)", migrations)
    constraint_names |= {new_names.get(trigger, trigger) for trigger in triggers}
    rows = [row for row in tables(ROOT / "docs" / "rules.md") if len(row) == 4]
    names = {name for row in rows for name in re.findall(r"`(\w+_\w+)`", row[3])}
    assert names and names <= constraint_names


PAGE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(r"`([\w.]+)`\s+\(`([\w/]+\.py)`\)")


def test_the_layers_are_those_that_import_linter_proves_and_no_import_leads_upwards() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert layers == list(LAYERS)
    order = [*LAYERS, LIBRARY]
    assert [pair for pair in imports() if order.index(pair[0]) > order.index(pair[1])] == []


def test_the_picture_is_drawn_from_the_imports() -> None:
    """``python tools/packages.py > docs/packages.svg`` draws it anew."""
    assert (ROOT / "docs" / "packages.svg").read_text() == drawing()
    assert {"work", "review", "qualification", "releases"} <= set(concepts("judging"))
    assert "migrations" not in concepts("judging")


def test_every_name_of_the_paths_is_defined_where_it_says() -> None:
    names = NAMED.findall(PAGE.read_text())
    assert len(names) > 30
    assert [(name, path) for name, path in names if name not in _defined(path)] == []


def _defined(path: str) -> set[str]:
    """Return what a module defines: functions, classes, constants, and ``Class.method`` and ``Class.constant``."""
    return set(_names_of(ast.parse((ROOT / path).read_text()).body, ""))


def _names_of(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _names_of(node.body, f"{node.name}.")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


CRON = re.compile(r"^(?:@\w+|(?:[\d*/,-]+ ){5}) *(.+)$", re.MULTILINE)
UNIT = re.compile(r"^Exec\w+=[-@:+!]*(.+)$", re.MULTILINE)
STARTED = re.compile(r"systemd-run (.+)")
OPTIONS = {"--uid", "--gid", "--unit", "--working-directory", "--property", "--setenv", "--slice", "--on-calendar"}


def named_in(text: str) -> Iterator[str]:
    """The program of each line of a crontab or a unit, and of each call of systemd-run."""
    text = text.replace("\\\n", " ")
    for line in [*CRON.findall(text), *UNIT.findall(text)]:
        yield shlex.split(line)[0]
    for call in STARTED.findall(text):
        words = iter(shlex.split(call))
        for word in words:
            if word in OPTIONS:
                next(words)
            elif not word.startswith("-"):
                yield word
                break


def test_what_cron_and_systemd_start_is_named_by_its_whole_path() -> None:
    texts = {str(block): block.text for block in blocks()}
    texts |= {path.name: path.read_text() for path in (ROOT / "docker" / "systemd").iterdir()}
    programs = {source: list(named_in(text)) for source, text in texts.items()}
    assert sum(map(len, programs.values())) > 5
    assert {source: names for source, names in programs.items() if any(name[0] != "/" for name in names)} == {}


FAULTS = ROOT / "docs" / "faults.md"
FOLDER = ROOT / "tests" / "production" / "faults"
TEST_NAMED = re.compile(r"`([\w/]+\.py)::([\w:]+)`")


def names_in(path: Path) -> Iterator[str]:
    """``test_it`` and ``TestClass::test_it`` of one file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))


def folder_tests() -> set[tuple[str, str]]:
    tests = ((path, name) for path in FOLDER.rglob("test_*.py") for name in names_in(path))
    return {(str(path.relative_to(ROOT)), name) for path, name in tests if name.rpartition("::")[2].startswith("test_")}


def page_tests() -> list[tuple[str, str]]:
    return TEST_NAMED.findall(FAULTS.read_text())


def test_every_fault_is_shown_by_a_test_that_exists_and_every_test_by_a_fault() -> None:
    assert folder_tests() == {entry for entry in page_tests() if entry[0].startswith("tests/production/faults/")}


def test_every_test_named_exists() -> None:
    tests = {test for page in pages() for test in TEST_NAMED.findall(page.read_text())}
    assert [f"{path}::{name}" for path, name in sorted(tests) if name not in set(names_in(ROOT / path))] == []


def test_every_row_says_when_what_happens_and_where_it_is_shown() -> None:
    rows = [row for row in tables(FAULTS) if row[0] != "fault"]
    assert rows
    for row in rows:
        assert len(row) == 4 and all(row), row
        assert TEST_NAMED.search(row[3]), row
