"""What an annotator gave, gold among it, as one view."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE VIEW judging_owngrade AS
SELECT uuid, pair_id, assignment_id, annotator_id, grade, comment, created_at
FROM judging_judgment WHERE assignment_id IS NOT NULL
UNION ALL
SELECT uuid, pair_id, assignment_id, annotator_id, grade, comment, created_at FROM judging_goldgrade;
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0010_only_the_qualified_judge"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.RunSQL(FORWARD, "DROP VIEW judging_owngrade"),
        migrations.CreateModel(
            name='OwnGrade',
            fields=[
                ('uuid', models.UUIDField(primary_key=True, serialize=False)),
                ('grade', models.PositiveSmallIntegerField()),
                ('comment', models.TextField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'judging_owngrade',
                'managed': False,
            },
        ),
    ]
