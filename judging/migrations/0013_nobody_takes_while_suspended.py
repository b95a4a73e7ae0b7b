"""Whoever is just being suspended, or leaves, is handed nothing at the same instant: one waits for the other."""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION assignment_is_of_the_qualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM annotation_membership member WHERE member.project_id = NEW.project_id
        AND member.user_id = NEW.annotator_id AND member.role = 'annotator' AND member.standing = 'qualified'%s;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'annotator %% is not qualified in project %%', NEW.annotator_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0012_invitation_mail")]
    operations = [migrations.RunSQL(FUNCTION % "\n        FOR SHARE", FUNCTION % "")]
