"""The audit is found by time, action, person and words, and cannot be emptied at a stroke either."""

import django.contrib.postgres.indexes
from django.conf import settings
from django.db import migrations, models

import annotation.models.audit

FORWARD = """
CREATE TRIGGER audit_event_is_never_emptied BEFORE TRUNCATE ON annotation_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION audit_event_is_append_only();
"""
BACKWARD = "DROP TRIGGER audit_event_is_never_emptied ON annotation_auditevent;"


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0023_caption_redos"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RemoveIndex(model_name="auditevent", name="audit_by_project_newest"),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["project", "-created_at", "-id"], name="audit_by_project_and_time"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["project", "action", "-created_at", "-id"], name="audit_by_action_and_time"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["project", "actor", "-created_at", "-id"], name="audit_by_actor_and_time"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=django.contrib.postgres.indexes.GinIndex(
                annotation.models.audit.AuditWords("data"), name="audit_by_words"
            ),
        ),
    ]
