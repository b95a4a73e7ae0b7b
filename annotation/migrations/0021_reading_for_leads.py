"""What pages of leads read: what was decided about one thing, and how many queries there are to judge."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0020_coverage_studies'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['subject', '-id'], name='audit_by_subject_newest'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(condition=models.Q(('is_placeholder', False), ('judged_as__isnull', True), ('split__in', ['val', 'test'])), fields=['project'], name='query_to_be_judged'),
        ),
    ]
