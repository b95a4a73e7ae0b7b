"""manage.py write_train_set PROJECT: a pseudo training set, in the published form and as Parquet."""

import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from annotation.models import TrainSet
from annotation.train_sets.models import TYPES
from annotation.train_sets.services import train_set_start, train_set_write


class Command(MomentJudgeCommand):
    help = (
        "Write each training query's top moments by similarity, as JSON and as Parquet. Stopped by Ctrl-C or killed, "
        "the same command goes on where it was. The last line of output is JSON with counts and checksums."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        parser.add_argument("--depth", type=int, default=40, metavar="N", help="moments for each query (default: 40)")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for copies of the files")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path | None = options["out"]
        project = project_named(options["project"])
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            row = train_set_start(project=project, depth=options["depth"], actor=None, wake=False)
            self._write(row)
            if folder:
                self._copy(row, folder)
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
        self.write_json(_facts(row))

    def _write(self, row: TrainSet) -> None:
        try:
            mine = train_set_write(train_set_id=row.pk, on_progress=self.stderr.write)
        except KeyboardInterrupt:
            raise CommandError("Stopped. The same command goes on here, and so does a running worker.") from None
        if not mine:
            raise CommandError("Another process is writing this set; its page shows how far it is.")
        try:
            row.refresh_from_db()
        except TrainSet.DoesNotExist:
            raise CommandError("The set was discarded while it was being written.") from None
        if row.warning:
            self.stderr.write(row.warning)
        if row.state != TrainSet.State.DONE:
            raise CommandError(f"{row.error} The same command goes on where it stopped.")

    def _copy(self, row: TrainSet, folder: Path) -> None:
        for form in TYPES:
            path = folder / f"{row.name}.{form}"
            unfinished = path.with_name(f".{path.name}.writing")
            with getattr(row, form).open("rb") as source, unfinished.open("wb") as target:
                shutil.copyfileobj(source, target, 2**20)
            unfinished.replace(path)
            self.stderr.write(f"{path}")


def _facts(row: TrainSet) -> dict[str, Any]:
    counts = {"queries": row.queries, "moments": row.moments, "rows": row.rows}
    return counts | {
        form: {"bytes": getattr(row, f"{form}_bytes"), "sha256": getattr(row, f"{form}_sha256")} for form in TYPES
    }
