"""Fills an empty database with a project that has been judged for months, in seconds per million rows.

    MOMENTJUDGE_VAR=/some/folder python -m benchmarks.populate --pairs 1000000 --judgments 3000000 --annotators 200

The newest batches are open in every way a batch can be: new, begun, in two people's hands, left by somebody whose time
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
FEWEST_ANNOTATORS = 2 * OPEN_KINDS["held"] + FREE_HANDS  # nobody holds two
DAYS = 60  # ago the project began

# What becomes of a batch (round, free seats, begun) and of its seats (round, seat, state, pairs graded; null: all)
KINDS = """
CREATE TEMP TABLE kind (kind text, round int, free_seats int, begun bool);
INSERT INTO kind VALUES ('done', 2, 0, true), ('held', 1, 0, true), ('begun', 1, 1, true), ('second', 2, 2, false),
    ('second_begun', 2, 1, true), ('lapsed', 1, 2, true), ('returned', 1, 2, true), ('new', 1, 2, false);
CREATE TEMP TABLE kind_seat (kind text, round int, seat int, state text, graded int);
INSERT INTO kind_seat VALUES
    ('done', 1, 1, 'finished', null), ('done', 1, 2, 'finished', null),
    ('done', 2, 1, 'finished', null), ('done', 2, 2, 'finished', null),
    ('held', 1, 1, 'open', 10), ('held', 1, 2, 'open', 10),
    ('begun', 1, 1, 'finished', null),
    ('second', 1, 1, 'finished', null), ('second', 1, 2, 'finished', null),
    ('second_begun', 1, 1, 'finished', null), ('second_begun', 1, 2, 'finished', null),
    ('second_begun', 2, 1, 'finished', null),
    ('lapsed', 1, 1, 'lapsed', 7), ('returned', 1, 1, 'returned', 12);
"""
PLAN = (
    """
CREATE TEMP TABLE laid AS
SELECT i, kind.*, now() - %(days)s * interval '1 day' * (1 - i / (%(batches)s + 1.0)) AS at
FROM generate_series(1, %(batches)s) AS i
JOIN kind ON kind.kind = coalesce((%(kinds)s::text[])[i - %(done)s],
    CASE WHEN i > %(done)s THEN 'new' ELSE 'done' END)""",
    "ANALYZE laid",
)
# Four different people sit at a done batch, in changing company; each holder of an open seat holds only that one.
SLOTS = (
    """
CREATE TEMP TABLE seated AS
SELECT row_number() OVER (ORDER BY laid.i, place.round, place.seat) AS id, laid.i,
    laid.at + place.round * interval '1 hour' AS at, place.round, place.seat, place.state, asked,
    coalesce(place.graded, asked) AS graded,
    (%(people)s::bigint[])[1 + CASE WHEN laid.kind = 'held' THEN (2 * laid.i + place.seat) %% %(busy)s
        ELSE (laid.i + (2 * place.round + place.seat - 3) * (1 + laid.i / %(annotators)s %% (%(annotators)s / 4 - 1)))
            %% CASE WHEN laid.kind = 'done' THEN %(annotators)s ELSE %(busy)s END END] AS annotator
FROM laid JOIN kind_seat place ON place.kind = laid.kind
CROSS JOIN LATERAL (SELECT CASE place.round WHEN 1 THEN %(batch)s ELSE %(escalated)s END AS asked) AS size
WHERE asked > 0""",
    "ANALYZE seated",
)
ROWS = {
    "annotation_moment": """
INSERT INTO annotation_moment (uuid, video_id, start_s, end_s, preview, preview_clip, preview_uuid, preview_state,
    preview_error)
SELECT gen_random_uuid(), video_id, 5 * i, 5 * i + 5, preview, '', gen_random_uuid(), 'ready', ''
FROM generate_series(1000, 999 + %(moments)s) AS i, (SELECT video_id, preview FROM annotation_moment LIMIT 1) AS one""",
    "annotation_query": """
INSERT INTO annotation_query (id, uuid, project_id, number, text, split, is_placeholder, created_at)
SELECT i, gen_random_uuid(), %(project)s, i, 'Someone does thing number ' || i || '.', 'test', false, at FROM laid""",
    "annotation_candidate": """
INSERT INTO annotation_candidate (id, query_id, moment_id, rank, similarity, measure_id, source, wordings)
SELECT (i - 1) * %(batch)s + rank, i, first + (i * 7 + rank) %% %(moments)s, rank, 1 - rank / 100.0,
    (SELECT id FROM annotation_measure WHERE name = 'benchmark'), 'similarity', '{}'
