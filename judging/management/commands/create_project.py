"""manage.py create_project NAME: a project over an imported corpus."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.exceptions import MomentJudgeError
from annotation.management.draws import add_draw_arguments, say_what_is_unwritten, sizes_unless
from annotation.models import Corpus
from annotation.services.members import leads_named
from judging.services.projects import project_create


class Command(BaseCommand):
    help = "Make a project over an imported corpus and draw its queries; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--corpus", required=True, help="name of the imported corpus")
        add_draw_arguments(parser)
        parser.add_argument("--no-queries", action="store_true", help="draw them later, by page or with draw_queries")
        parser.add_argument("--lead", action="append", default=[], metavar="USERNAME", help="who leads the project")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = Corpus.objects.filter(name=options["corpus"]).first()
        if corpus is None:
            known = ", ".join(repr(name) for name in Corpus.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no corpus named {options['corpus']!r}; there are: {known}.")
        sizes = sizes_unless(options)
        if sizes is not None:
            say_what_is_unwritten(corpus.pk, options, self.stderr, only_say=False)
        try:
            leads = leads_named(options["lead"])
            _, counts = project_create(
                name=options["name"], corpus=corpus, sizes=sizes, seed=options["seed"], leads=leads
            )
        except MomentJudgeError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(counts))
