"""tools/size.py counts what a person would."""

from pathlib import Path

from tools.size import measured


def test_a_small_tree_by_hand(tmp_path: Path) -> None:
    for name, lines in {
        "core/__init__.py": 0,
        "core/clock.py": 80,
        "judging/urls.py": 10,
        "judging/work/rules.py": 59,
        "judging/migrations/0001_initial.py": 500,
        "tests/test_rules.py": 1000,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n" * lines)
    assert measured(tmp_path) == {
        "modules": 3,
        "median": 59,
        "short": 1,
        "longest": {"path": "core/clock.py", "lines": 80},
        "lines": 649,
    }
