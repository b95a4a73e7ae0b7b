"""The next version of a guideline is prepared apart from those in use; a gate question has its options."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0008_annotators_have_a_standing'),
        ('judging', '0013_nobody_takes_while_suspended'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='GuidelineDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('body', models.TextField(help_text='Markdown')),
                ('levels', models.JSONField(help_text='The one-line meaning of each grade, 0 first.')),
                ('changes', models.TextField(blank=True)),
                ('edited_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='GuidelineDraftExample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('grade', models.PositiveSmallIntegerField()),
                ('query_text', models.TextField()),
            ],
            options={
                'ordering': ['-grade'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='gatequestion',
            name='gate_question_has_a_right_option',
        ),
        migrations.AddField(
            model_name='guideline',
            name='changes',
            field=models.TextField(blank=True, help_text="What is new in this version, in the lead's words."),
        ),
        migrations.AddConstraint(
            model_name='gatequestion',
            constraint=models.CheckConstraint(condition=models.Func(models.F('options'), models.Value('strict $ ? (@.type() == "array" && @.size() >= 2 && @.size() <= 6 && !exists(@[*] ? (@.type() != "string" || @ == "")))'), function='jsonb_path_exists', output_field=models.BooleanField()), name='gate_question_has_2_to_6_options'),
        ),
        migrations.AddConstraint(
            model_name='gatequestion',
            constraint=models.CheckConstraint(condition=models.Func(models.F('options'), models.Value('$[$correct]'), models.Func(models.Value('correct'), models.F('correct'), function='jsonb_build_object', output_field=models.JSONField()), function='jsonb_path_exists', output_field=models.BooleanField()), name='gate_question_has_a_right_option'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_lease_lasts',
            constraint=models.CheckConstraint(condition=models.Q(('lease_minutes__gte', 1)), name='policy_lease_lasts', violation_error_message='A lease lasts a minute at least.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_mean_is_a_relevance',
            constraint=models.CheckConstraint(condition=models.Q(('extend_from_mean__range', (0, 4))), name='policy_mean_is_a_relevance', violation_error_message='The mean to extend from is a relevance: 0 to 4.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_gate_can_be_passed',
            constraint=models.CheckConstraint(condition=models.Q(('gate_attempts__gte', 1), ('gate_passing__lte', models.F('gate_questions')), ('gate_questions__gte', 1)), name='policy_gate_can_be_passed', violation_error_message='The gate asks at least one question, needs no more right answers than it asks, and allows an attempt.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_exam_can_be_passed',
            constraint=models.CheckConstraint(condition=models.Q(('exam_attempts__gte', 1), ('exam_kappa__range', (-1, 1)), ('exam_weights__in', ['unweighted', 'linear', 'quadratic'])), name='policy_exam_can_be_passed', violation_error_message='The least kappa lies between -1 and 1, and the exam allows an attempt.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_gold_is_the_lesser_part',
            constraint=models.CheckConstraint(condition=models.Q(('gold_percent__lte', 50)), name='policy_gold_is_the_lesser_part', violation_error_message='At most half of the pairs shown can be gold.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_pay_is_an_amount',
            constraint=models.CheckConstraint(condition=models.Q(('pay_cap_s__gte', 1), ('pay_currency__regex', '^[A-Z]{3}$'), ('pay_rate__gte', 0)), name='policy_pay_is_an_amount', violation_error_message='A rate is not negative, its currency has three capital letters, and the cap is a second at least.'),
        ),
        migrations.AlterConstraint(
            model_name='policy',
            name='policy_alerts_are_thresholds',
            constraint=models.CheckConstraint(condition=models.Q(('alert_bias__gte', 0), ('alert_fast_s__gte', 0), ('alert_gold__range', (0, 1)), ('alert_kappa__range', (-1, 1)), ('alert_fast_streak__gte', 2), ('alert_run__gte', 2)), name='policy_alerts_are_thresholds', violation_error_message='Alerts: kappa lies between -1 and 1, the share of gold between 0 and 1, bias and seconds are not negative, and a streak or run is two at least.'),
        ),
        migrations.AddField(
            model_name='guidelinedraft',
            name='base',
            field=models.ForeignKey(help_text='The version it began as.', on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.guideline'),
        ),
        migrations.AddField(
            model_name='guidelinedraft',
            name='edited_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='guidelinedraft',
            name='project',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='guideline_draft', to='annotation.project'),
        ),
        migrations.AddField(
            model_name='guidelinedraftexample',
            name='draft',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='judging.guidelinedraft'),
        ),
        migrations.AddField(
            model_name='guidelinedraftexample',
            name='moment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.moment'),
        ),
        migrations.AddConstraint(
            model_name='guidelinedraftexample',
            constraint=models.UniqueConstraint(fields=('draft', 'grade'), name='guideline_draft_example_once_per_grade'),
        ),
        migrations.AddConstraint(
            model_name='guidelinedraftexample',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 4))), name='guideline_draft_example_grade_from_0_to_4'),
        ),
    ]
