"""The rules of judging become values of a project; what is there has those of TVR-Ranking."""

from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_rules'),
        ('annotation', '0007_video_posters'),
        ('judging', '0007_help_texts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='assignment',
            name='assignment_slot_is_1_or_2',
        ),
        migrations.RemoveConstraint(
            model_name='batch',
            name='batch_round_is_1_or_2',
        ),
        migrations.RemoveConstraint(
            model_name='batch',
            name='batch_has_two_slots_a_round',
        ),
        migrations.RemoveConstraint(
            model_name='examgrade',
            name='exam_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='goldgrade',
            name='gold_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='guidelinedraftexample',
            name='guideline_draft_example_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='guidelineexample',
            name='guideline_example_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='judgment',
            name='judgment_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='judgment',
            name='judgment_previous_grade_from_0_to_4',
        ),
        migrations.RemoveConstraint(
            model_name='judgment',
            name='judgment_two_per_pair_and_round',
        ),
        migrations.RemoveConstraint(
            model_name='judgment',
            name='judgment_slot_is_1_or_2',
        ),
        migrations.RemoveConstraint(
            model_name='judgmentchange',
            name='judgment_change_is_one',
        ),
        migrations.RemoveConstraint(
            model_name='knownpair',
            name='known_pair_anchor_is_a_grade_in_an_exam',
        ),
        migrations.RemoveConstraint(
            model_name='knownpair',
            name='known_pair_truth_is_a_median',
        ),
        migrations.RemoveConstraint(
            model_name='pair',
            name='pair_settled_has_its_relevance',
        ),
        migrations.RemoveConstraint(
            model_name='policy',
            name='policy_mean_is_a_relevance',
        ),
        migrations.RemoveConstraint(
            model_name='policy',
            name='policy_exam_conditions_are_bounds',
        ),
        migrations.AddField(
            model_name='batch',
            name='judges',
            field=models.PositiveSmallIntegerField(db_default=2, default=2, help_text='Who judge a pair in a round.'),
        ),
        migrations.AddField(
            model_name='batch',
            name='max_rounds',
            field=models.PositiveSmallIntegerField(db_default=2, default=2),
        ),
        migrations.AddField(
            model_name='batch',
            name='max_spread',
            field=models.PositiveSmallIntegerField(db_default=1, default=1, help_text='How far apart grades may be that agree.'),
        ),
        migrations.AddField(
            model_name='batch',
            name='top_grade',
            field=models.PositiveSmallIntegerField(db_default=4, default=4, help_text='Grades go from 0 to this one.'),
        ),
        migrations.AlterField(
            model_name='batch',
            name='free_slots',
            field=models.PositiveSmallIntegerField(help_text='Free slots of the round.'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('slot__range', (1, 3))), name='assignment_slot_is_1_to_3'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('judges__in', [2, 3]), ('max_rounds__in', [1, 2]), ('top_grade__range', (1, 9)), ('max_spread__gte', 0), ('max_spread__lt', models.F('top_grade'))), name='batch_rules_are_possible', violation_error_message='Grades go from 0 to 1 or up to 9, two or three judge in a round, there are one or two rounds, and grades that agree lie nearer than the whole scale.'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('round__gte', 1), ('round__lte', models.F('max_rounds'))), name='batch_round_is_allowed'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('free_slots__lte', models.F('judges'))), name='batch_has_a_slot_for_each_judge'),
        ),
        migrations.AddConstraint(
            model_name='examgrade',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 9))), name='exam_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='goldgrade',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 9)), models.Q(('truth__isnull', True), ('truth__range', (0, 9)), _connector='OR')), name='gold_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='guidelinedraftexample',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 9))), name='guideline_draft_example_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='guidelineexample',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 9))), name='guideline_example_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.UniqueConstraint(fields=('pair', 'round', 'slot'), name='judgment_once_per_pair_round_and_slot'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('grade__range', (0, 9))), name='judgment_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('slot__range', (1, 3))), name='judgment_slot_is_1_to_3'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('previous_grade__isnull', True), ('previous_grade__range', (0, 9)), _connector='OR'), name='judgment_previous_grade_from_0_to_9'),
        ),
        migrations.AddConstraint(
            model_name='judgmentchange',
            constraint=models.CheckConstraint(condition=models.Q(('from_grade__range', (0, 9)), ('to_grade__range', (0, 9)), models.Q(('from_grade', models.F('to_grade')), _negated=True)), name='judgment_change_is_one'),
        ),
        migrations.AddConstraint(
            model_name='knownpair',
            constraint=models.CheckConstraint(condition=models.Q(('anchor__isnull', True), models.Q(('anchor__range', (0, 9)), ('source', 'exam')), _connector='OR'), name='known_pair_anchor_is_a_grade_in_an_exam'),
        ),
        migrations.AlterField(
            model_name='knownpair',
            name='truth',
            field=models.DecimalField(decimal_places=1, help_text='A grade or a half between two.', max_digits=2, null=True),
        ),
        migrations.AddConstraint(
            model_name='knownpair',
            constraint=models.CheckConstraint(condition=models.Q(('truth__isnull', True), ('truth__in', [Decimal(half) / 2 for half in range(19)]), _connector='OR'), name='known_pair_truth_is_a_median'),
        ),
        migrations.AddConstraint(
            model_name='pair',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('relevance__isnull', False), ('relevance__range', (0, 9)), ('state', 'settled')), models.Q(models.Q(('state', 'settled'), _negated=True), ('relevance__isnull', True)), _connector='OR'), name='pair_settled_has_its_relevance'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('extend_from_mean__range', (0, 9))), name='policy_mean_is_a_relevance', violation_error_message='The mean to extend from is a relevance: 0 to 9 at the most.'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('exam_bias__range', (0, 9)), ('exam_kappa_low__range', (-1, 1)), ('exam_levels__range', (1, 10))), name='policy_exam_conditions_are_bounds', violation_error_message='The least lower bound lies between -1 and 1, the bias between 0 and 9, and the levels told apart between 1 and 10.'),
        ),
        migrations.RunSQL(Path(__file__).with_name("rules.sql").read_text()),
    ]
