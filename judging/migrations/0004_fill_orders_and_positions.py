"""Rows from before 0003: the order asked is the order judged, then what is left of an open assignment."""

from django.db import migrations

FILL = """
UPDATE judging_assignment a SET pair_ids = ARRAY(
    SELECT p.id FROM judging_pair p LEFT JOIN judging_judgment j ON j.pair_id = p.id AND j.assignment_id = a.id
    WHERE p.batch_id = a.batch_id AND (j.id IS NOT NULL OR (
        a.state = 'open' AND p.state IN ('open', 'escalated') AND NOT EXISTS (
            SELECT 1 FROM judging_judgment o WHERE o.pair_id = p.id AND o.round = a.round AND o.seat = a.seat)))
    ORDER BY j.id NULLS LAST, md5(a.shuffle_seed::text || p.id));
UPDATE judging_assignment a SET pair_ids = ARRAY(SELECT p.id FROM judging_pair p WHERE p.batch_id = a.batch_id)
    WHERE pair_ids = '{}';
UPDATE judging_judgment j SET position = places.position, previous_grade = places.previous FROM (
    SELECT id, row_number() OVER given AS position, lag(grade) OVER given AS previous FROM judging_judgment
    WHERE assignment_id IS NOT NULL WINDOW given AS (PARTITION BY assignment_id ORDER BY id)) places
    WHERE places.id = j.id;
UPDATE judging_judgmentchange SET uuid = gen_random_uuid();
UPDATE judging_judgment j SET revision = changes.n FROM (
    SELECT judgment_id, count(*) AS n FROM judging_judgmentchange GROUP BY judgment_id) changes
    WHERE changes.judgment_id = j.id;
UPDATE judging_batch b SET
    begun = EXISTS (SELECT 1 FROM judging_assignment a WHERE a.batch_id = b.id AND a.round = b.round),
    free_seats = CASE WHEN b.state = 'done' THEN 0 ELSE 2 - (
        SELECT count(DISTINCT a.seat) FROM judging_assignment a
        WHERE a.batch_id = b.id AND a.round = b.round AND a.state <> 'lapsed') END;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0003_judging_at_full_strength")]
    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
