"""How long a judgment took is final with its grade."""

from django.db import migrations

FINAL = """
CREATE OR REPLACE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.pair_id, OLD.assignment_id, OLD.annotator_id, OLD.occurrence, OLD.round, OLD.seat, OLD.position,
        OLD.previous_grade, OLD.source, OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.pair_id, NEW.assignment_id,
        NEW.annotator_id, NEW.occurrence, NEW.round, NEW.seat, NEW.position, NEW.previous_grade, NEW.source,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'judgment % stays where it was given', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (OLD.grade, OLD.revision, OLD.comment, OLD.guideline_id, OLD.policy_id{old})
        IS DISTINCT FROM (NEW.grade, NEW.revision, NEW.comment, NEW.guideline_id, NEW.policy_id{new})
        AND NOT EXISTS (SELECT 1 FROM judging_assignment WHERE id = OLD.assignment_id AND state = 'open')
    THEN
        RAISE EXCEPTION 'judgment % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0015_versions_stay_as_confirmed")]
    operations = [
        migrations.RunSQL(
            FINAL.format(old=", OLD.active_ms", new=", NEW.active_ms"),
            FINAL.format(old="", new=""),
        )
    ]
