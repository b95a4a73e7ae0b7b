"""Adds the pictures that stand for videos."""

import annotation.corpora.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0006_caption_rejected'),
    ]

    operations = [
        migrations.AddField(
            model_name='video',
            name='poster',
            field=models.FileField(blank=True, db_default='', default='', help_text='A picture that stands for it.', max_length=255, upload_to=annotation.corpora.models.poster_path),
        ),
        migrations.AddField(
            model_name='video',
            name='poster_state',
            field=models.CharField(choices=[('missing', 'Missing'), ('requested', 'Requested'), ('ready', 'Ready'), ('failed', 'Failed')], db_default='missing', default='missing', max_length=9),
        ),
        migrations.AddIndex(
            model_name='video',
            index=models.Index(condition=models.Q(('poster_state', 'requested')), fields=['id'], name='video_with_poster_requested'),
        ),
        migrations.AddConstraint(
            model_name='video',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('poster', ''), ('poster_state__in', ['missing', 'requested', 'failed'])), models.Q(('poster_state', 'ready'), models.Q(('poster', ''), _negated=True)), _connector='OR'), name='video_poster_ready_is_there'),
        ),
    ]
