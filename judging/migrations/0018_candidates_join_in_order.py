"""Once a batch of a query exists its candidates by similarity are complete; those pooled from runs come behind them.

That none is changed or deleted is said by candidate_is_frozen, for both kinds.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION candidate_joins_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_begun boolean := EXISTS (SELECT 1 FROM judging_batch WHERE query_id = NEW.query_id);
BEGIN
    IF NEW.source = 'similarity' AND is_begun THEN
        RAISE EXCEPTION 'candidates of query % are frozen', NEW.query_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.source = 'pooled' AND NOT is_begun THEN
        RAISE EXCEPTION 'query % has no batch yet', NEW.query_id USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.source = 'pooled' AND EXISTS (
        SELECT 1 FROM annotation_candidate WHERE query_id = NEW.query_id AND rank > NEW.rank
    ) THEN
        RAISE EXCEPTION 'a pooled candidate comes behind the last rank'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER candidate_joins_in_order BEFORE INSERT ON annotation_candidate
    FOR EACH ROW EXECUTE FUNCTION candidate_joins_in_order();
"""
BACKWARD = """
DROP TRIGGER candidate_joins_in_order ON annotation_candidate;
DROP FUNCTION candidate_joins_in_order();
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0017_pools")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
