"""The library installs by itself: a wheel that holds nothing else, beside numpy and no other package."""

import re
import subprocess
import sys
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from moment_retrieval import __version__
from moment_retrieval.cli import COMMANDS

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^\$ moment-retrieval (score .+)\n((?:(?!```).*\n)+)", re.MULTILINE)
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from links to all that git tracks, so that nothing is left in the tree."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in tracked.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).symlink_to(ROOT / name)
    subprocess.run([*PIP, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder, source], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it where numpy is and nothing else."""
    folder = tmp_path_factory.mktemp("numpy_alone")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    numpy = Path(str(find_spec("numpy").origin)).parent  # type: ignore[union-attr]
    for path in numpy.parent.glob("numpy*"):
        (packages / path.name).symlink_to(path)
    install = ["--python", str(folder / "bin" / "python"), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*PIP, *install], check=True)
    return folder / "bin" / "moment-retrieval"


def test_the_wheel_holds_the_library_alone(wheel: Path) -> None:
    assert wheel.name == f"moment_retrieval-{__version__}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {name.partition("/")[0] for name in names} == {
        "moment_retrieval",
        f"moment_retrieval-{__version__}.dist-info",
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert project["dependencies"] == ["numpy>=1.26"]
    required = {f'{package}; extra == "{extra}"' for extra, packages in extras.items() for package in packages}
    assert values(metadata, "Requires-Dist") == {"numpy>=1.26", *required}
    assert values(metadata, "Provides-Extra") == set(extras) == {"formats", "relevance", "train"}


def values(metadata: str, field: str) -> set[str]:
    return {line.partition(": ")[2] for line in metadata.splitlines() if line.startswith(f"{field}:")}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_needs_numpy_alone(program: Path, tmp_path: Path, command: str) -> None:
    start = [program.with_name("python"), "-m", "moment_retrieval", *command.split(), "--help"]
    result = subprocess.run(start, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"usage: moment-retrieval {command}".rstrip())


def test_scores_where_numpy_is_and_names_the_extra_that_is_missing(program: Path, tmp_path: Path) -> None:
    """The example of README, from another folder's Python."""
    match = EXAMPLE.search((ROOT / "README.md").read_text())
    assert match
    command, output = match.groups()
    result = subprocess.run([program, *command.split()], cwd=ROOT, check=True, capture_output=True, text=True)
    assert result.stdout.strip() == output.strip()
    result = subprocess.run([program, "train", tmp_path], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (
        2,
        "error: torch is not installed: pip install 'moment-retrieval[train]'\n",
    )
