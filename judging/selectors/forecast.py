"""What a project's own numbers say about the work that is left."""

from django.db import connection

from annotation.models import Membership, Project
from annotation.selectors import queries_to_judge
from judging.models import Policy

MEASURED = """
WITH batch AS (SELECT batch.id, batch.number, review.id IS NOT NULL AS reviewed
    FROM judging_batch batch LEFT JOIN judging_batchreview review ON review.batch_id = batch.id
    WHERE batch.project_id = %(project)s),
decided AS (SELECT count(*) AS pairs, count(*) FILTER (WHERE pair.state = 'escalated' OR EXISTS (
        SELECT 1 FROM judging_judgment judgment WHERE judgment.pair_id = pair.id AND judgment.round = 2)) AS escalated
    FROM judging_pair pair JOIN batch ON batch.id = pair.batch_id WHERE pair.state NOT IN ('open', 'withdrawn'))
SELECT (SELECT count(*)::float FROM judging_pair pair JOIN batch ON batch.id = pair.batch_id AND batch.number <= 2)
        / nullif((SELECT count(*) FROM batch WHERE number <= 2), 0),
    (SELECT count(*) FILTER (WHERE number = 2)::float / nullif(count(*) FILTER (WHERE number = 1 AND reviewed), 0)
        FROM batch),
    (SELECT escalated::float / nullif(pairs, 0) FROM decided),
    (SELECT avg(least(judgment.active_ms, 1000 * policy.pay_cap_s))::float / 1000 FROM judging_judgment judgment
        JOIN judging_assignment held ON held.id = judgment.assignment_id
        JOIN judging_policy policy ON policy.id = judgment.policy_id
        WHERE held.project_id = %(project)s AND judgment.active_ms IS NOT NULL),
    (SELECT queries * depth FROM judging_exam WHERE project_id = %(project)s ORDER BY id DESC LIMIT 1)"""


def forecast_measured(project: Project, policy: Policy) -> dict[str, float | None]:
    """Values for a forecast's assumptions, by name; None where nothing tells yet."""
    with connection.cursor() as cursor:
        cursor.execute(MEASURED, {"project": project.pk})
        pairs, second, escalated, seconds, exam_pairs = cursor.fetchone()
    qualified = project.memberships.filter(standing=Membership.Standing.QUALIFIED).count()
    return {
        "queries": queries_to_judge(project.pk).count() or None,
        "pairs": pairs,
        "second": None if second is None else min(1.0, second),
        "escalated": escalated,
        "seconds": seconds or None,
        "gold": policy.gold_percent / 100,
        "annotators": qualified or None,
        "exam_pairs": exam_pairs,
    }
