"""Checkers accept, correct or reject what writers wrote; writers can be stopped."""

from pathlib import Path

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('annotation', '0017_video_folders'),
        ('judging', '0012_retirement'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='QueryCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('decision', models.CharField(choices=[('accept', 'Accept'), ('correct', 'Correct'), ('reject', 'Reject')], max_length=7)),
                ('reason', models.CharField(blank=True, choices=[('wrong', 'It does not describe the moment'), ('not_only', 'Other moments of the clip fit it, too'), ('bounds', 'The moment begins or ends elsewhere'), ('repeated', 'It repeats another query'), ('type', 'Its type is wrong'), ('language', 'Its language'), ('other', 'Something else')], help_text='Of a rejection.', max_length=8)),
                ('note', models.CharField(blank=True, help_text="In the checker's words.", max_length=500)),
                ('start_s', models.FloatField(help_text='Of the moment, as the checker has it.')),
                ('end_s', models.FloatField()),
                ('moment_is_new', models.BooleanField(default=False, help_text='Whether the moment of the corpus was made for it.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('undone_at', models.DateTimeField(help_text='When the checker took it back.', null=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WriterStop',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(help_text='From then on, checks are counted anew.', null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='clipassignment',
            name='clip_assignment_state_is_known',
        ),
        migrations.AddField(
            model_name='clipassignment',
            name='n_sent_back',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Rejected queries whose place in the clip is kept for its writer.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='writing_accepted',
            field=models.PositiveSmallIntegerField(db_default=0, default=50),
        ),
        migrations.AddField(
            model_name='policy',
            name='writing_checks',
            field=models.PositiveSmallIntegerField(db_default=10, default=10),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='checker',
            field=models.ForeignKey(help_text='Who looks at it now.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='checker_until',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='description',
            field=models.OneToOneField(help_text='Of an accepted query.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='written_query', to='annotation.description'),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('accepted', 'Accepted'), ('sent_back', 'sent back'), ('rejected', 'Rejected')], db_default='waiting', default='waiting', max_length=9),
        ),
        migrations.AlterField(
            model_name='clipassignment',
            name='n_queries',
            field=models.PositiveSmallIntegerField(default=0, help_text='Written under it; rejected ones do not count.'),
        ),
        migrations.AlterField(
            model_name='clipassignment',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('finished', 'Finished'), ('exhausted', 'Exhausted'), ('returned', 'Returned'), ('lapsed', 'Lapsed'), ('sent_back', 'Sent Back')], default='open', max_length=9),
        ),
        migrations.AddIndex(
            model_name='writtenquery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['id'], name='written_query_waiting'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'finished', 'exhausted', 'returned', 'lapsed', 'sent_back'])), name='clip_assignment_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('n_sent_back__gte', 1), ('n_sent_back__lte', models.F('n_queries')), ('state', 'sent_back')), models.Q(models.Q(('state', 'sent_back'), _negated=True), ('n_sent_back', 0)), _connector='OR'), name='clip_assignment_sent_back_has_queries'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('writing_accepted__lte', 100), ('writing_checks__gte', 1)), name='policy_writing_is_a_share', violation_error_message='The accepted share lies between 0 and 100 %, after one check at least.'),
        ),
        migrations.AddConstraint(
            model_name='writtenquery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('description__isnull', True), ('state__in', ['waiting', 'sent_back', 'rejected'])), models.Q(('description__isnull', False), ('state', 'accepted')), _connector='OR'), name='written_query_accepted_is_described'),
        ),
        migrations.AddConstraint(
            model_name='writtenquery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('checker__isnull', True), ('checker_until__isnull', True)), models.Q(('checker__isnull', False), ('checker_until__isnull', False), ('state', 'waiting')), _connector='OR'), name='written_query_looked_at_waits'),
        ),
        migrations.AddField(
            model_name='querycheck',
            name='checker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='query_checks', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='querycheck',
            name='query',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='checks', to='judging.writtenquery'),
        ),
        migrations.AddField(
            model_name='writerstop',
            name='created_by',
            field=models.ForeignKey(help_text='Empty: by the policy.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='writerstop',
            name='ended_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='writerstop',
            name='project',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='writer_stops', to='accounts.project'),
        ),
        migrations.AddField(
            model_name='writerstop',
            name='writer',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='writer_stops', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='querycheck',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at__isnull', True)), fields=('query',), name='query_check_once_per_query'),
        ),
        migrations.AddConstraint(
            model_name='querycheck',
            constraint=models.CheckConstraint(condition=models.Q(('decision__in', ['accept', 'correct', 'reject'])), name='query_check_decision_is_known'),
        ),
        migrations.AddConstraint(
            model_name='querycheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('decision', 'reject'), ('reason__in', ['wrong', 'not_only', 'bounds', 'repeated', 'type', 'language'])), models.Q(('decision', 'reject'), ('reason', 'other'), models.Q(('note', ''), _negated=True)), models.Q(('decision', 'correct'), ('reason', ''), models.Q(('note', ''), _negated=True)), models.Q(('decision', 'accept'), ('reason', '')), _connector='OR'), name='query_check_says_why'),
        ),
        migrations.AddConstraint(
            model_name='querycheck',
            constraint=models.CheckConstraint(condition=models.Q(('start_s__gte', 0), ('start_s__lt', models.F('end_s'))), name='query_check_starts_before_end'),
        ),
        migrations.AddConstraint(
            model_name='writerstop',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('project', 'writer'), name='writer_stop_once_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='writerstop',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='writer_stop_says_why'),
        ),
        migrations.RunSQL(Path(__file__).with_name("checking.sql").read_text()),
    ]
