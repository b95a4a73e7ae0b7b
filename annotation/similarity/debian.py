"""WordNet out of Debian's packages, without installing them."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from moment_retrieval.relevance.wordnet import WordNetMissing

PACKAGES = ("wordnet-base", "wordnet-sense-index")
FOLDER = Path("usr") / "share" / "wordnet"


def fetch(into: Path) -> list[Path]:
    """Download the packages into ``into``; no root is needed.

    Raises:
        WordNetMissing: there is no apt-get, or it cannot fetch them.
    """
    _run(["apt-get", "download", *PACKAGES], into)
    return sorted(into.glob("*.deb"))


def unpack(packages: Sequence[Path], into: Path) -> Path:
    """Unpack the packages below ``into``; the folder that then holds WordNet.

    Raises:
        WordNetMissing: there is no dpkg, or a file is no package.
    """
    for package in packages:
        _run(["dpkg", "-x", str(package.resolve()), str(into)], into)
    return into / FOLDER


def _run(command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise WordNetMissing(f"There is no {command[0]} here: name a folder that holds WordNet's files.")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WordNetMissing(f"`{' '.join(command)}` did not work: {done.stderr.strip()[-500:]}")
