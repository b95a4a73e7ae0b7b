"""The ledger of mutations fits the code as it is; ``make mutations`` runs it."""

from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import cast

import pytest

from core.embedded.postgres import Postgres
from tools.mutations.run import (
    ARGUED,
    BROKEN,
    FAULTS,
    HANGS,
    KILLED,
    LATE,
    NO_SERVER,
    ROOT,
    SURVIVED,
    TIMED_OUT,
    Copy,
    Entry,
    NotApplicable,
    apply,
    load,
    outcome_of,
    run_tests,
)

LEDGER = load()


@pytest.mark.parametrize("entry", LEDGER, ids=lambda entry: f"{entry['name']}: {entry['new'][:40]}")
def test_an_entry_applies_and_its_tests_are_there(entry: Entry) -> None:
    path, text = apply(entry)
    compile(text, path, "exec", dont_inherit=True)
    assert text != path.read_text()
    assert entry["tests"] and [file for file in entry["tests"] if not (ROOT / file).is_file()] == []


def test_eight_areas_have_their_share_and_no_entry_is_there_twice() -> None:
    counts = Counter(entry["area"] for entry in LEDGER)
    assert counts.total() == 120
    assert len(counts) == 8 and min(counts.values()) >= 10
    assert len({(entry["name"], entry["old"], entry["new"]) for entry in LEDGER}) == len(LEDGER)


MODULE = """
LIMIT = 1


class Box:
    @property
    def size(self) -> int:
        return LIMIT


def size() -> int:
    return LIMIT + LIMIT
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "core" / "boxes"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(MODULE)
    return tmp_path


def entry(name: str, old: str, new: str) -> Entry:
    return Entry(area="rules", name=name, old=old, new=new, tests=[], argument="")


def test_the_text_is_looked_for_inside_the_named_object(root: Path) -> None:
    path, text = apply(entry("core.boxes.Box.size", "LIMIT", "2"), root)
    assert path == root / "core/boxes/__init__.py"
    assert text == MODULE.replace("        return LIMIT", "        return 2")
    assert "@" not in apply(entry("core.boxes.Box.size", "@property", ""), root)[1]
    assert "LIMIT = 2" in apply(entry("core.boxes", "LIMIT = 1", "LIMIT = 2"), root)[1]


@pytest.mark.parametrize(
    ("name", "old", "reason"),
    [
        ("core.boxes.size", "LIMIT", "occurs 2 times"),
        ("core.boxes.size", "self", "occurs 0 times"),
        ("core.boxes.Box.weight", "LIMIT", "weight is not defined"),
        ("core.crates.size", "LIMIT", "no such module"),
    ],
)
def test_what_no_longer_applies_is_an_error(root: Path, name: str, old: str, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        apply(entry(name, old, "2"), root)


FAILURE = "FAILED tests/test_box.py::test_size - assert 2 == 1\n1 failed in 0.1s"
SLOW_TEST = "E   Failed: Timeout (>60.0s) from pytest-timeout.\nFAILED tests/test_box.py::test_size"


@pytest.mark.parametrize(
    ("status", "output", "outcome"),
    [
        (0, "3 passed", SURVIVED),
        (5, "no tests ran", SURVIVED),
        (1, FAILURE, KILLED),
        (1, "ERROR tests/test_box.py - NameError: name 'LIMIT'", KILLED),
        (1, "", BROKEN),
        (2, "ERROR tests/test_box.py\n!!! Interrupted: 1 error during collection !!!", BROKEN),
        (3, "INTERNALERROR> FAILED", BROKEN),
        (4, "ERROR: file or directory not found: tests/test_crate.py", BROKEN),
        (-9, "", BROKEN),
        (NO_SERVER, FAILURE, BROKEN),
        (LATE, "", TIMED_OUT),
        (1, SLOW_TEST, TIMED_OUT),
    ],
)
def test_only_a_test_that_fails_kills(status: int, output: str, outcome: str) -> None:
    mutation = entry("core.boxes.size", "LIMIT", "2")
    assert outcome_of(mutation, status, output)[0] == outcome
    assert (outcome in FAULTS) == (outcome != KILLED)


def test_a_mutation_may_survive_or_hang_where_its_entry_gives_the_reason() -> None:
    mutation = entry("core.boxes.size", "LIMIT", "2")
    mutation |= {"argument": "no box is that large", "hangs": "the loop never ends"}
    outcomes = [
        outcome_of(mutation, 0, "")[0],
        outcome_of(mutation, LATE, "")[0],
        outcome_of(mutation, 1, SLOW_TEST)[0],
    ]
    assert outcomes == [ARGUED, HANGS, HANGS]
    assert not FAULTS & {ARGUED, HANGS}


@pytest.mark.parametrize("leaves", [True, False])
def test_a_server_that_ended_while_tests_ran_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    """Its errors say nothing about the mutation."""
    servers = iter(["server", None if leaves else "server"])
    postgres = cast(Postgres, SimpleNamespace(server=lambda: next(servers)))
    completed = CompletedProcess([], 1, stdout=FAILURE)
    monkeypatch.setattr("tools.mutations.run.subprocess.run", lambda *words, **options: completed)
    assert run_tests(Copy(tmp_path, postgres), [], limit_s=1) == (NO_SERVER if leaves else 1, FAILURE)
