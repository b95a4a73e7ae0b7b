"""manage.py import_cast CORPUS FILE: names of a corpus' people, as CSV."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.captions.rewriting.lexicon import read_members
from annotation.corpora.services.corpora import cast_import
from annotation.models import Corpus


class Command(BaseCommand):
    help = "Add a cast list to a corpus; a name it holds already is replaced. docs/data-formats.md says how it looks."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = Corpus.objects.filter(name=options["corpus"]).first()
        if corpus is None:
            raise CommandError(f"There is no corpus named {options['corpus']!r}.")
        try:
            with options["file"].open(encoding="utf-8-sig") as lines:
                members = list(read_members(lines))
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{cast_import(corpus=corpus, members=members, actor=None)} names.")
