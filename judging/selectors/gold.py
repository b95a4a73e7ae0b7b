"""Pairs of known truth that can be asked among others, unnoticed: of the same query, or a whole batch of them.

Known is what two annotators settled at once with equal grades. Whoever has seen the pair before, in whatever place, is
not asked it again; pilots are left out, as their guideline was a try-out.
"""

from typing import NamedTuple

from django.db import connection

UNSEEN = """
FROM judging_pair pair
JOIN judging_batch held_by ON held_by.id = pair.batch_id AND NOT held_by.is_pilot
JOIN annotation_query query ON query.id = held_by.query_id
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
JOIN annotation_moment moment ON moment.id = candidate.moment_id AND moment.preview_state = 'ready'
WHERE pair.batch_id = {batch} AND pair.state IN ('settled', 'dropped') AND pair.source_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM judging_judgment mine
        WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s)
    AND NOT EXISTS (SELECT 1 FROM judging_assignment asked
        WHERE asked.batch_id = pair.batch_id AND asked.annotator_id = %(annotator)s AND pair.id = ANY (asked.pair_ids))
    AND NOT EXISTS (SELECT 1 FROM judging_knownpair known JOIN annotation_query of ON of.id = known.query_id
        WHERE known.moment_id = candidate.moment_id AND of.text = query.text AND known.project_id = held_by.project_id
        AND (known.tutorial_position IS NOT NULL OR known.is_retired OR EXISTS (SELECT 1 FROM judging_sitting sitting
            WHERE sitting.annotator_id = %(annotator)s AND known.id = ANY (sitting.known_ids))))
    AND NOT EXISTS (SELECT 1 FROM judging_guidelineexample example
        JOIN judging_guideline guideline ON guideline.id = example.guideline_id
        WHERE guideline.project_id = held_by.project_id AND example.moment_id = candidate.moment_id
        AND example.query_text = query.text)"""
IS_KNOWN = """ AND pair.state = 'settled'
    AND (SELECT count(*) = 2 AND min(given.grade) = max(given.grade) FROM judging_judgment given
        WHERE given.pair_id = pair.id)"""
IN_BATCH = f"SELECT pair.id {UNSEEN.format(batch='%(batch)s')}"

SHARE = """
SELECT coalesce(sum(cardinality(pair_ids)), 0), coalesce(sum(cardinality(gold_ids)), 0)
FROM judging_assignment WHERE annotator_id = %(annotator)s AND project_id = %(project)s"""

BATCH_OF_GOLD = f"""
SELECT batch.id FROM judging_batch batch
WHERE batch.project_id = %(project)s AND batch.state = 'done' AND NOT batch.is_paused AND NOT batch.is_pilot
    AND NOT EXISTS (SELECT 1 FROM judging_assignment other
        WHERE other.batch_id = batch.id AND (other.annotator_id = %(annotator)s OR other.state = 'open'))
    AND (SELECT count(*) {UNSEEN.format(batch="batch.id")}{IS_KNOWN}) >= %(least)s
ORDER BY batch.done_at DESC LIMIT 1"""  # noqa: S608  # nosec B608 - constants


class Share(NamedTuple):
    """Pairs asked of an annotator in a project, and how many of them were gold."""

    shown: int
    gold: int


def gold_share(*, project_id: int, annotator_id: int) -> Share:
    with connection.cursor() as cursor:
        cursor.execute(SHARE, {"project": project_id, "annotator": annotator_id})
        return Share(*map(int, cursor.fetchone()))


def gold_in(*, batch_id: int, annotator_id: int, known: bool = True) -> list[int]:
    """Pairs of the batch that the annotator has never seen and whose truth is known; or all that are decided."""
    with connection.cursor() as cursor:
        statement = f"{IN_BATCH}{IS_KNOWN if known else ''} ORDER BY pair.id"
        cursor.execute(statement, {"batch": batch_id, "annotator": annotator_id})
        return [pair_id for (pair_id,) in cursor.fetchall()]


def gold_batch(*, project_id: int, annotator_id: int, least: int) -> int | None:
    """The latest finished batch with at least so many known pairs that the annotator has never seen."""
    values = {"project": project_id, "annotator": annotator_id, "least": least}
    with connection.cursor() as cursor:
        cursor.execute(BATCH_OF_GOLD, values)
        row = cursor.fetchone()
    return int(row[0]) if row else None
