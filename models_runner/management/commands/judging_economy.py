"""manage.py judging_economy PROJECT: how the ranking of a release's runs holds with fewer judgments."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from core.lists import csv_write
from models_runner.leaderboard.rules import ECONOMY_COLUMNS, NUMBERS, rows_of, table_rows
from models_runner.leaderboard.selectors.leaderboard import SPLITS, filters_of_query
from models_runner.leaderboard.services.economy import lacking, study_create, study_work
from models_runner.models import EconomyStudy

HEAD = f"{'judged':<62}{'judgments':>10}{'pairs':>8}{'tau':>8}{'low':>8}{'high':>8}{'change':>8}"


class Command(MomentJudgeCommand):
    help = "Leave judgments of a release out and rank its runs again; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        parser.add_argument("--release", default="", help="its version (default: the newest that is ready)")
        parser.add_argument("--split", choices=SPLITS, default="", help="default: test where it is judged")
        parser.add_argument("--measure", default="", help="printed; the file holds all (default: the first)")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write every cut, measure and run here")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        filters = filters_of_query(project, {"release": str(options["release"]), "split": options["split"]})
        if filters is None:
            raise CommandError("The project has no release that is ready.")
        split = options["split"] or filters.split
        study = study_create(release=filters.release, split=split, actor=None, wake=False)
        if missing_parts := lacking(filters.release):
            self.stderr.write(f"The release holds no {' and no '.join(missing_parts)}: only halves are studied.")
        study_work(study_id=study.pk)
        study.refresh_from_db()
        if study.state != EconomyStudy.State.DONE:
            raise CommandError(study.error)
        self._print(study, options)

    def _print(self, study: EconomyStudy, options: dict[str, Any]) -> None:
        measures: list[str] = study.result["measures"]
        measure = options["measure"] or measures[0]
        if measure not in measures:
            raise CommandError(f"There is no measure {measure!r}; there are: {', '.join(measures)}.")
        self.stdout.write(f"{measure}, {len(study.result['runs'])} runs\n{HEAD}")
        for row in rows_of(study.result, measures.index(measure)):
            cells = "".join(f"{'' if row[name] is None else f'{row[name]:.3f}':>8}" for name in NUMBERS)
            self.stdout.write(f"{row['words']:<62}{row['judgments'] or '':>10}{row['pairs']:>8}{cells}")
        if options["csv"]:
            with options["csv"].open("w", newline="", encoding="utf-8") as target:
                csv_write(target, ECONOMY_COLUMNS, table_rows(study.result))
        tau = {cutoff["name"]: dict(zip(measures, cutoff["tau"], strict=True)) for cutoff in study.result["cuts"]}
        self.write_json({"measures": measures, "tau": tau})
