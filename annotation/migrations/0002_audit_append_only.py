"""AuditEvent rows are only ever added: the database refuses to change or delete one."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION audit_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE OR DELETE ON annotation_auditevent
    FOR EACH ROW EXECUTE FUNCTION audit_event_is_append_only();
"""
BACKWARD = """
DROP TRIGGER audit_event_is_append_only ON annotation_auditevent;
DROP FUNCTION audit_event_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
