"""manage.py rewriting_report: words that stand for names, failed checks, and where two finders of names agree."""

import json
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.captions.ner import CORPUS, LEXICON, agreement, name_finder
from annotation.captions.rewriting.lexicon import Member, lexicon_for
from annotation.captions.rewriting.rules import rewrite
from annotation.captions.selectors import captions_report
from annotation.corpora.services.corpora import members_of
from annotation.models import Caption, Corpus, Description
from annotation.statistics.collection import replacement_lines
from annotation.statistics.rules import replacement_words

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
        parser.add_argument(
            "--finders", action="store_true", help="instead: where the finders corpus and lexicon agree on descriptions"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["finders"]:
            self._finders(options)
            return
        pairs = list(self._of_file(options) if options["file"] else self._of_corpus(options))
        self.stdout.write(replacement_lines(replacement_words(pairs), captions=len(pairs), top=options["top"]))
        if options["corpus"]:
            self._failures(options["corpus"])

    def _finders(self, options: dict[str, Any]) -> None:
        if options["file"]:
            rows, members = list(self._descriptions(options)), tuple[Member, ...]()
        else:
            corpus = row_named(Corpus.objects.all(), options["corpus"])
            descriptions = Description.objects.filter(corpus=corpus).order_by("pk")
            if options["kind"] != "all":
                descriptions = descriptions.filter(kind=options["kind"])
            rows = list(descriptions.values_list("text", "moment__video__name"))
            members = members_of(corpus.pk)
        texts, videos = [text for text, _ in rows], [video for _, video in rows]
        by_corpus = name_finder(CORPUS, texts=lambda: texts).find(texts, videos=videos)
        by_lexicon = name_finder(LEXICON, members=members).find(texts, videos=videos)
        result = agreement(by_corpus, by_lexicon, above=settings.CAPTION_NAME_SCORE_MAX)
        kappa = "undefined" if result.kappa is None else f"{result.kappa:.3f}"
        self.stdout.write(
            f"A name in {result.both:,} of {len(texts):,} descriptions by both finders, in {result.neither:,} by"
            f" neither: agreement {100 * (result.both + result.neither) / max(1, len(texts)):.2f} %, kappa {kappa}"
        )
        for name, words in ((CORPUS, result.first_alone), (LEXICON, result.second_alone)):
            most = ", ".join(f"{word or 'no word'} {n}" for word, n in words.most_common(options["top"]))
            self.stdout.write(f"{name} alone: {words.total():,}{': ' + most if most else ''}")

    def _of_file(self, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for text, video in self._descriptions(options):
            yield text, rewrite(text, lexicon_for(video=video))

    def _descriptions(self, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
        with options["file"].open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if options["kind"] in ("all", KINDS.get(row["type"])):
                    yield row["desc"], row["vid_name"]

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
