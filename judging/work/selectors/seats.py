"""Which batch an annotator is handed next, and which seat of it.

Order: the lead's priority, escalated pairs, batches that somebody has begun, new ones; among the nearest of those,
the one begun by whom the annotator has shared the fewest of their latest batches with, so that agreement can be
told of every two; then the oldest. Paused query sets are left out.
"""

from django.db import connection
from django.db.models import F

from judging.models import Assignment
from judging.work.rules import AskedPair

WINDOW = 200  # batches of each kind looked at first, so that a taker does not wade through all they know
NEAREST = 50  # batches compared by whom they would be shared with
LATEST = 200  # of the annotator's assignments say whom they shared with

TO_BE_TAKEN = """
WITH nearest AS MATERIALIZED (
    SELECT near.id, near.priority, near.round, near.begun
    FROM (VALUES (1), (0), (-1)) priorities (priority)
    CROSS JOIN (VALUES (2, true), (2, false), (1, true), (1, false)) kinds (round, begun)
    CROSS JOIN LATERAL (
        SELECT batch.id, batch.priority, batch.round, batch.begun FROM judging_batch batch
        WHERE batch.project_id = %(project)s AND batch.state = 'open' AND NOT batch.is_paused
            AND batch.free_seats > 0 AND batch.priority = priorities.priority AND batch.round = kinds.round
            AND batch.begun = kinds.begun
        ORDER BY batch.id LIMIT %(window)s) near
    WHERE NOT EXISTS (SELECT 1 FROM judging_assignment mine
        WHERE mine.batch_id = near.id AND mine.annotator_id = %(annotator)s)
    ORDER BY near.priority DESC, near.round DESC, near.begun DESC, near.id LIMIT %(nearest)s),
latest AS MATERIALIZED (
    SELECT batch_id, round FROM judging_assignment
    WHERE annotator_id = %(annotator)s ORDER BY id DESC LIMIT %(latest)s),
shared AS MATERIALIZED (
    SELECT theirs.annotator_id, count(*) AS batches FROM latest
    JOIN judging_assignment theirs ON theirs.batch_id = latest.batch_id AND theirs.round = latest.round
    GROUP BY theirs.annotator_id),
ordered AS MATERIALIZED (
    SELECT nearest.id, row_number() OVER (ORDER BY nearest.priority DESC, nearest.round DESC, nearest.begun DESC,
        coalesce(max(shared.batches), 0), nearest.id) AS place
    FROM nearest
    LEFT JOIN judging_assignment beginner ON beginner.batch_id = nearest.id AND beginner.round = nearest.round
    LEFT JOIN shared ON shared.annotator_id = beginner.annotator_id
    GROUP BY nearest.id, nearest.priority, nearest.round, nearest.begun)
SELECT batch.id FROM ordered JOIN judging_batch batch ON batch.id = ordered.id
WHERE batch.state = 'open' AND NOT batch.is_paused AND batch.free_seats > 0
ORDER BY ordered.place LIMIT 1"""

KNOWN_IN_PART = """
SELECT batch.id FROM judging_batch batch
WHERE batch.project_id = %(project)s AND batch.state = 'open' AND NOT batch.is_paused AND batch.free_seats > 0
    AND EXISTS (SELECT 1 FROM judging_assignment mine
        WHERE mine.batch_id = batch.id AND mine.annotator_id = %(annotator)s)
    AND EXISTS (SELECT 1 FROM judging_pair pair CROSS JOIN (VALUES (1), (2)) seats (seat)
        WHERE pair.batch_id = batch.id AND pair.state = CASE batch.round WHEN 1 THEN 'open' ELSE 'escalated' END
        AND NOT EXISTS (SELECT 1 FROM judging_judgment given
            WHERE given.pair_id = pair.id AND given.round = batch.round AND given.seat = seats.seat)
        AND NOT EXISTS (SELECT 1 FROM judging_assignment held WHERE held.batch_id = batch.id
            AND held.round = batch.round AND held.seat = seats.seat AND held.state = 'open')
        AND NOT EXISTS (SELECT 1 FROM judging_judgment mine
            WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s)
        AND NOT EXISTS (SELECT 1 FROM judging_flag mine WHERE mine.pair_id = pair.id
            AND mine.annotator_id = %(annotator)s AND mine.withdrawn_at IS NULL))
ORDER BY batch.priority DESC, batch.round DESC, batch.begun DESC, batch.id LIMIT 1"""

ASKED = """
SELECT pair.id, ARRAY(SELECT given.seat FROM judging_judgment given
        WHERE given.pair_id = pair.id AND given.round = batch.round),
    EXISTS (SELECT 1 FROM judging_judgment mine WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s)
    OR EXISTS (SELECT 1 FROM judging_flag mine WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s
        AND mine.withdrawn_at IS NULL),
    (SELECT count(*) FROM judging_flag flag JOIN judging_assignment ended ON ended.id = flag.assignment_id
        AND ended.state <> 'open' WHERE flag.pair_id = pair.id AND flag.withdrawn_at IS NULL
        AND (pair.restored_at IS NULL OR flag.created_at > pair.restored_at)
        AND NOT EXISTS (SELECT 1 FROM judging_flaganswer answer WHERE answer.flag_id = flag.id))
FROM judging_batch batch
JOIN judging_pair pair ON pair.batch_id = batch.id
    AND pair.state = CASE batch.round WHEN 1 THEN 'open' ELSE 'escalated' END
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
WHERE batch.id = %(batch)s
ORDER BY candidate.rank"""


def batch_to_be_taken(*, project_id: int, annotator_id: int, lock: bool = False) -> int | None:
    """The batch whose turn it is for this annotator; one they had in hands before only when nothing else is left.

    ``lock`` locks it and passes over batches that somebody else is just taking.
    """
    values = {"project": project_id, "annotator": annotator_id, "nearest": NEAREST, "latest": LATEST}
    locking = " FOR UPDATE OF batch SKIP LOCKED" if lock else ""
    with connection.cursor() as cursor:
        for statement, window in ((TO_BE_TAKEN, WINDOW), (TO_BE_TAKEN, None), (KNOWN_IN_PART, None)):
            cursor.execute(statement + locking, {**values, "window": window})
            if row := cursor.fetchone():
                return int(row[0])
    return None


def pairs_asked_now(*, batch_id: int, annotator_id: int | None = None) -> list[AskedPair]:
    """The pairs that the batch's round asks for, best rank first; ``known`` is about this annotator."""
    with connection.cursor() as cursor:
        cursor.execute(ASKED, {"batch": batch_id, "annotator": annotator_id})
        return [AskedPair(*row) for row in cursor.fetchall()]


def seats_held(batch_id: int) -> list[int]:
    """Seats of the batch's present round that are in somebody's hands."""
    held = Assignment.objects.filter(batch=batch_id, round=F("batch__round"), state=Assignment.State.OPEN)
    return list(held.values_list("seat", flat=True))


def work_waits(*, project_id: int, annotator_id: int) -> bool:
    """Whether taking would give the annotator something."""
    return batch_to_be_taken(project_id=project_id, annotator_id=annotator_id) is not None
