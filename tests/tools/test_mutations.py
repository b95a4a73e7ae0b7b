"""The ledger of mutations fits the code as it is; ``make mutations`` runs it."""

from collections import Counter
from pathlib import Path

import pytest

from tools.mutations.run import ROOT, Entry, NotApplicable, apply, load

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
