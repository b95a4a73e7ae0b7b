"""What was said stays as it was said.

Of a judgment only the grade, its revision, its comment and the versions in force may change, and only while its
assignment is open. Earlier grades are never changed or deleted, nor flags deleted. What an assignment asks for, and of
whom, never changes.
"""

from django.db import migrations

FORWARD = """
CREATE OR REPLACE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.pair_id, OLD.assignment_id, OLD.annotator_id, OLD.occurrence, OLD.round, OLD.seat, OLD.position,
        OLD.previous_grade, OLD.source, OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.pair_id, NEW.assignment_id,
        NEW.annotator_id, NEW.occurrence, NEW.round, NEW.seat, NEW.position, NEW.previous_grade, NEW.source,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'judgment % stays where it was given', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (OLD.grade, OLD.revision, OLD.comment, OLD.guideline_id, OLD.policy_id)
        IS DISTINCT FROM (NEW.grade, NEW.revision, NEW.comment, NEW.guideline_id, NEW.policy_id)
        AND NOT EXISTS (SELECT 1 FROM judging_assignment WHERE id = OLD.assignment_id AND state = 'open')
    THEN
        RAISE EXCEPTION 'judgment % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION judgment_change_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'earlier grades are kept' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER judgment_change_is_kept BEFORE UPDATE OR DELETE ON judging_judgmentchange
    FOR EACH ROW EXECUTE FUNCTION judgment_change_is_kept();

CREATE FUNCTION flag_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'flags are taken back, not deleted' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER flag_is_kept BEFORE DELETE ON judging_flag FOR EACH ROW EXECUTE FUNCTION flag_is_kept();

CREATE FUNCTION assignment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.batch_id, OLD.annotator_id, OLD.round, OLD.seat, OLD.pair_ids)
        IS DISTINCT FROM (NEW.uuid, NEW.batch_id, NEW.annotator_id, NEW.round, NEW.seat, NEW.pair_ids)
        OR (OLD.state <> 'open' AND NEW.state <> OLD.state)
    THEN
        RAISE EXCEPTION 'assignment % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_stays BEFORE UPDATE OF uuid, batch_id, annotator_id, round, seat, pair_ids, state
    ON judging_assignment FOR EACH ROW EXECUTE FUNCTION assignment_stays();
"""
BACKWARD = """
DROP TRIGGER assignment_stays ON judging_assignment;
DROP FUNCTION assignment_stays();
DROP TRIGGER flag_is_kept ON judging_flag;
DROP FUNCTION flag_is_kept();
DROP TRIGGER judgment_change_is_kept ON judging_judgmentchange;
DROP FUNCTION judgment_change_is_kept();
CREATE OR REPLACE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.grade IS DISTINCT FROM NEW.grade AND NOT EXISTS (
        SELECT 1 FROM judging_assignment WHERE id = OLD.assignment_id AND state = 'open'
    ) THEN
        RAISE EXCEPTION 'judgment % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0006_a_judgment_belongs_to_its_assignment")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
