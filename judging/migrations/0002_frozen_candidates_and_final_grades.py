"""Rules over several rows, held by triggers.

Candidates are frozen once a batch of their query exists. A grade of an ended assignment is final.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION candidate_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM judging_batch WHERE query_id = OLD.query_id) THEN
        RAISE EXCEPTION 'candidates of query % are frozen', OLD.query_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER candidate_is_frozen BEFORE UPDATE OR DELETE ON annotation_candidate
    FOR EACH ROW EXECUTE FUNCTION candidate_is_frozen();

CREATE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.grade IS DISTINCT FROM NEW.grade AND NOT EXISTS (
        SELECT 1 FROM judging_assignment WHERE id = OLD.assignment_id AND state = 'open'
    ) THEN
        RAISE EXCEPTION 'judgment % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER judgment_is_final BEFORE UPDATE ON judging_judgment
    FOR EACH ROW EXECUTE FUNCTION judgment_is_final();
"""
BACKWARD = """
DROP TRIGGER judgment_is_final ON judging_judgment;
DROP FUNCTION judgment_is_final();
DROP TRIGGER candidate_is_frozen ON annotation_candidate;
DROP FUNCTION candidate_is_frozen();
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0001_initial"), ("annotation", "0002_audit_append_only")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
