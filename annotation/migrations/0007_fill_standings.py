"""Who judges already is qualified; and standing changes are only ever added."""

from django.db import migrations

FORWARD = """
INSERT INTO annotation_standingchange (membership_id, from_standing, to_standing, actor_id, reason, created_at)
SELECT id, '', 'qualified', NULL, 'Judged here before qualification was kept.', now()
FROM annotation_membership WHERE role = 'annotator' ORDER BY id;
UPDATE annotation_membership SET standing = 'qualified' WHERE role = 'annotator';

CREATE FUNCTION standing_change_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'standing changes are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER standing_change_is_append_only BEFORE UPDATE OR DELETE ON annotation_standingchange
    FOR EACH ROW EXECUTE FUNCTION standing_change_is_append_only();
"""
BACKWARD = """
DROP TRIGGER standing_change_is_append_only ON annotation_standingchange;
DROP FUNCTION standing_change_is_append_only();
DELETE FROM annotation_standingchange;
UPDATE annotation_membership SET standing = '';
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_standings")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
