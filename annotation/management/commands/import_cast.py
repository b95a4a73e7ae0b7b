"""manage.py import_cast CORPUS FILE: names of a corpus' people, as CSV."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.captions.rewriting.lexicon import read_members
from annotation.corpora.services.corpora import cast_import
from annotation.models import Corpus


class Command(MomentJudgeCommand):
    help = "Add a cast list to a corpus; a name it holds already is replaced. docs/data-formats.md says how it looks."

    known_errors = (ValueError,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = row_named(Corpus.objects.all(), options["corpus"])
        with options["file"].open(encoding="utf-8-sig") as lines:
            members = list(read_members(lines))
        self.stdout.write(f"{cast_import(corpus=corpus, members=members, actor=None)} names.")
