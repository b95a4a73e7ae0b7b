"""manage.py import_label_studio FILE.json --project NAME: judgments from a Label Studio export."""

from argparse import FileType
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, add_lead_argument, names_of
from accounts.services.members import leads_named
from core.uploads import LineWarning, warnings_writer
from judging.imports.historic import project_holding
from judging.imports.label_studio import Mapped, mapped
from judging.imports.options import add_rules_options, rules_from
from judging.imports.services import export_read, export_store

LINES_SHOWN = 20


class Command(MomentJudgeCommand):
    help = "Import the judgments of a Label Studio export (JSON or JSON-MIN); the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", required=True, help="name of the project to make")
        parser.add_argument("--pair-field", default="", metavar="FIELD", help="field of the data with the pair number")
        parser.add_argument("--query-field", default="", metavar="FIELD", help="or: field that names the query")
        parser.add_argument("--moment-field", default="", metavar="FIELD", help="and the one that names the moment")
        parser.add_argument("--control", default="", help="name of the control with the grade, where there are several")
        parser.add_argument(
            "--grade",
            action="append",
            default=[],
            metavar="VALUE=GRADE",
            help="what a choice or rating means, as Perfect=4; without any, values are the grades",
        )
        add_rules_options(parser)
        add_lead_argument(parser)
        parser.add_argument("--skip-bad", action="store_true", help="import the rest where annotations are refused")
        parser.add_argument("--dry-run", action="store_true", help="read and check, store nothing")
        parser.add_argument(
            "--report", type=FileType("w", encoding="utf-8"), metavar="FILE", help="every warning as a line of CSV"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        fields = mapped(
            pair=options["pair_field"] or ("" if options["query_field"] else "pair_id"),
            query=options["query_field"],
            moment=options["moment_field"],
            control=options["control"],
            grades=options["grade"],
            rules=rules_from(options),
        )
        self.write_json(self._run(path, fields, options))

    def _run(self, path: Path, fields: Mapped, options: dict[str, Any]) -> dict[str, Any]:
        with path.open("rb") as source, options["report"] or nullcontext() as report:
            checked = export_read(source=source, mapped=fields, on_warning=self._warning_writer(report))
        project_holding(name=options["project"].strip(), digest=checked.digest, rules=checked.rules)
        if options["dry_run"]:
            self.stdout.write("Nothing was stored.")
            return checked.counts
        if (refused := checked.counts["refused"]) and not options["skip_bad"]:
            raise CommandError(f"{refused} annotations are refused; nothing was imported. See --skip-bad.")
        leads = leads_named(options["lead"])
        export_store(checked=checked, project_name=options["project"], leads=leads, actor=None)
        self.stdout.write(f"Lead of the project: {names_of(leads)}")
        return checked.counts

    def _warning_writer(self, report: IO[str] | None) -> Any:
        """Says the first ones, and writes all of them to the report."""
        write = warnings_writer(report) if report else None
        numbers = count(1)

        def write_warning(one: LineWarning) -> None:
            number = next(numbers)
            if number <= LINES_SHOWN:
                self.stderr.write(f"line {one.line}, {one.item}: {one.outcome}: {one.reason}")
            elif number == LINES_SHOWN + 1:
                self.stderr.write("... and more; --report FILE writes all of them")
            if write:
                write(one)

        return write_warning
