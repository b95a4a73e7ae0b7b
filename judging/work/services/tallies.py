"""Kept counts: folded so that reading them stays quick, and counted anew from the rows."""

import logging

from django.db import connection, transaction
from django.db.models import Count

from accounts.models import Project
from core.jobs import swept
from judging.models import JudgmentDay, Tally
from judging.projects.selectors.overview import tallies

logger = logging.getLogger(__name__)
FOLD_FROM = 200  # rows of a project

FOLD = """
WITH gone AS (DELETE FROM judging_tally WHERE project_id = %(project)s RETURNING what, n)
INSERT INTO judging_tally (project_id, what, n)
SELECT %(project)s, what, sum(n) FROM gone GROUP BY what HAVING sum(n) <> 0"""
RECOUNT = (
    "DELETE FROM judging_tally WHERE project_id = %(project)s",
    """
INSERT INTO judging_tally (project_id, what, n)
SELECT %(project)s, concat_ws(':', 'pair', pair.state, pair.relevance), count(*)
FROM judging_pair pair JOIN judging_batch batch ON batch.id = pair.batch_id
WHERE batch.project_id = %(project)s GROUP BY 2
UNION ALL SELECT %(project)s, concat_ws(':', 'batch', number, state, round), count(*)
FROM judging_batch WHERE project_id = %(project)s GROUP BY 2""",
    "DELETE FROM judging_judgmentday WHERE project_id = %(project)s",
    """
INSERT INTO judging_judgmentday (project_id, annotator_id, day, judgments, second_round, simulated, imported)
SELECT %(project)s, given.annotator_id,
    (given.created_at AT TIME ZONE coalesce(policy.time_zone, 'UTC'))::date, count(*),
    count(*) FILTER (WHERE given.round = 2), count(*) FILTER (WHERE given.source = 'simulated'),
    count(*) FILTER (WHERE given.source = 'imported')
FROM judging_judgment given JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id LEFT JOIN judging_policy policy ON policy.id = given.policy_id
WHERE batch.project_id = %(project)s GROUP BY given.annotator_id, 3""",
)


@swept
def tallies_fold(now: object = None) -> None:
    """Make one row of each count that has grown long; who reads or writes meanwhile is not disturbed."""
    long = Tally.objects.values("project").annotate(n=Count("pk")).filter(n__gte=FOLD_FROM).order_by()
    for project_id in long.values_list("project", flat=True):
        with connection.cursor() as cursor:
            cursor.execute(FOLD, {"project": project_id})


@transaction.atomic
def tallies_recount(*, project: Project) -> bool:
    """Count anew from the rows; say whether that made a difference. Who judges waits meanwhile, some seconds."""
    with connection.cursor() as cursor:
        tables = f"{Tally._meta.db_table}, {JudgmentDay._meta.db_table}"
        cursor.execute(f"LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE")
        before = _kept(project)
        for statement in RECOUNT:
            cursor.execute(statement, {"project": project.pk})
    differed = _kept(project) != before
    if differed:
        logger.warning("project %s: the kept counts were wrong and are right now", project.pk)
    return differed


def _kept(project: Project) -> tuple[object, object]:
    days = JudgmentDay.objects.filter(project=project).order_by("annotator", "day")
    columns = ("annotator", "day", "judgments", "second_round", "simulated", "imported")
    return tallies(project), list(days.values_list(*columns))
