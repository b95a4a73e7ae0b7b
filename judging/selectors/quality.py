"""What tells the lead about the work itself: whether order tells on grades."""

from typing import Any

from django.db import connection

from annotation.models import Project
from judging.models import Judgment
from judging.rules.order_effects import Effect, Moments, effect

LATEST = 100_000  # judgments looked at, so that the page stays quick in a large project

EFFECTS = """
WITH latest AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade, given.position, given.previous_grade
    FROM judging_judgment given JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.project_id = %(project)s AND held.state <> 'open' AND (%(simulated)s OR given.source = 'person')
        AND (%(annotator)s::bigint IS NULL OR given.annotator_id = %(annotator)s::bigint)
    ORDER BY given.id DESC LIMIT %(latest)s),
compared AS (
    SELECT latest.*, latest.grade - (
        SELECT avg(other.grade) FROM judging_judgment other
        JOIN judging_assignment held ON held.id = other.assignment_id AND held.state <> 'open'
        WHERE other.pair_id = latest.pair_id AND other.annotator_id <> latest.annotator_id) AS deviation
    FROM latest)
SELECT grouping(position), position, previous_grade, count(*), avg(grade)::float,
    count(deviation), coalesce(sum(deviation), 0)::float, coalesce(sum(deviation * deviation), 0)::float
FROM compared GROUP BY GROUPING SETS ((position), (previous_grade)) ORDER BY 1, 2, 3 NULLS FIRST"""


def order_effects(*, project_id: int, simulated: bool, annotator_id: int | None = None) -> dict[str, Any]:
    """Effects ``by_position`` and ``by_previous`` over the latest judgments of ended assignments."""
    with connection.cursor() as cursor:
        cursor.execute(
            EFFECTS,
            {"project": project_id, "simulated": simulated, "annotator": annotator_id, "latest": LATEST},
        )
        rows = cursor.fetchall()
    by_position: list[Effect] = []
    by_previous: list[Effect] = []
    for is_previous, position, previous, n, mean, *deviations in rows:
        place = by_previous if is_previous else by_position
        place.append(effect(previous if is_previous else position, n=n, mean=mean, deviations=Moments(*deviations)))
    return {"by_position": by_position, "by_previous": by_previous, "judgments": sum(e.n for e in by_position)}


def people_have_judged(project: Project) -> bool:
    return Judgment.objects.filter(assignment__project=project, source=Judgment.Source.PERSON).exists()
