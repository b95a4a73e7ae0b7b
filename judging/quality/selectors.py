"""Judgments as columns, figures as last computed, and pairs of known truth that can be asked among others, unnoticed.

Known is what a first round settled at once with equal grades. Whoever has seen the pair before, in whatever place, is
not asked it again; pilots are left out, as their guideline was a try-out.
"""

from django.db.models import Count, F, Q, QuerySet

from accounts.models import Project
from core.sql import sql_rows
from judging.models import Assignment, GoldGrade, Judgment, QualityAlert, QualityReport
from judging.review.selectors import annotator_numbers

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


def final_columns(*, project_id: int, zone: str) -> list[tuple[int, ...]]:
    """Rows for ``rules.quality.judgments_of``: all final judgments but those of pilots, in the order given."""
    return sql_rows(FINAL, {"project": project_id, "zone": zone})


def newest_judgment(project_id: int) -> int:
    """The key of the newest judgment, 0 where there is none."""
    newest = Judgment.objects.filter(pair__batch__project=project_id).order_by("-pk")
    return newest.values_list("pk", flat=True).first() or 0


def gold_counts(project: Project) -> dict[int, tuple[int, int]]:
    """Per annotator: final gold grades, and those misaligned."""
    final = GoldGrade.objects.filter(assignment__project=project).exclude(assignment__state=Assignment.State.OPEN)
    far = Q(grade__gt=F("truth") + project.max_spread) | Q(grade__lt=F("truth") - project.max_spread)
    rows = final.values("annotator").annotate(known=Count("truth"), misaligned=Count("pk", filter=far))
    return {row["annotator"]: (row["known"], row["misaligned"]) for row in rows}


def quality_report(project: Project) -> QualityReport | None:
    return QualityReport.objects.filter(project=project).first()


def quality_alerts(project: Project, *, is_seen: bool) -> QuerySet[QualityAlert]:
    return QualityAlert.objects.filter(project=project, seen_at__isnull=not is_seen)


def alerts_of(project: Project) -> dict[int | None, list[QualityAlert]]:
    """Alerts that nobody has looked at, by annotator number."""
    numbers = annotator_numbers(project)
    by_number: dict[int | None, list[QualityAlert]] = {}
    for alert in quality_alerts(project, is_seen=False):
        by_number.setdefault(numbers.get(alert.annotator_id), []).append(alert)
    return by_number


UNSEEN = """
FROM judging_pair pair
JOIN judging_batch own_batch ON own_batch.id = pair.batch_id AND NOT own_batch.is_pilot
JOIN annotation_query query ON query.id = own_batch.query_id
JOIN annotation_candidate candidate ON candidate.id = pair.candidate_id
JOIN annotation_moment moment ON moment.id = candidate.moment_id AND moment.preview_state = 'ready'
WHERE pair.batch_id = {batch} AND pair.state IN ('settled', 'dropped') AND pair.source_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM judging_judgment mine
        WHERE mine.pair_id = pair.id AND mine.annotator_id = %(annotator)s)
    AND NOT EXISTS (SELECT 1 FROM judging_assignment asked
        WHERE asked.batch_id = pair.batch_id AND asked.annotator_id = %(annotator)s AND pair.id = ANY (asked.pair_ids))
    AND NOT EXISTS (SELECT 1 FROM judging_knownpair known JOIN annotation_query of ON of.id = known.query_id
        WHERE known.moment_id = candidate.moment_id AND of.text = query.text AND known.project_id = own_batch.project_id
        AND (known.tutorial_position IS NOT NULL OR known.is_retired OR EXISTS (
            SELECT 1 FROM judging_examattempt attempt
            WHERE attempt.annotator_id = %(annotator)s AND known.id = ANY (attempt.known_ids))))
    AND NOT EXISTS (SELECT 1 FROM judging_guidelineexample example
        JOIN judging_guideline guideline ON guideline.id = example.guideline_id
        WHERE guideline.project_id = own_batch.project_id AND example.moment_id = candidate.moment_id
        AND example.query_text = query.text)"""
IS_KNOWN = """ AND pair.state = 'settled'
    AND (SELECT count(*) = own_batch.judges AND min(given.grade) = max(given.grade) FROM judging_judgment given
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


def gold_share(*, project_id: int, annotator_id: int) -> tuple[int, int]:
    """Pairs asked of an annotator in a project, and how many of them were gold."""
    [(n_shown, gold)] = sql_rows(SHARE, {"project": project_id, "annotator": annotator_id})
    return int(n_shown), int(gold)


def gold_in(*, batch_id: int, annotator_id: int, only_known: bool = True) -> list[int]:
    """Pairs of the batch that the annotator has never seen and whose truth is known; or all that are decided."""
    statement = f"{IN_BATCH}{IS_KNOWN if only_known else ''} ORDER BY pair.id"
    return [pair_id for (pair_id,) in sql_rows(statement, {"batch": batch_id, "annotator": annotator_id})]


def gold_batch(*, project_id: int, annotator_id: int, least: int) -> int | None:
    """The latest finished batch with at least so many known pairs that the annotator has never seen."""
    rows = sql_rows(BATCH_OF_GOLD, {"project": project_id, "annotator": annotator_id, "least": least})
    return rows[0][0] if rows else None
