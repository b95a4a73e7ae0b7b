"""Clips of retired videos are handed to nobody."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0016_retirement'),
        ('judging', '0011_collection'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='writingclip',
            name='writing_clip_state_is_known',
        ),
        migrations.AlterField(
            model_name='writingclip',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('done', 'Done'), ('exhausted', 'Exhausted'), ('retired', 'Retired')], default='open', max_length=9),
        ),
        migrations.AddConstraint(
            model_name='writingclip',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'done', 'exhausted', 'retired'])), name='writing_clip_state_is_known'),
        ),
    ]
