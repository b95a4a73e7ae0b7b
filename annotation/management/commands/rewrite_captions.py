"""manage.py rewrite_captions CORPUS: captions for the descriptions of a corpus."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.captions.selectors import captions_report
from annotation.captions.services.rewriting import rewriting_run, rewriting_start
from annotation.models import Corpus


class Command(MomentJudgeCommand):
    help = "Rewrite the descriptions of a corpus now; the last line of output is JSON with the report."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus")
        parser.add_argument("--provider", choices=["rules", "openai"], default="rules")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = row_named(Corpus.objects.all(), options["corpus"])
        rewriting = rewriting_start(corpus=corpus, provider=options["provider"], actor=None)
        rewriting_run(rewriting_id=rewriting.pk)
        rewriting.refresh_from_db()
        if rewriting.error:
            raise CommandError(rewriting.error)
        if not rewriting.finished_at:
            raise CommandError("Another process is rewriting this corpus; wait until it is done.")
        self.write_json(asdict(captions_report(corpus.pk)))
