"""Judgments as columns, for figures that need all of them; and the figures as last computed."""

from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from annotation.models import Project
from judging.models import QualityAlert, QualityReport

FINAL = """
SELECT given.annotator_id, given.pair_id, given.round, given.grade,
    CASE pair.state WHEN 'settled' THEN pair.relevance ELSE -1 END,
    (given.created_at AT TIME ZONE %(zone)s)::date - date '1970-01-01', coalesce(given.active_ms, -1)
FROM judging_judgment given
JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id AND batch.project_id = %(project)s AND NOT batch.is_pilot
LEFT JOIN judging_assignment held ON held.id = given.assignment_id
WHERE given.occurrence = 0 AND (held.id IS NULL OR held.state <> 'open')
ORDER BY given.id"""

NEWEST = """
SELECT given.id FROM judging_judgment given JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id
WHERE batch.project_id = %(project)s ORDER BY given.id DESC LIMIT 1"""

CHANGED = """
SELECT EXISTS (SELECT 1 FROM judging_assignment held WHERE held.project_id = %(project)s AND held.ended_at > %(since)s)
    OR EXISTS (SELECT 1 FROM judging_batch batch WHERE batch.project_id = %(project)s AND batch.done_at > %(since)s)"""

GOLD = """
SELECT given.annotator_id, count(given.truth), count(*) FILTER (WHERE abs(given.grade - given.truth) > 1)
FROM judging_goldgrade given JOIN judging_assignment held ON held.id = given.assignment_id
WHERE held.project_id = %(project)s AND held.state <> 'open' GROUP BY given.annotator_id"""


def final_columns(*, project_id: int, zone: str) -> list[tuple[int, ...]]:
    """Rows for ``rules.quality.Judgments``: all final judgments but those of pilots, in the order given."""
    with connection.cursor() as cursor:
        cursor.execute(FINAL, {"project": project_id, "zone": zone})
        return list(cursor.fetchall())


def newest_judgment(project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, {"project": project_id})
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def work_ended_since(project_id: int, since: datetime) -> bool:
    """Whether somebody finished something, or a batch was decided: figures are over what is final."""
    with connection.cursor() as cursor:
        cursor.execute(CHANGED, {"project": project_id, "since": since})
        return bool(cursor.fetchone()[0])


def gold_counts(project_id: int) -> dict[int, tuple[int, int]]:
    """Per annotator: final gold grades, and those misaligned."""
    with connection.cursor() as cursor:
        cursor.execute(GOLD, {"project": project_id})
        return {annotator: (given, misaligned) for annotator, given, misaligned in cursor.fetchall()}


def quality_report(project: Project) -> QualityReport | None:
    return QualityReport.objects.filter(project=project).first()


def quality_alerts(project: Project, *, seen: bool) -> QuerySet[QualityAlert]:
    return QualityAlert.objects.filter(project=project, seen_at__isnull=not seen)


def alerts_of(project: Project) -> dict[int, list[QualityAlert]]:
    """Alerts that nobody has looked at, by annotator."""
    found: dict[int, list[Any]] = {}
    for alert in quality_alerts(project, seen=False):
        found.setdefault(alert.annotator_id, []).append(alert)
    return found
