"""A video is retired: its files are gone, and nothing new is made of it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0015_replacements'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='video',
            name='retired_at',
            field=models.DateTimeField(help_text='When its files were removed for good.', null=True),
        ),
        migrations.AddField(
            model_name='video',
            name='retired_because',
            field=models.CharField(blank=True, db_default='', default='', max_length=1000),
        ),
        migrations.AddField(
            model_name='video',
            name='retired_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='moment',
            name='preview_state',
            field=models.CharField(choices=[('missing', 'Missing'), ('ready', 'Ready'), ('failed', 'Failed'), ('placeholder', 'Placeholder'), ('retired', 'Retired')], default='missing', max_length=12),
        ),
        migrations.AddConstraint(
            model_name='moment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('preview_state', 'retired'), _negated=True), models.Q(('poster', ''), ('preview', ''), ('preview_clip', '')), _connector='OR'), name='moment_retired_has_no_files'),
        ),
        migrations.AddConstraint(
            model_name='video',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('retired_at__isnull', True), ('retired_because', ''), ('retired_by__isnull', True)), models.Q(('file', ''), ('playback', ''), ('poster', ''), ('retired_at__isnull', False), models.Q(('retired_because', ''), _negated=True)), _connector='OR'), name='video_retired_says_why_and_has_no_file'),
        ),
    ]
