"""Whether the order tells on grades: by position in the batch, and by the grade given just before."""

from typing import NamedTuple

from judging.rules.order_effects import Effect, Moments, effect
from judging.selectors.figures.scope import PAIRS, Scope

LATEST = 100_000  # judgments looked at, so that the page stays quick in a large project

# pairs are looked at one by one: the latest judgments are found without counting the others
EFFECTS = f"""
WITH latest AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade, given.position, given.previous_grade
    FROM judging_judgment given JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.project_id = %(project)s AND held.state <> 'open'
        AND (%(annotator)s::bigint IS NULL OR given.annotator_id = %(annotator)s::bigint)
        AND (false OR EXISTS ({PAIRS} AND pair.id = given.pair_id))
    ORDER BY given.id DESC LIMIT %(latest)s),
compared AS (
    SELECT latest.*, latest.grade - (
        SELECT avg(other.grade) FROM judging_judgment other
        JOIN judging_assignment held ON held.id = other.assignment_id AND held.state <> 'open'
        WHERE other.pair_id = latest.pair_id AND other.annotator_id <> latest.annotator_id) AS deviation
    FROM latest)
SELECT grouping(position), position, previous_grade, count(*), avg(grade)::float,
    count(deviation), coalesce(sum(deviation), 0)::float, coalesce(sum(deviation * deviation), 0)::float
FROM compared GROUP BY GROUPING SETS ((position), (previous_grade)) ORDER BY 1, 2, 3 NULLS FIRST"""  # noqa: S608  # nosec B608 - constants


class OrderEffects(NamedTuple):
    """Effects over the latest judgments of ended assignments; ``judgments`` says how many."""

    by_position: list[Effect]
    by_previous: list[Effect]

    @property
    def judgments(self) -> int:
        return sum(effect.n for effect in self.by_position)


def order_effects(scope: Scope, *, annotator_id: int | None = None) -> OrderEffects:
    """Effects of everybody, or of one annotator."""
    found = OrderEffects([], [])
    for is_previous, position, previous, n, mean, *deviations in scope.found(
        EFFECTS, annotator=annotator_id, latest=LATEST
    ):
        place = found.by_previous if is_previous else found.by_position
        place.append(effect(previous if is_previous else position, n=n, mean=mean, deviations=Moments(*deviations)))
    return found
