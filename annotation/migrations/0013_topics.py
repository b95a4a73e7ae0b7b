"""Topics: queries with a description and a narrative, in versions, and files of them."""

from pathlib import Path

import core.uploads
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_rules'),
        ('annotation', '0012_proposals'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Topic',
            fields=[
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('query', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='topic', serialize=False, to='annotation.query')),
            ],
        ),
        migrations.CreateModel(
            name='TopicImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('skip_bad', models.BooleanField(default=False, help_text='Import the rest of a file with bad lines.')),
                ('file', models.FileField(blank=True, max_length=255, upload_to=core.uploads.import_path)),
                ('file_name', models.CharField(max_length=200)),
                ('state', models.CharField(choices=[('checking', 'Checking'), ('checked', 'Checked'), ('importing', 'Importing'), ('done', 'Done'), ('failed', 'Failed'), ('discarded', 'Discarded')], default='checking', max_length=10)),
                ('bytes_read', models.PositiveBigIntegerField(default=0)),
                ('bytes_total', models.PositiveBigIntegerField(default=0)),
                ('counts', models.JSONField(default=dict)),
                ('report', models.FileField(blank=True, max_length=255, upload_to=core.uploads.import_path)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('format', models.CharField(max_length=5)),
                ('split', models.CharField(choices=[('train', 'Train'), ('val', 'Val'), ('test', 'Test')], max_length=5)),
                ('query_set', models.CharField(help_text='The name of the set that the new queries go to.', max_length=100)),
                ('preview', models.JSONField(default=list, help_text='The first topics, as they will be stored.')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='topic_imports', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='topic_imports', to='accounts.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['checking', 'importing'])), fields=('owner',), name='topic_import_one_at_work_per_owner'), models.CheckConstraint(condition=models.Q(('state__in', ['checking', 'checked', 'importing', 'done', 'failed', 'discarded'])), name='topic_import_state_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['checking', 'checked', 'importing']), _negated=True), models.Q(('file', ''), _negated=True), _connector='OR'), name='topic_import_waiting_has_its_file'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='topic_import_failed_says_why'), models.CheckConstraint(condition=models.Q(('bytes_read__lte', models.F('bytes_total'))), name='topic_import_read_within_total'), models.CheckConstraint(condition=models.Q(('split__in', ['val', 'test'])), name='topic_import_split_is_judged')],
            },
        ),
        migrations.CreateModel(
            name='TopicVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField()),
                ('title', models.TextField(help_text='The text of the query, which annotators see and moments are ranked by.')),
                ('description', models.TextField(blank=True)),
                ('narrative', models.TextField(blank=True, help_text='What is relevant and what is not.')),
                ('judgments_imported', models.PositiveIntegerField(default=0, help_text='Judgments given under it, as an imported release says.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('topic', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='annotation.topic')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('topic', 'version'), name='topic_version_once_per_topic'), models.CheckConstraint(condition=models.Q(('version__gte', 1)), name='topic_version_from_1'), models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='topic_version_has_a_title')],
            },
        ),
        migrations.RunSQL(Path(__file__).with_name("topics.sql").read_text()),
    ]
