"""What annotators have confirmed stays what they read; what was asked at the gate stays what was asked."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER guideline_is_kept BEFORE UPDATE OR DELETE ON judging_guideline
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER guideline_confirmation_is_kept BEFORE UPDATE OR DELETE ON judging_guidelineconfirmation
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();

CREATE FUNCTION guideline_example_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM judging_guidelineconfirmation
        WHERE guideline_id IN (CASE WHEN TG_OP <> 'INSERT' THEN OLD.guideline_id END,
            CASE WHEN TG_OP <> 'DELETE' THEN NEW.guideline_id END))
    THEN
        RAISE EXCEPTION 'examples of a confirmed guideline stay as they are'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guideline_example_is_kept BEFORE INSERT OR UPDATE OR DELETE ON judging_guidelineexample
    FOR EACH ROW EXECUTE FUNCTION guideline_example_is_kept();

CREATE FUNCTION gate_attempt_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.answered_at IS NOT NULL OR (OLD.uuid, OLD.project_id, OLD.annotator_id, OLD.asked, OLD.passing,
        OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.project_id, NEW.annotator_id, NEW.asked, NEW.passing,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'gate attempt % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gate_attempt_stays BEFORE UPDATE ON judging_gateattempt
    FOR EACH ROW EXECUTE FUNCTION gate_attempt_stays();
CREATE TRIGGER gate_attempt_is_kept BEFORE DELETE ON judging_gateattempt
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();
"""
BACKWARD = """
DROP TRIGGER gate_attempt_is_kept ON judging_gateattempt;
DROP TRIGGER gate_attempt_stays ON judging_gateattempt;
DROP FUNCTION gate_attempt_stays();
DROP TRIGGER guideline_example_is_kept ON judging_guidelineexample;
DROP FUNCTION guideline_example_is_kept();
DROP TRIGGER guideline_confirmation_is_kept ON judging_guidelineconfirmation;
DROP TRIGGER guideline_is_kept ON judging_guideline;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0014_guidelines_in_the_making")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
