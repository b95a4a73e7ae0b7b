"""Rounds in which writers mark moments and write queries; nobody writes who has graded."""

from pathlib import Path

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('annotation', '0014_new_moments'),
        ('judging', '0010_topics'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='invitation',
            name='role',
            field=models.CharField(choices=[('annotator', 'Annotator'), ('lead', 'Lead'), ('admin', 'Admin'), ('writer', 'Writer'), ('checker', 'Checker'), ('participant', 'Participant')], default='annotator', max_length=20),
        ),
        migrations.CreateModel(
            name='WritingClip',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('state', models.CharField(choices=[('open', 'Open'), ('done', 'Done'), ('exhausted', 'Exhausted')], default='open', max_length=9)),
                ('n_queries', models.PositiveSmallIntegerField(default=0)),
                ('video', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='writing_clips', to='annotation.video')),
            ],
        ),
        migrations.CreateModel(
            name='ClipAssignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('state', models.CharField(choices=[('open', 'Open'), ('finished', 'Finished'), ('exhausted', 'Exhausted'), ('returned', 'Returned'), ('lapsed', 'Lapsed')], default='open', max_length=9)),
                ('type_requested', models.CharField(choices=[('v', 'Video'), ('t', 'Subtitle'), ('vt', 'Video and subtitle')], help_text='What the round needs most.', max_length=2)),
                ('n_queries', models.PositiveSmallIntegerField(default=0, help_text='Written under it.')),
                ('expires_at', models.DateTimeField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('draft_text', models.CharField(blank=True, max_length=2000)),
                ('draft_type', models.CharField(blank=True, choices=[('v', 'Video'), ('t', 'Subtitle'), ('vt', 'Video and subtitle')], max_length=2)),
                ('draft_start_s', models.FloatField(null=True)),
                ('draft_end_s', models.FloatField(null=True)),
                ('draft_version', models.PositiveIntegerField(default=0, help_text='Of a page that is older, nothing is saved.')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='clip_assignments', to='accounts.project')),
                ('writer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='clip_assignments', to=settings.AUTH_USER_MODEL)),
                ('clip', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='judging.writingclip')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WritingRound',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=100)),
                ('share_v', models.PositiveSmallIntegerField(default=75, help_text='Of queries about the video; 0: none.')),
                ('share_t', models.PositiveSmallIntegerField(default=9, help_text='Of queries about the subtitles.')),
                ('share_vt', models.PositiveSmallIntegerField(default=16, help_text='Of queries about both.')),
                ('queries_per_clip', models.PositiveSmallIntegerField(default=5, help_text='Of all writers together.')),
                ('queries_per_visit', models.PositiveSmallIntegerField(default=1, help_text='Of one writer, each for a moment.')),
                ('least_tokens', models.PositiveSmallIntegerField(default=8, help_text='Words and signs of a query.')),
                ('most_overlap', models.FloatField(default=0.8, help_text='Share of words from which a line is copied.')),
                ('state', models.CharField(choices=[('open', 'Open'), ('paused', 'Paused'), ('closed', 'Closed')], default='open', max_length=6)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='writing_rounds', to='accounts.project')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='writingclip',
            name='round',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='clips', to='judging.writinground'),
        ),
        migrations.CreateModel(
            name='WritingRoundMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='judging.writinground')),
                ('writer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='WrittenQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('key', models.UUIDField(help_text='Of the form: sent twice, it is one query.', unique=True)),
                ('text', models.CharField(max_length=500)),
                ('type', models.CharField(choices=[('v', 'Video'), ('t', 'Subtitle'), ('vt', 'Video and subtitle')], max_length=2)),
                ('start_s', models.FloatField()),
                ('end_s', models.FloatField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='queries', to='judging.clipassignment')),
                ('clip', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='queries', to='judging.writingclip')),
                ('writer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='written_queries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'written queries',
                'ordering': ['id'],
            },
        ),
        migrations.AddIndex(
            model_name='clipassignment',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['project', 'expires_at'], name='clip_assignment_by_lease'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.UniqueConstraint(fields=('clip', 'writer'), name='clip_assignment_once_per_clip_and_writer'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('clip',), name='clip_assignment_open_once_per_clip'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('project', 'writer'), name='clip_assignment_open_once_per_writer'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'finished', 'exhausted', 'returned', 'lapsed'])), name='clip_assignment_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='clip_assignment_ended_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(('draft_type__in', ['', 'v', 't', 'vt']), ('type_requested__in', ['v', 't', 'vt'])), name='clip_assignment_types_are_known'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='writing_round_name_once_per_project', violation_error_message='There is a round of this name.'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'paused', 'closed'])), name='writing_round_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='writing_round_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.CheckConstraint(condition=models.Q(('share_t__lte', 100), ('share_v__lte', 100), ('share_vt__lte', 100), models.Q(('share_v__gt', 0), ('share_t__gt', 0), ('share_vt__gt', 0), _connector='OR')), name='writing_round_asks_for_a_type', violation_error_message='Shares go from 0 to 100, and one type at least has more than 0.'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.CheckConstraint(condition=models.Q(('queries_per_visit__gte', 1), ('queries_per_visit__lte', models.F('queries_per_clip')), ('queries_per_clip__lte', 50)), name='writing_round_has_1_to_50_queries_per_clip', violation_error_message='A clip gets 1 to 50 queries, and one writer as many at the most.'),
        ),
        migrations.AddConstraint(
            model_name='writinground',
            constraint=models.CheckConstraint(condition=models.Q(('least_tokens__range', (1, 50)), ('most_overlap__gt', 0), ('most_overlap__lte', 1)), name='writing_round_checks_are_possible', violation_error_message='A query has at least 1 to 50 words, and the overlap is above 0 and at most 1.'),
        ),
        migrations.AddIndex(
            model_name='writingclip',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['round', '-n_queries', 'id'], name='writing_clip_to_be_taken'),
        ),
        migrations.AddConstraint(
            model_name='writingclip',
            constraint=models.UniqueConstraint(fields=('round', 'video'), name='writing_clip_once_per_round'),
        ),
        migrations.AddConstraint(
            model_name='writingclip',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'done', 'exhausted'])), name='writing_clip_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='writingroundmember',
            constraint=models.UniqueConstraint(fields=('round', 'writer'), name='writing_round_member_once'),
        ),
        migrations.AddConstraint(
            model_name='writtenquery',
            constraint=models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='written_query_has_words'),
        ),
        migrations.AddConstraint(
            model_name='writtenquery',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['v', 't', 'vt'])), name='written_query_type_is_known'),
        ),
        migrations.AddConstraint(
            model_name='writtenquery',
            constraint=models.CheckConstraint(condition=models.Q(('start_s__gte', 0), ('start_s__lt', models.F('end_s'))), name='written_query_starts_before_end'),
        ),
        migrations.RunSQL(Path(__file__).with_name("collection.sql").read_text()),
    ]
