"""Folders of the server whose videos are added."""

import django.db.models.deletion
import django.db.models.expressions
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('annotation', '0016_retirement'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='VideoFolder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('path', models.CharField(help_text='Absolute, on the server.', max_length=1000)),
                ('state', models.CharField(choices=[('running', 'Running'), ('cancelled', 'Cancelled'), ('failed', 'Failed'), ('done', 'Done')], default='running', max_length=9)),
                ('last_name', models.CharField(blank=True, help_text='Of the last file that was looked at.', max_length=300)),
                ('n_done', models.PositiveIntegerField(default=0, help_text='Files that were looked at.')),
                ('n_files', models.PositiveIntegerField(default=0, help_text='Files of videos in the folder.')),
                ('n_added', models.PositiveIntegerField(default=0)),
                ('n_problems', models.PositiveIntegerField(default=0, help_text='Files that could not be added.')),
                ('problems', models.JSONField(default=list, help_text='The first of them: pairs of file and reason.')),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('moved_at', models.DateTimeField(auto_now_add=True, help_text='When its progress was last written.')),
                ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='video_folders', to='annotation.corpus')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='video_folders', to='accounts.project')),
                ('started_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('corpus',), name='video_folder_running_once_per_corpus'), models.CheckConstraint(condition=models.Q(('state__in', ['running', 'cancelled', 'failed', 'done'])), name='video_folder_state_is_known'), models.CheckConstraint(condition=models.Q(('path__startswith', '/')), name='video_folder_path_is_absolute'), models.CheckConstraint(condition=models.Q(('n_done__gte', django.db.models.expressions.CombinedExpression(models.F('n_added'), '+', models.F('n_problems'))), ('n_done__lte', models.F('n_files'))), name='video_folder_done_within_its_files'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='video_folder_failed_says_why')],
            },
        ),
    ]
