"""What 0020 keeps from now on, of the rows that are there."""

from django.db import migrations

FILL = """
INSERT INTO judging_tally (project_id, what, n)
SELECT batch.project_id, concat_ws(':', 'pair', pair.state, pair.relevance), count(*)
FROM judging_pair pair JOIN judging_batch batch ON batch.id = pair.batch_id GROUP BY 1, 2;
INSERT INTO judging_tally (project_id, what, n)
SELECT project_id, concat_ws(':', 'batch', number, state, round), count(*) FROM judging_batch GROUP BY 1, 2;
INSERT INTO judging_judgmentday (project_id, annotator_id, day, judgments, second_round, simulated, imported)
SELECT batch.project_id, given.annotator_id,
    (given.created_at AT TIME ZONE coalesce(policy.time_zone, 'UTC'))::date, count(*),
    count(*) FILTER (WHERE given.round = 2), count(*) FILTER (WHERE given.source = 'simulated'),
    count(*) FILTER (WHERE given.source = 'imported')
FROM judging_judgment given JOIN judging_pair pair ON pair.id = given.pair_id
JOIN judging_batch batch ON batch.id = pair.batch_id LEFT JOIN judging_policy policy ON policy.id = given.policy_id
GROUP BY 1, 2, 3;
UPDATE judging_batch SET awaits_review = true WHERE state = 'done' AND number = 1;
"""
EMPTY = """
UPDATE judging_batch SET awaits_review = false WHERE awaits_review;
DELETE FROM judging_tally;
DELETE FROM judging_judgmentday;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0020_counts_and_queue_are_kept")]
    operations = [migrations.RunSQL(FILL, EMPTY)]
