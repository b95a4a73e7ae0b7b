"""Who agrees with whom, and when."""

from datetime import date

from judging.selectors.figures.scope import Scope

BY_DAY = """
, twice AS (
    SELECT (max(given.created_at) AT TIME ZONE %(zone)s)::date AS day, min(given.grade) AS low, max(given.grade) AS high
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    JOIN judging_assignment held ON held.id = given.assignment_id
        AND held.project_id = %(project)s AND held.state <> 'open'
    WHERE given.round = 1 GROUP BY given.pair_id HAVING count(*) = 2)
SELECT day, low, high, count(*) FROM twice GROUP BY 1, 2, 3"""

SHARED = """
, given AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id AND given.occurrence = 0
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.id IS NULL OR held.state <> 'open')
SELECT one.annotator_id, other.annotator_id, one.grade, other.grade, count(*)
FROM given one JOIN given other ON other.pair_id = one.pair_id AND other.annotator_id > one.annotator_id
GROUP BY 1, 2, 3, 4"""


def agreement_by_day(scope: Scope, *, zone: str) -> list[tuple[date, int, int, int]]:
    """Day, lower grade, higher grade and how many pairs got these in their first round and on that day the second.

    Imported judgments say nothing about time and are left out.
    """
    return scope.rows(BY_DAY, zone=zone)


def grades_shared(scope: Scope) -> list[tuple[int, int, int, int, int]]:
    """Two annotators, by account, and how often the first gave a grade where the second gave another."""
    return scope.rows(SHARED)
