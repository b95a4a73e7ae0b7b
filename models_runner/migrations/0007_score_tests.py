"""Tests of runs against each other are kept; of a release without a judged query it is known that it was read."""

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION score_test_is_of_one_measure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (
        SELECT count(DISTINCT (score.metric, score.convention, score.gain, scoring.release_id, run.split))
        FROM models_runner_score score
        JOIN models_runner_scoring scoring ON scoring.id = score.scoring_id
        JOIN models_runner_run run ON run.id = scoring.run_id
        WHERE score.id IN (NEW.one_id, NEW.other_id)
    ) > 1 THEN
        RAISE EXCEPTION 'scores of different measures, splits or releases are not tested against each other'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER score_test_is_of_one_measure BEFORE INSERT OR UPDATE OF one_id, other_id ON models_runner_scoretest
    FOR EACH ROW EXECUTE FUNCTION score_test_is_of_one_measure();
"""
BACKWARD = """
DROP TRIGGER score_test_is_of_one_measure ON models_runner_scoretest;
DROP FUNCTION score_test_is_of_one_measure();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0025_comparisons_are_kept'),
        ('models_runner', '0006_runs_withdrawn'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReadRelease',
            fields=[
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='judging.release')),
                ('read_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='ScoreTest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('p', models.FloatField(help_text='Two-sided, not corrected.', null=True)),
                ('low', models.FloatField(help_text='Of the 95 % interval of one minus other.', null=True)),
                ('high', models.FloatField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='Those that something unexpected ended.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('one', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='models_runner.score')),
                ('other', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='models_runner.score')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('p', None)), fields=['created_at'], name='score_test_that_waits')],
                'constraints': [models.UniqueConstraint(fields=('one', 'other'), name='score_test_once_per_pair'), models.CheckConstraint(condition=models.Q(('one__lt', models.F('other'))), name='score_test_one_is_the_earlier_score'), models.CheckConstraint(condition=models.Q(('p', None), models.Q(('p__gt', 0), ('p__lte', 1)), _connector='OR'), name='score_test_p_within_0_and_1'), models.CheckConstraint(condition=models.Q(models.Q(('high', None), ('low', None)), models.Q(('high__isnull', False), ('low__isnull', False), ('low__lte', models.F('high')), ('p__isnull', False)), _connector='OR'), name='score_test_interval_is_in_order')],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
