"""Pairs of known truth that may be asked: of closed exams, or settled with equal grades; never seen by the person.

A person has seen a query with a moment when any sitting or assignment of theirs holds it, by the query's words, or
when it is shown to everybody: in the tutorial, or as an example of a guideline.
"""

from collections.abc import Collection
from decimal import Decimal
from typing import NamedTuple

from django.db import connection

SERVING = """
FROM judging_knownpair known
JOIN annotation_query query ON query.id = known.query_id
JOIN annotation_moment moment ON moment.id = known.moment_id AND moment.preview_state = 'ready'
LEFT JOIN judging_exam exam ON exam.id = known.exam_id
LEFT JOIN judging_pair pair ON pair.id = known.pair_id
WHERE known.project_id = %(project)s AND known.truth IS NOT NULL AND NOT known.is_retired
    AND (exam.state = 'closed' OR pair.state = 'settled')
    AND (%(splits)s::text[] IS NULL OR query.split = ANY (%(splits)s::text[]))"""

UNSEEN = f"""
WITH seen AS MATERIALIZED (
    SELECT query.text, known.moment_id FROM judging_sitting sitting
    CROSS JOIN LATERAL unnest(sitting.known_ids) AS held (known_id)
    JOIN judging_knownpair known ON known.id = held.known_id
    JOIN annotation_query query ON query.id = known.query_id
    WHERE sitting.annotator_id = %(annotator)s AND sitting.project_id = %(project)s
    UNION
    SELECT query.text, candidate.moment_id FROM judging_assignment asked
    CROSS JOIN LATERAL unnest(asked.pair_ids) AS held (pair_id)
    JOIN judging_pair pair ON pair.id = held.pair_id
    JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
    JOIN annotation_query query ON query.id = candidate.query_id
    WHERE asked.annotator_id = %(annotator)s AND asked.project_id = %(project)s
    UNION
    SELECT query.text, known.moment_id FROM judging_knownpair known
    JOIN annotation_query query ON query.id = known.query_id
    WHERE known.project_id = %(project)s AND known.tutorial_position IS NOT NULL
    UNION
    SELECT example.query_text, example.moment_id FROM judging_guidelineexample example
    JOIN judging_guideline guideline ON guideline.id = example.guideline_id AND guideline.project_id = %(project)s)
SELECT known.id, known.query_id, known.truth
{SERVING}
    AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.text = query.text AND seen.moment_id = known.moment_id)
ORDER BY known.id"""  # noqa: S608  # nosec B608 - constants

STOCK = f"SELECT known.id, known.query_id, known.truth {SERVING} ORDER BY known.id"

SHOWN = """
SELECT known.id FROM judging_knownpair known
JOIN annotation_query query ON query.id = known.query_id
WHERE known.project_id = %(project)s AND (query.text, known.moment_id) IN (
    SELECT of.text, shown.moment_id FROM judging_sitting sat
    JOIN judging_sittinggrade given ON given.sitting_id = sat.id AND given.attempt = 0
    JOIN judging_knownpair shown ON shown.id = given.known_pair_id AND shown.truth IS NOT NULL
    JOIN annotation_query of ON of.id = shown.query_id
    WHERE sat.project_id = %(project)s AND (sat.purpose <> 'exam'
        OR (sat.state IN ('feedback', 'done') AND abs(given.grade - shown.truth) > 1)))"""


class Known(NamedTuple):
    """A pair that may be asked, and what is known of it."""

    id: int
    query_id: int
    truth: Decimal


def known_pairs_unseen(*, project_id: int, annotator_id: int, splits: Collection[str] | None = None) -> list[Known]:
    """What may be asked of this person; of these splits, or of all."""
    return _read(UNSEEN, project=project_id, annotator=annotator_id, splits=None if splits is None else list(splits))


def known_pairs_in_stock(*, project_id: int, splits: Collection[str] | None = None) -> list[Known]:
    """What may be asked of somebody who has seen nothing; of these splits, or of all."""
    return _read(STOCK, project=project_id, splits=None if splits is None else list(splits))


def known_pairs_shown(*, project_id: int) -> frozenset[int]:
    """Pairs whose truth somebody was told, by the query's words: in feedback, in a tutorial or a warm-up."""
    with connection.cursor() as cursor:
        cursor.execute(SHOWN, {"project": project_id})
        return frozenset(known_id for (known_id,) in cursor.fetchall())


def _read(statement: str, **values: int | list[str] | None) -> list[Known]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(map(Known._make, cursor.fetchall()))
