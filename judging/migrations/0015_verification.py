"""People say how far statements about descriptions and their moments hold."""

from pathlib import Path

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('annotation', '0017_video_folders'),
        ('judging', '0014_writing_time'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='VerificationStatement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField(help_text='From 1.')),
                ('text', models.CharField(max_length=200)),
            ],
            options={
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='VerificationPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('position', models.PositiveIntegerField(help_text='In the order of the draw, from 1.')),
                ('start_s', models.FloatField()),
                ('end_s', models.FloatField()),
                ('description', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verification_pairs', to='annotation.description')),
            ],
            options={
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='VerificationAssignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('expires_at', models.DateTimeField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('undone_at', models.DateTimeField(help_text='When the person took the answers back.', null=True)),
                ('verifier', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verification_assignments', to=settings.AUTH_USER_MODEL)),
                ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='judging.verificationpair')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='VerificationAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.PositiveSmallIntegerField(choices=[(1, 'strongly disagree'), (2, 'disagree'), (3, 'neutral'), (4, 'agree'), (5, 'strongly agree')])),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='judging.verificationassignment')),
                ('statement', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='judging.verificationstatement')),
            ],
            options={
                'ordering': ['statement__position'],
            },
        ),
        migrations.CreateModel(
            name='VerificationStudy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=100)),
                ('seed', models.PositiveIntegerField(help_text='The sample and its order follow from it.')),
                ('n_pairs', models.PositiveIntegerField(help_text='Size of the sample.')),
                ('answers_per_pair', models.PositiveSmallIntegerField(default=1, help_text='People who answer for each pair.')),
                ('state', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed')], default='open', max_length=6)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verification_studies', to='accounts.project')),
                ('round', models.ForeignKey(help_text='Empty: of the whole corpus.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.writinground')),
            ],
            options={
                'verbose_name_plural': 'verification studies',
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='verificationstatement',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='statements', to='judging.verificationstudy'),
        ),
        migrations.AddField(
            model_name='verificationpair',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pairs', to='judging.verificationstudy'),
        ),
        migrations.CreateModel(
            name='VerificationInspection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('checker_until', models.DateTimeField(null=True)),
                ('decision', models.CharField(blank=True, choices=[('accept', 'Accept'), ('correct', 'Correct'), ('reject', 'Reject')], help_text='Empty: it waits.', max_length=7)),
                ('reason', models.CharField(blank=True, choices=[('wrong', 'It does not describe the moment'), ('not_only', 'Other moments of the clip fit it, too'), ('bounds', 'The moment begins or ends elsewhere'), ('repeated', 'It repeats another query'), ('type', 'Its type is wrong'), ('language', 'Its language'), ('other', 'Something else')], help_text='Of a rejection.', max_length=8)),
                ('note', models.CharField(blank=True, help_text="In the checker's words.", max_length=500)),
                ('start_s', models.FloatField(help_text='Of the moment, as the checker has it.', null=True)),
                ('end_s', models.FloatField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('checker', models.ForeignKey(help_text='Who looks at it, and then who decided.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='verification_inspections', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('pair', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='inspection', to='judging.verificationpair')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('checker__isnull', True), ('checker_until__isnull', True), ('decided_at__isnull', True), ('decision', '')), models.Q(('checker__isnull', False), ('checker_until__isnull', False), ('decided_at__isnull', True), ('decision', '')), models.Q(('checker__isnull', False), ('checker_until__isnull', True), ('decided_at__isnull', False), ('decision__in', ['accept', 'correct', 'reject']), ('end_s__isnull', False), ('start_s__isnull', False)), _connector='OR'), name='verification_inspection_waits_or_is_decided'), models.CheckConstraint(condition=models.Q(models.Q(('decision__in', ['', 'accept']), ('reason', '')), models.Q(('decision', 'correct'), ('reason', ''), models.Q(('note', ''), _negated=True)), models.Q(('decision', 'reject'), ('reason__in', ['wrong', 'not_only', 'bounds', 'repeated', 'type', 'language'])), models.Q(('decision', 'reject'), ('reason', 'other'), models.Q(('note', ''), _negated=True)), _connector='OR'), name='verification_inspection_says_why'), models.CheckConstraint(condition=models.Q(models.Q(('end_s__isnull', True), ('start_s__isnull', True)), models.Q(('start_s__gte', 0), ('start_s__lt', models.F('end_s'))), _connector='OR'), name='verification_inspection_starts_before_end')],
            },
        ),
        migrations.AddConstraint(
            model_name='verificationassignment',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at__isnull', True)), fields=('pair', 'verifier'), name='verification_assignment_once_per_pair_and_person'),
        ),
        migrations.AddConstraint(
            model_name='verificationassignment',
            constraint=models.CheckConstraint(condition=models.Q(('undone_at__isnull', True), ('answered_at__isnull', False), _connector='OR'), name='verification_assignment_undone_has_answers'),
        ),
        migrations.AddConstraint(
            model_name='verificationanswer',
            constraint=models.UniqueConstraint(fields=('assignment', 'statement'), name='verification_answer_once_per_statement'),
        ),
        migrations.AddConstraint(
            model_name='verificationanswer',
            constraint=models.CheckConstraint(condition=models.Q(('value__range', (1, 5))), name='verification_answer_value_from_1_to_5'),
        ),
        migrations.AddConstraint(
            model_name='verificationstudy',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='verification_study_name_once_per_project', violation_error_message='There is a study of this name.'),
        ),
        migrations.AddConstraint(
            model_name='verificationstudy',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='verification_study_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='verificationstudy',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'closed'])), name='verification_study_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='verificationstudy',
            constraint=models.CheckConstraint(condition=models.Q(('n_pairs__range', (1, 10000))), name='verification_study_has_pairs'),
        ),
        migrations.AddConstraint(
            model_name='verificationstudy',
            constraint=models.CheckConstraint(condition=models.Q(('answers_per_pair__range', (1, 5))), name='verification_study_asks_1_to_5_people'),
        ),
        migrations.AddConstraint(
            model_name='verificationstatement',
            constraint=models.UniqueConstraint(fields=('study', 'position'), name='verification_statement_position_once'),
        ),
        migrations.AddConstraint(
            model_name='verificationstatement',
            constraint=models.UniqueConstraint(fields=('study', 'text'), name='verification_statement_text_once'),
        ),
        migrations.AddConstraint(
            model_name='verificationstatement',
            constraint=models.CheckConstraint(condition=models.Q(('position__range', (1, 9))), name='verification_statement_position_from_1_to_9'),
        ),
        migrations.AddConstraint(
            model_name='verificationstatement',
            constraint=models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='verification_statement_has_words'),
        ),
        migrations.AddConstraint(
            model_name='verificationpair',
            constraint=models.UniqueConstraint(fields=('study', 'description'), name='verification_pair_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='verificationpair',
            constraint=models.UniqueConstraint(fields=('study', 'position'), name='verification_pair_position_once'),
        ),
        migrations.AddConstraint(
            model_name='verificationpair',
            constraint=models.CheckConstraint(condition=models.Q(('start_s__gte', 0), ('start_s__lt', models.F('end_s'))), name='verification_pair_starts_before_end'),
        ),
        migrations.RunSQL(Path(__file__).with_name("verification.sql").read_text()),
    ]
