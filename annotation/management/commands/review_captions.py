"""manage.py review_captions PROJECT: captions in review as CSV, and what people decided about them in it."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named, staff_named
from accounts.models import Project, User
from annotation.captions.selectors import captions_in_review
from annotation.captions.services.captions import caption_accept, caption_edit
from annotation.models import Caption
from core.exceptions import NotPossible
from core.lists import csv_write, plain

COLUMNS = ["caption", "description", "wording", "failed", "decision"]
DECISIONS = ("accept", "edit")


class Command(MomentJudgeCommand):
    help = (
        "Write the captions in review as CSV (--out), or store the decisions of such a file (--decisions, --as): accept"
        " takes the wording as it was proposed, edit as it stands in the file, an empty decision leaves it. The last"
        " line of output is JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="name of the project")
        group = parser.add_mutually_exclusive_group(required=True)
        group.add_argument("--out", type=Path, metavar="FILE")
        group.add_argument("--decisions", type=Path, metavar="FILE")
        parser.add_argument("--as", dest="username", metavar="USERNAME", help="the lead or admin who decided")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        if options["out"]:
            summary = {"written": _write(project, options["out"])}
        else:
            summary = self._decide(project, staff_named(project, options["username"]), options["decisions"])
        self.write_json(summary)

    def _decide(self, project: Project, actor: User, path: Path) -> dict[str, int]:
        try:
            rows = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(keepends=True))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read: {error}") from error
        if not set(COLUMNS) <= set(rows.fieldnames or ()):
            raise CommandError(f"The file lacks columns; it needs {', '.join(COLUMNS)}.")
        counts = Counter(dict.fromkeys([*DECISIONS, "left", "refused"], 0))
        for row in rows:
            decision = (row["decision"] or "").strip().lower()
            try:
                _take(project, actor, decision, row)
            except NotPossible as error:
                self.stderr.write(f"line {rows.line_num}: {error}")
                decision = "refused"
            counts[decision or "left"] += 1
        return dict(counts)


def _write(project: Project, path: Path) -> int:
    waiting = list(captions_in_review(project.dataset.corpus_id))
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = ([row.uuid, row.description.sentence, row.text, " ".join(row.failed), ""] for row in waiting)
        csv_write(file, COLUMNS, rows)
    return len(waiting)


def _take(project: Project, actor: User, decision: str, row: dict[str, str]) -> None:
    """Store one line's decision; those in a file were made by the same rules as on the page. Raises NotPossible where
    the decision or the caption is unknown, or it was decided before."""
    if not decision:
        return
    if decision not in DECISIONS:
        raise NotPossible(f"A decision is one of {', '.join(DECISIONS)}, not {decision!r}.")
    try:
        caption = Caption.objects.filter(description__corpus=project.dataset.corpus_id).get(uuid=row["caption"])
    except (Caption.DoesNotExist, ValidationError) as error:
        raise NotPossible(f"There is no caption {row['caption']!r} in the corpus.") from error
    if decision == "accept":
        caption_accept(project=project, caption=caption, actor=actor)
    else:
        caption_edit(project=project, caption=caption, text=plain(row["wording"] or ""), actor=actor)
