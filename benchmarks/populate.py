"""Fills an empty database with a project that has been judged for months, in seconds per million rows.

    MOMENTJUDGE_VAR=/some/folder python -m benchmarks.populate --pairs 1000000 --judgments 3000000 --annotators 200

The newest batches are open in every way a batch can be: new, begun, assigned to two people, left by a person whose time
ran out or who gave it back, escalated. All others are done. Every row obeys the rules; only the triggers are off while
they are written, so what these keep count of is counted afterwards. Prints a JSON line: the project, who may be set to
work, what was written.
"""

import json
import math
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import ROOT, arguments, command_of

if TYPE_CHECKING:
    from accounts.models import Project
    from benchmarks.database import Seeded

BATCH = 20  # pairs
MOMENTS = 10_000
FEWEST_OPEN, SHARE_OPEN = 300, 0.05  # of the batches
FREE_HANDS = 8  # annotators with a history who hold nothing: a benchmark sets them to work
OPEN_KINDS = {"held": 50, "begun": 20, "second": 20, "second_begun": 10, "lapsed": 20, "returned": 10}  # of the fewest
FEWEST_ANNOTATORS = 2 * OPEN_KINDS["held"] + FREE_HANDS  # each has one assignment at most
DAYS = 60  # ago the project began
SQL = Path(__file__).with_suffix(".sql").read_text()
SECTIONS = {name: text.split(";\n") for name, _, text in (part.partition("\n") for part in SQL.split("-- name: ")[1:])}
TABLES = [name for name in SECTIONS if name.startswith(("annotation_", "judging_"))]


@dataclass(frozen=True)
class Sizes:
    """How many batches there are, and how many of each done one's pairs were escalated."""

    batches: int
    open: int
    escalated: int

    @property
    def done(self) -> int:
        return self.batches - self.open

    def open_kinds(self) -> list[str]:
        """The kind of each open batch that is not new: what waits grows with the project, people at work do not."""
        times = self.open // FEWEST_OPEN
        counts = {kind: n if kind == "held" else n * times for kind, n in OPEN_KINDS.items()}
        return [kind for kind, n in counts.items() for _ in range(n)]


def sizes(*, pairs: int, judgments: int) -> Sizes:
    """Return sizes that give so many judgments or more, as far as four for each pair of a done batch allow.

    Raises:
        ValueError: the pairs make fewer batches than are left open.
    """
    batches = pairs // BATCH
    left_open = max(FEWEST_OPEN, round(batches * SHARE_OPEN))
    if batches <= left_open:
        raise ValueError(f"{pairs} pairs are too few: {left_open} batches of {BATCH} are left open")
    escalations = math.ceil((judgments / (batches - left_open) - 2 * BATCH) / 2)
    return Sizes(batches, left_open, min(BATCH, max(1, escalations)))


@dataclass(frozen=True)
class Populated:
    """The rows written, and who may be set to work."""

    project: str
    free_hands: list[str]
    rows: dict[str, int]
    seconds: float


def populated(var: Path, *, pairs: int, judgments: int, annotators: int) -> Populated:
    """Have the database of the data folder ``var`` filled by a process of its own: its settings name that folder.

    Raises:
        subprocess.CalledProcessError: it failed, as stderr says.
    """
    environment = {**os.environ, "MOMENTJUDGE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    sizes = {"pairs": pairs, "judgments": judgments, "annotators": annotators}
    command = command_of("benchmarks.populate", sizes)
    process = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Populated(**json.loads(process.stdout))


def populate(pairs: int, judgments: int, annotators: int) -> Populated:
    """Write all rows, and let PostgreSQL look at them as autovacuum would in time; the database holds no project yet.

    Raises:
        ValueError: too few pairs or annotators.
    """
    from django.db import connection

    began = time.monotonic()
    seeded, rows = fill(pairs, judgments, annotators)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")
    names = [user.username for user in seeded.annotators[-FREE_HANDS:]]
    return Populated(str(seeded.project.uuid), names, rows, round(time.monotonic() - began, 1))


def fill(pairs: int, judgments: int, annotators: int) -> "tuple[Seeded, dict[str, int]]":
    """Write all rows in one transaction; return the project, and how many of each table."""
    from django.db import connection, transaction

    from benchmarks import database
    from judging.work.services.batches import tallies_recount

    size = sizes(pairs=pairs, judgments=judgments)
    if annotators < FEWEST_ANNOTATORS:
        raise ValueError(f"{annotators} annotators are too few: {FEWEST_ANNOTATORS} have something to hold")
    with transaction.atomic(), connection.cursor() as cursor:
        seeded = database.ground_seed(annotators=annotators)
        database.benchmark_measure()
        rows = _write(cursor, seeded.project, [user.pk for user in seeded.annotators], size)
        cursor.execute("SET LOCAL session_replication_role = origin")
        tallies_recount(project=seeded.project)
        return seeded, rows


def queue_fill(queries: int) -> None:
    """Have the newest finished queries wait for a decision again."""
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        with transaction.atomic():
            for statement in SECTIONS["queue"]:
                cursor.execute(statement, {"queries": queries})
        cursor.execute("VACUUM (ANALYZE)")


def _write(cursor: Any, project: "Project", people: Sequence[int], size: Sizes) -> dict[str, int]:
    """Write all rows without the triggers that would check them; return how many of each table."""
    values = {
        **{"batch": BATCH, "batches": size.batches, "done": size.done, "escalated": size.escalated},
        **{"kinds": size.open_kinds(), "days": DAYS, "moments": MOMENTS},
        **{"people": list(people), "annotators": len(people), "busy": len(people) - FREE_HANDS},
        **{"project": project.pk, "guideline": project.guidelines.get().pk, "policy": project.policies.get().pk},
    }
    cursor.execute("SET LOCAL session_replication_role = replica")
    for statement in SECTIONS["setup"]:
        cursor.execute(statement, values)
    counts = {}
    for table in TABLES:
        cursor.execute(*SECTIONS[table], values)
        counts[table] = cursor.rowcount
    for table in TABLES:
        cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")
    return counts


def main() -> None:
    people = (200, f"at least {FEWEST_ANNOTATORS}")
    options = arguments(__doc__, pairs=1_000_000, judgments=3_000_000, annotators=people).parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    import django

    django.setup()
    print(json.dumps(asdict(populate(options.pairs, options.judgments, options.annotators))))


if __name__ == "__main__":
    main()
