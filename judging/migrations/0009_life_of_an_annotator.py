"""Invitations, exams, pairs of known truth, the gate, gold grades, quality and pay."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0008_annotators_have_a_standing'),
        ('judging', '0008_pairs_put_back'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Exam',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('cohort', 'Cohort'), ('stored', 'Stored')], max_length=6)),
                ('state', models.CharField(choices=[('preparing', 'Preparing'), ('open', 'Open'), ('closed', 'Closed'), ('failed', 'Failed')], default='preparing', max_length=9)),
                ('seed', models.PositiveIntegerField()),
                ('queries', models.PositiveSmallIntegerField(default=10)),
                ('depth', models.PositiveSmallIntegerField(default=10)),
                ('error', models.TextField(blank=True)),
                ('report', models.JSONField(default=dict, help_text='Of the cohort; empty until it is computed.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('closed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exams', to='annotation.project')),
            ],
            options={
                'ordering': ['-number'],
                'constraints': [
                    models.UniqueConstraint(fields=('project', 'number'), name='exam_number_once_per_project'),
                    models.UniqueConstraint(condition=models.Q(('state__in', ['preparing', 'open'])), fields=('project',), name='exam_one_at_a_time', violation_error_message='Close the exam that is open first.'),
                    models.CheckConstraint(condition=models.Q(('depth__gte', 1), ('queries__gte', 1)), name='exam_asks_for_something'),
                    models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('state', 'closed')), models.Q(models.Q(('state', 'closed'), _negated=True), ('closed_at__isnull', True)), _connector='OR'), name='exam_closed_has_its_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GateAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('asked', models.JSONField(help_text='Each question as it was shown: uuid, description, options, correct.')),
                ('answers', models.JSONField(default=list, help_text='The chosen place for each, in the same order.')),
                ('passing', models.PositiveSmallIntegerField(help_text='Right answers needed.')),
                ('score', models.PositiveSmallIntegerField(help_text='Right answers; null until answered.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gate_attempts', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gate_attempts', to='annotation.project')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('answered_at__isnull', True)), fields=('project', 'annotator'), name='gate_attempt_one_at_a_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('answered_at__isnull', True), ('score__isnull', True)), models.Q(('answered_at__isnull', False), ('score__isnull', False)), _connector='OR'), name='gate_attempt_answered_has_its_score'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GateQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('description', models.TextField()),
                ('options', models.JSONField(help_text='Two to six texts.')),
                ('correct', models.PositiveSmallIntegerField(help_text='Place of the right option, from 0.')),
                ('is_retired', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('moment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.moment')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gate_questions', to='annotation.project')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('description', ''), _negated=True), name='gate_question_says_something'),
                    models.CheckConstraint(condition=models.Q(('correct__lte', 5)), name='gate_question_has_a_right_option'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GoldGrade',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, help_text='The key of the form that gave it.', unique=True)),
                ('grade', models.PositiveSmallIntegerField()),
                ('truth', models.PositiveSmallIntegerField(help_text="The pair's relevance when it was asked; null where it is asked for company only.", null=True)),
                ('revision', models.PositiveSmallIntegerField(default=0)),
                ('history', models.JSONField(default=list, help_text='Each form that spoke: its key, grade and time.')),
                ('position', models.PositiveSmallIntegerField()),
                ('comment', models.TextField(blank=True)),
                ('active_ms', models.PositiveIntegerField(null=True)),
                ('source', models.CharField(choices=[('person', 'Person'), ('simulated', 'Simulated'), ('imported', 'Imported')], max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('annotator', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='gold_grades', to=settings.AUTH_USER_MODEL)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gold_grades', to='judging.assignment')),
                ('guideline', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.guideline')),
                ('pair', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='gold_grades', to='judging.pair')),
                ('policy', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.policy')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['annotator', 'created_at'], name='gold_by_annotator_and_day'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('pair', 'annotator'), name='gold_grade_once_per_pair_and_annotator'),
                    models.CheckConstraint(condition=models.Q(('grade__range', (0, 4)), models.Q(('truth__isnull', True), ('truth__range', (0, 4)), _connector='OR')), name='gold_grade_from_0_to_4'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GuidelineConfirmation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='guideline_confirmations', to=settings.AUTH_USER_MODEL)),
                ('guideline', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='confirmations', to='judging.guideline')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('guideline', 'annotator'), name='guideline_confirmation_once_per_annotator'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HoursCorrection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('day', models.DateField()),
                ('seconds', models.IntegerField()),
                ('reason', models.CharField(max_length=1000)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hours_corrections', to=settings.AUTH_USER_MODEL)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hours_corrections', to='annotation.project')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('seconds', 0), _negated=True), models.Q(('reason', ''), _negated=True)), name='hours_correction_says_what_and_why'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('role', models.CharField(choices=[('annotator', 'Annotator'), ('lead', 'Lead'), ('admin', 'Admin')], default='annotator', max_length=20)),
                ('digest', models.CharField(help_text='SHA-256 of the secret, in hexadecimal.', max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('accepted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('identity', models.ForeignKey(help_text='Whom it was mailed to, if anybody.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='invitations', to='annotation.identity')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='annotation.project')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='invitation_is_kept_as_digest'),
                    models.CheckConstraint(condition=models.Q(models.Q(('accepted_at__isnull', True), ('accepted_by__isnull', True)), models.Q(('accepted_at__isnull', False), ('accepted_by__isnull', False), ('revoked_at__isnull', True)), _connector='OR'), name='invitation_accepted_by_somebody'),
                    models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='invitation_lasts'),
                ],
            },
        ),
        migrations.CreateModel(
            name='KnownPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('rank', models.PositiveSmallIntegerField(null=True)),
                ('source', models.CharField(choices=[('exam', 'Exam'), ('settled', 'Settled'), ('lead', 'Lead')], max_length=7)),
                ('truth', models.DecimalField(decimal_places=1, help_text='0 to 4 in halves.', max_digits=2, null=True)),
                ('explanation', models.TextField(blank=True, help_text='Why this grade; shown to who graded otherwise.')),
                ('tutorial_position', models.PositiveSmallIntegerField(help_text='Place in the tutorial, from 1.', null=True)),
                ('is_retired', models.BooleanField(default=False, help_text='A lead found it unfit; nobody is asked it again.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('exam', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='known_pairs', to='judging.exam')),
                ('moment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='known_pairs', to='annotation.moment')),
                ('pair', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='known_pair', to='judging.pair')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='known_pairs', to='annotation.project')),
                ('query', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='known_pairs', to='annotation.query')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('project', 'query', 'moment'), name='known_pair_once_per_project'),
                    models.CheckConstraint(condition=models.Q(('truth__isnull', True), ('truth__in', [Decimal('0'), Decimal('0.5'), Decimal('1'), Decimal('1.5'), Decimal('2'), Decimal('2.5'), Decimal('3'), Decimal('3.5'), Decimal('4')]), _connector='OR'), name='known_pair_truth_is_a_median'),
                    models.CheckConstraint(condition=models.Q(models.Q(('exam__isnull', False), ('pair__isnull', True), ('source', 'exam')), models.Q(('exam__isnull', True), ('pair__isnull', False), ('source', 'settled'), ('truth__isnull', False)), models.Q(('exam__isnull', True), ('pair__isnull', True), ('source', 'lead')), _connector='OR'), name='known_pair_says_where_its_truth_is_from'),
                    models.CheckConstraint(condition=models.Q(('tutorial_position__isnull', True), models.Q(('source', 'lead'), ('truth__isnull', False)), _connector='OR'), name='known_pair_of_the_tutorial_has_its_truth'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PayRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('rate', models.DecimalField(decimal_places=2, max_digits=8)),
                ('currency', models.CharField(max_length=3)),
                ('from_day', models.DateField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pay_rates', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pay_rates', to='annotation.project')),
                ('set_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$'), ('rate__gte', 0)), name='pay_rate_is_an_amount'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QualityAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('kappa', 'Low agreement with settled relevance or with partners'), ('bias', 'Grades higher or lower than others'), ('gold', 'Misaligned on pairs of known truth'), ('fast', 'Many judgments in very little time'), ('run', 'A long run of one grade')], max_length=5)),
                ('value', models.FloatField()),
                ('threshold', models.FloatField()),
                ('judgments', models.PositiveIntegerField(help_text='Given by the annotator when it was raised.')),
                ('raised_at', models.DateTimeField(auto_now_add=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, max_length=1000)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quality_alerts', to='annotation.project')),
                ('seen_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('seen_at__isnull', True)), fields=('project', 'annotator', 'kind'), name='quality_alert_one_unseen_of_a_kind'),
                    models.CheckConstraint(condition=models.Q(models.Q(('seen_at__isnull', True), ('seen_by__isnull', True)), models.Q(('seen_at__isnull', False), ('seen_by__isnull', False)), _connector='OR'), name='quality_alert_seen_by_somebody'),
                ],
            },
        ),
        migrations.CreateModel(
            name='QualityReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('data', models.JSONField()),
                ('last_judgment', models.BigIntegerField(default=0, help_text='The newest judgment that it counts.')),
                ('computed_at', models.DateTimeField()),
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='quality_report', to='annotation.project')),
            ],
        ),
        migrations.CreateModel(
            name='Sitting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('purpose', models.CharField(choices=[('tutorial', 'Tutorial'), ('exam', 'Exam'), ('warm-up', 'Warm Up')], max_length=8)),
                ('seed', models.PositiveIntegerField(help_text='The order of the pairs follows from it.')),
                ('known_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='The pairs, in the order shown.', size=None)),
                ('state', models.CharField(choices=[('open', 'Open'), ('waiting', 'Waiting'), ('feedback', 'Feedback'), ('done', 'Done'), ('missed', 'Missed')], default='open', max_length=8)),
                ('report', models.JSONField(default=dict, help_text='Empty until it is computed.')),
                ('passed', models.BooleanField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('graded_at', models.DateTimeField(help_text='When the last first grade was given.', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sittings', to=settings.AUTH_USER_MODEL)),
                ('exam', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sittings', to='judging.exam')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sittings', to='annotation.project')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('state__in', ['open', 'waiting', 'feedback'])), fields=('project', 'annotator', 'purpose'), name='sitting_one_at_a_time'),
                    models.CheckConstraint(condition=models.Q(models.Q(('exam__isnull', False), ('purpose', 'exam')), models.Q(models.Q(('purpose', 'exam'), _negated=True), ('exam__isnull', True)), _connector='OR'), name='sitting_of_an_exam_names_it'),
                    models.CheckConstraint(condition=models.Q(('known_ids__len__gt', 0)), name='sitting_asks_for_something'),
                    models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['done', 'missed']), ('ended_at__isnull', False)), models.Q(models.Q(('state__in', ['done', 'missed']), _negated=True), ('ended_at__isnull', True)), _connector='OR'), name='sitting_ended_has_its_time'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SittingGrade',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, help_text='The key of the form that gave it.', unique=True)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('grade', models.PositiveSmallIntegerField()),
                ('position', models.PositiveSmallIntegerField(help_text='Place in the order shown, from 1.')),
                ('active_ms', models.PositiveIntegerField(help_text='From pair shown to grade sent.', null=True)),
                ('source', models.CharField(choices=[('person', 'Person'), ('simulated', 'Simulated'), ('imported', 'Imported')], default='person', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sitting_grades', to=settings.AUTH_USER_MODEL)),
                ('guideline', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.guideline')),
                ('known_pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grades', to='judging.knownpair')),
                ('sitting', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grades', to='judging.sitting')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [
                    models.UniqueConstraint(fields=('sitting', 'known_pair', 'attempt'), name='sitting_grade_once_per_pair_and_attempt'),
                    models.UniqueConstraint(condition=models.Q(('attempt', 0)), fields=('annotator', 'known_pair'), name='sitting_grade_first_once_per_annotator', violation_error_message='You have graded this pair before.'),
                    models.CheckConstraint(condition=models.Q(('grade__range', (0, 4))), name='sitting_grade_from_0_to_4'),
                ],
            },
        ),
        migrations.AddField(
            model_name='assignment',
            name='gold_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Of these pairs the truth is known: see GoldGrade.', size=None),
        ),
        migrations.AddField(
            model_name='batch',
            name='is_pilot',
            field=models.BooleanField(default=False, help_text="As the query's set: neither released nor paid unless chosen."),
        ),
        migrations.AddField(
            model_name='judgment',
            name='active_ms',
            field=models.PositiveIntegerField(help_text='From pair shown to grade sent, changes included.', null=True),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_bias',
            field=models.FloatField(default=0.75, help_text='Raise when the mean bias is above, up or down.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_fast_s',
            field=models.FloatField(default=2.0, help_text='A judgment in less time is too fast.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_fast_streak',
            field=models.PositiveSmallIntegerField(default=10, help_text='Too fast so often in a row.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_from',
            field=models.PositiveSmallIntegerField(default=50, help_text='Judgments before anything is raised.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_gold',
            field=models.FloatField(default=0.25, help_text='Raise when this share of gold grades is misaligned.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_kappa',
            field=models.FloatField(default=0.3, help_text='Raise when quadratic kappa against relevance, or the mean with partners, is below.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='alert_run',
            field=models.PositiveSmallIntegerField(default=25, help_text='The same grade so often in a row.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='exam_attempts',
            field=models.PositiveSmallIntegerField(default=2),
        ),
        migrations.AddField(
            model_name='policy',
            name='exam_kappa',
            field=models.FloatField(default=0.4, help_text='Least kappa of first grades against the truth.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='exam_weights',
            field=models.CharField(choices=[('unweighted', 'Unweighted'), ('linear', 'Linear'), ('quadratic', 'Quadratic')], default='quadratic', max_length=10),
        ),
        migrations.AddField(
            model_name='policy',
            name='gate_attempts',
            field=models.PositiveSmallIntegerField(default=3),
        ),
        migrations.AddField(
            model_name='policy',
            name='gate_is_open',
            field=models.BooleanField(default=False, help_text='Candidates pass a multiple-choice test first.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='gate_passing',
            field=models.PositiveSmallIntegerField(default=9, help_text='Right answers needed.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='gate_questions',
            field=models.PositiveSmallIntegerField(default=12),
        ),
        migrations.AddField(
            model_name='policy',
            name='gold_percent',
            field=models.PositiveSmallIntegerField(default=0, help_text='Of all pairs shown; 0: none.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='pay_cap_s',
            field=models.PositiveSmallIntegerField(default=120, help_text='Most seconds paid for one judgment.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='pay_currency',
            field=models.CharField(default='SGD', help_text='ISO 4217', max_length=3),
        ),
        migrations.AddField(
            model_name='policy',
            name='pay_rate',
            field=models.DecimalField(decimal_places=2, default=Decimal('14.00'), help_text='Per hour.', max_digits=8),
        ),
        migrations.AddField(
            model_name='policy',
            name='pays_training',
            field=models.BooleanField(default=True, help_text='Tutorial, exam and warm-up count as hours.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='time_zone',
            field=models.CharField(default='UTC', help_text='Days and weeks begin by it.', max_length=64),
        ),
        migrations.AddField(
            model_name='policy',
            name='warm_up',
            field=models.BooleanField(default=False, help_text='Five pairs over all levels before a session.'),
        ),
        migrations.AddField(
            model_name='policy',
            name='warm_up_hours',
            field=models.PositiveSmallIntegerField(default=8, help_text='A session ends after so long without a grade.'),
        ),
        migrations.AddField(
            model_name='release',
            name='includes_pilot',
            field=models.BooleanField(default=False, help_text='Try-outs of the guideline, too.'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('pair_ids__contains', models.F('gold_ids'))), name='assignment_gold_is_asked_for'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('gate_attempts__gte', 1), ('gate_passing__lte', models.F('gate_questions')), ('gate_questions__gte', 1)), name='policy_gate_can_be_passed'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('exam_attempts__gte', 1), ('exam_kappa__range', (-1, 1)), ('exam_weights__in', ['unweighted', 'linear', 'quadratic'])), name='policy_exam_can_be_passed'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('gold_percent__lte', 50)), name='policy_gold_is_the_lesser_part'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('pay_cap_s__gte', 1), ('pay_currency__regex', '^[A-Z]{3}$'), ('pay_rate__gte', 0)), name='policy_pay_is_an_amount'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('alert_bias__gte', 0), ('alert_fast_s__gte', 0), ('alert_gold__range', (0, 1)), ('alert_kappa__range', (-1, 1)), ('alert_fast_streak__gte', 2), ('alert_run__gte', 2)), name='policy_alerts_are_thresholds'),
        ),
    ]
