"""Reading what was decided about one thing."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0012_prompts_and_serving_captions'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['subject', '-id'], name='audit_by_subject_newest'),
        ),
    ]
