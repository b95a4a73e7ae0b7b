"""A benchmark beside another revision, in a repository of two commits."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import common

SCRIPT = """
import json, sys
print("not a figure")
print(json.dumps({{"pace": {pace}, "words": sys.argv[1:]}}))
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first commit has pace 2, the tree pace 3; both lock the same packages."""
    root = tmp_path / "repository"
    (root / "requirements").mkdir(parents=True)
    for name in ("base.lock", "dev.lock"):
        (root / "requirements" / name).write_text("numpy\n")
    (root / "figure.py").write_text(SCRIPT.format(pace=2))
    own = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "--quiet"], ["add", "."], [*own, "commit", "--quiet", "--message", "one"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "figure.py").write_text(SCRIPT.format(pace=3))
    monkeypatch.setattr(common, "ROOT", root)
    return root


def test_both_sides_run_in_turns_and_the_ratio_is_of_the_medians(
    repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = common.compare("HEAD", "figure.py", ["--all"], rounds=3, ratios={"pace": (0, "pace")})
    assert result["ratio"] == {"pace": 1.5}
    assert result["medians"] == {"here": {"pace": 3}, "there": {"pace": 2}}
    assert result["here"] == [[{"pace": 3, "words": ["--all", "--json"]}]] * 3
    turns = [line.rpartition(" ")[2] for line in capfd.readouterr().err.splitlines() if line.startswith("Round")]
    assert turns == ["there", "here", "here", "there", "there", "here"]
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True)
    assert len(worktrees.stdout.splitlines()) == 1


def test_a_benchmark_that_fails_is_an_error(repository: Path) -> None:
    (repository / "figure.py").write_text("raise SystemExit(1)")
    with pytest.raises(subprocess.CalledProcessError):
        common.compare("HEAD", "figure.py", [], rounds=1, ratios={"pace": (0, "pace")})