FROM laid, generate_series(1, %(batch)s) AS rank,
    (SELECT max(id) - %(moments)s + 1 AS first FROM annotation_moment) AS moment""",
    "judging_batch": """
INSERT INTO judging_batch (id, uuid, project_id, query_id, number, round, state, priority, is_paused, is_pilot,
    free_seats, begun, created_at, done_at)
SELECT i, gen_random_uuid(), %(project)s, i, 1, round, CASE kind WHEN 'done' THEN 'done' ELSE 'open' END, 0, false,
    false, free_seats, begun, at, CASE kind WHEN 'done' THEN at + interval '1 day' END FROM laid""",
    "judging_batchreview": """
INSERT INTO judging_batchreview (batch_id, decision, suggestion, reason, decided_at)
SELECT i, 'close', 'close', '', at + interval '2 days' FROM laid WHERE kind = 'done'""",
    "judging_pair": """
INSERT INTO judging_pair (id, uuid, batch_id, candidate_id, state, relevance, reason)
SELECT (i - 1) * %(batch)s + rank, gen_random_uuid(), i, (i - 1) * %(batch)s + rank,
    CASE WHEN kind = 'done' THEN 'settled' WHEN round = 1 THEN 'open' WHEN rank <= %(escalated)s THEN 'escalated'
        ELSE 'settled' END,
    CASE WHEN kind = 'done' AND rank <= %(escalated)s THEN 2 WHEN kind = 'done' OR (round = 2 AND rank > %(escalated)s)
        THEN (i + rank) %% 5 END, ''
FROM laid, generate_series(1, %(batch)s) AS rank""",
    "judging_assignment": """
INSERT INTO judging_assignment (id, uuid, project_id, batch_id, round, seat, annotator_id, state, shuffle_seed,
    pair_ids, gold_ids, expires_at, created_at, ended_at)
SELECT id, gen_random_uuid(), %(project)s, i, round, seat, annotator, state, id,
    ARRAY(SELECT (i - 1) * %(batch)s + (place + i * 7) %% asked + 1
        FROM generate_series(0, asked - 1) AS place ORDER BY place), '{}',
    CASE state WHEN 'open' THEN now() + interval '10 days' ELSE at + interval '20 minutes' END, at,
    CASE WHEN state <> 'open' THEN at + interval '20 minutes' END
FROM seated""",
    "judging_judgment": """
INSERT INTO judging_judgment (uuid, pair_id, assignment_id, annotator_id, occurrence, round, seat, grade, revision,
    position, previous_grade, comment, active_ms, source, guideline_id, policy_id, created_at)
SELECT gen_random_uuid(), (i - 1) * %(batch)s + rank, id, annotator, 0, round, seat,
    CASE WHEN rank > %(escalated)s THEN (i + rank) %% 5 WHEN round = 2 THEN 2 ELSE 4 * (seat - 1) END, 0, place + 1,
    CASE WHEN place > 0 THEN 2 END, '', 1000 + i * 37 %% 30000,
    'person', %(guideline)s, %(policy)s, at + place * interval '7 seconds'
FROM seated, generate_series(0, graded - 1) AS place, LATERAL (SELECT (place + i * 7) %% asked + 1 AS rank) AS shown""",
}

QUEUE = (  # the newest finished queries wait again, with twenty candidates for a second batch
    """
CREATE TEMP TABLE queued AS SELECT id, query_id FROM judging_batch
WHERE state = 'done' AND number = 1 ORDER BY done_at DESC LIMIT %(queries)s""",
    "SET LOCAL session_replication_role = replica",  # candidates join frozen lists
    """
INSERT INTO annotation_candidate (query_id, moment_id, rank, similarity, measure_id, source, wordings)
SELECT query_id, moment.first + (query_id * 7 + rank) %% moment.n, rank, 1 - rank / 100.0,
    (SELECT id FROM annotation_measure WHERE name = 'benchmark'), 'similarity', '{}'
FROM queued, generate_series(21, 40) AS rank,
    (SELECT max(id) - 9999 AS first, 10000 AS n FROM annotation_moment) AS moment""",
    "SET LOCAL session_replication_role = origin",
    "DELETE FROM judging_batchreview WHERE batch_id IN (SELECT id FROM queued)",
)


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
            for statement in QUEUE:
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
    cursor.execute(KINDS)
    for statement in (*PLAN, *SLOTS):
        cursor.execute(statement, values)
    counts = {}
    for table, statement in ROWS.items():
        cursor.execute(statement, values)
        counts[table] = cursor.rowcount
    for table in ROWS:
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
