"""manage.py export_corpus FORM CORPUS: a corpus in the forms of TVR and TVC."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.corpora.exporters import EXPORTS, check_export
from annotation.corpora.exporters.base import Selection
from annotation.models import Corpus

STDOUT = "-"


class Command(MomentJudgeCommand):
    help = (
        "Write a corpus in a form of TVR or TVC. The last line of output is JSON with the count of what was written, "
        "unless the file itself goes to standard output."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        labels = "; ".join(f"{form.name}: {form.label}" for form in EXPORTS.values())
        parser.add_argument("form", choices=sorted(EXPORTS), help=labels)
        parser.add_argument("corpus", help="name of the corpus")
        parser.add_argument("--out", required=True, metavar="FILE", help="the file to write; - is standard output")
        parser.add_argument("--split", default="", help="only videos of this source split; without it, all")
        parser.add_argument("--force", action="store_true", help="replace the file if it is there")
        parser.add_argument(
            "--first-clip-id", type=int, default=0, metavar="N", help="tvc: the first moment's number (default: 0)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        form = EXPORTS[options["form"]]
        if options["first_clip_id"] and form.name != "tvc":
            raise CommandError(f"--first-clip-id is of tvc; {form.name} numbers no clips.")
        if options["first_clip_id"] < 0:
            raise CommandError("--first-clip-id must be 0 or more.")
        corpus = row_named(Corpus.objects.all(), options["corpus"])
        selection = Selection(corpus, options["split"], options["first_clip_id"])
        check_export(form, selection)
        if options["out"] == STDOUT:
            for line in form.lines(selection):
                self.stdout.write(line, ending="")
            summary = None
        else:
            path = Path(options["out"])
            self._write(path, form.lines(selection), is_replaced=options["force"])
            summary = {form.noun: form.rows(selection).count(), "file": str(path)}
        if form.omitted and (n := form.omitted(selection).count()):
            self.stderr.write(f"Left out: {n:,} moment{'' if n == 1 else 's'} {form.omission}.")
        if summary:
            self.write_json(summary)

    def _write(self, path: Path, lines: Iterator[str], *, is_replaced: bool) -> None:
        """Write beside the file and rename: whoever reads it sees the old file or the new one, no half.

        Raises:
            CommandError: there is a file that may not be replaced, or something else of this name; the folder is
                missing or may not be written to.
        """
        path = path.resolve()  # a link stays one
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is no file. Name a file, or - for standard output.")
        if path.exists() and not is_replaced:
            raise CommandError(f"{path} is there already. Name another file, or replace it with --force.")
        unfinished = path.with_name(f".{path.name}.writing")
        try:
            with unfinished.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
            unfinished.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            unfinished.unlink(missing_ok=True)
