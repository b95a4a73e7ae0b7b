"""manage.py rewriting_report: the words that stand for names, and which checks failed."""

import json
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.rules import rewrite
from annotation.captions.selectors import captions_report
from annotation.models import Caption, Corpus
from annotation.statistics.rules import replacement_words, table

KINDS = {"v": "video", "t": "subtitle", "vt": "both"}


class Command(MomentJudgeCommand):
    help = "Print the top replacement words of a corpus' captions, or of an annotation file of TVR under the rules."

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--corpus", help="name of a corpus: its captions as they are")
        source.add_argument(
            "--file", type=_file, help="JSON lines with desc, type and vid_name: as the rules rewrite them"
        )
        parser.add_argument("--kind", choices=[*KINDS.values(), "all"], default="video")
        parser.add_argument("--top", type=int, default=20)

    def handle(self, *args: Any, **options: Any) -> None:
        pairs = list(self._of_file(options) if options["file"] else self._of_corpus(options))
        self.stdout.write(table(replacement_words(pairs), captions=len(pairs), top=options["top"]))
        if options["corpus"]:
            self._failures(options["corpus"])

    def _of_file(self, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
        with options["file"].open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if options["kind"] in ("all", KINDS.get(row["type"])):
                    yield row["desc"], rewrite(row["desc"], lexicon_for(video=row["vid_name"]))

    def _of_corpus(self, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
        captions = Caption.objects.filter(description__corpus=row_named(Corpus.objects.all(), options["corpus"]))
        captions = captions.exclude(provider=Caption.Provider.AS_DESCRIBED)
        if options["kind"] != "all":
            captions = captions.filter(description__kind=options["kind"])
        yield from captions.order_by("pk").values_list("description__text", "text").iterator()

    def _failures(self, name: str) -> None:
        report = captions_report(Corpus.objects.get(name=name).pk)
        share = Counter({row.label: row.first for row in report.checks})
        for label, n in share.most_common():
            self.stdout.write(f"{label}: {n} failed at first ({100 * n / max(1, report.rewritten):.2f} %)")
        self.stdout.write(
            f"{report.redone} redone, {report.waiting} wait for a person, {report.accepted_by_people} accepted,"
            f" {report.edited} edited and {report.rejected} rejected by people; {report.tokens} tokens,"
            f" {report.cost_usd:.2f} USD"
        )


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ArgumentTypeError(f"there is no file {text}")
    return path
