"""What pairs settled with, and what they were graded."""

from judging.rules.figures import Relevances, relevances_by
from judging.selectors.figures.scope import Scope

STEPS = 20  # bins of similarity between 0 and 1

BY_SIMILARITY = """
SELECT least(floor(round(candidate.similarity * 1000000) / %(width)s)::int, %(last)s), chosen.relevance, count(*)
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE chosen.state = 'settled' AND candidate.similarity IS NOT NULL GROUP BY 1, 2"""

BY_RANK = """
SELECT candidate.rank, chosen.relevance, count(*)
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE chosen.state = 'settled' AND candidate.source = 'similarity' GROUP BY 1, 2"""

COUNTED = "SELECT 0, relevance, count(*) FROM chosen WHERE state = 'settled' GROUP BY 2"

RANGES = """
, extremes AS (
    SELECT min(given.grade) AS low, max(given.grade) AS high
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE chosen.state IN ('settled', 'escalated', 'dropped') AND (held.id IS NULL OR held.state <> 'open')
    GROUP BY given.pair_id)
SELECT low, high, count(*) FROM extremes GROUP BY 1, 2 ORDER BY 1, 2"""


def relevance_by_similarity(scope: Scope) -> dict[int, Relevances]:
    """Settled pairs by step of similarity; step i is from i / STEPS to below (i + 1) / STEPS, the last with its end."""
    return relevances_by(scope.rows(BY_SIMILARITY, width=1_000_000 / STEPS, last=STEPS - 1))


def relevance_of_ranks(scope: Scope) -> dict[int, Relevances]:
    return relevances_by(scope.rows(BY_RANK))


def relevance_counted(scope: Scope) -> Relevances:
    return relevances_by(scope.rows(COUNTED)).get(0, Relevances((0,) * 5))


def grade_ranges(scope: Scope) -> dict[tuple[int, int], int]:
    """How many pairs have which lowest and highest final grade, of those whose first round is complete."""
    return {(low, high): n for low, high, n in scope.rows(RANGES)}
