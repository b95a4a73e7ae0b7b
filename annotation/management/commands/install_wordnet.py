"""manage.py install_wordnet: WordNet out of Debian's packages, where the similarities that need it find it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand
from annotation.similarity.registry import nltk_data, wordnet
from moment_retrieval.relevance.wordnet import WordNetMissing, install, lacking

PACKAGES = ("wordnet-base", "wordnet-sense-index")
FOLDER = Path("usr") / "share" / "wordnet"


def fetch(into: Path) -> list[Path]:
    """Download the packages into ``into``; no root is needed. Raises WordNetMissing where there is no apt-get, or it
    cannot fetch them."""
    _run(["apt-get", "download", *PACKAGES], into)
    return sorted(into.glob("*.deb"))


def unpack(packages: Sequence[Path], into: Path) -> Path:
    """Unpack the packages below ``into``; the folder that then holds WordNet. Raises WordNetMissing where there is no
    dpkg, or a file is no package."""
    for package in packages:
        _run(["dpkg", "-x", str(package.resolve()), str(into)], into)
    return into / FOLDER


def _run(command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise WordNetMissing(f"There is no {command[0]} here: name a folder that holds WordNet's files.")
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if process.returncode:
        raise WordNetMissing(f"`{' '.join(command)}` did not work: {process.stderr.strip()[-500:]}")


class Command(MomentJudgeCommand):
    help = "Copy WordNet's files into the data folder, for the similarities pos, synset and meteor."
    known_errors = (WordNetMissing,)

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group()
        source.add_argument(
            "--from", dest="folder", type=Path, default=settings.WORDNET, help="folder that holds them (%(default)s)"
        )
        source.add_argument(
            "--deb", dest="packages", type=Path, nargs="+", metavar="FILE", help=f"files of {' and '.join(PACKAGES)}"
        )
        source.add_argument(
            "--download", action="store_true", help="fetch these packages by apt-get, without installing them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with TemporaryDirectory(prefix="momentjudge-wordnet-") as temporary_folder:
            installed = install(self._source(options, Path(temporary_folder)), nltk_data())
        database = wordnet()
        self.stdout.write(f"WordNet {database.version} is in {installed}.")

    def _source(self, options: dict[str, Any], temporary_folder: Path) -> Path:
        packages = fetch(temporary_folder) if options["download"] else options["packages"]
        if packages:
            return unpack(packages, temporary_folder)
        folder: Path = options["folder"]
        if lacking(folder):
            raise CommandError(
                f"WordNet is not in {folder}. Either install Debian's packages (apt-get install {' '.join(PACKAGES)}),"
                " or name its folder (--from), the packages' files (--deb), or let apt-get fetch them (--download)."
            )
        return folder
