"""The rules of judging, values of a project; the defaults are TVR-Ranking's."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_roles'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='batch_size',
            field=models.PositiveSmallIntegerField(db_default=20, default=20, help_text='Pairs of a batch.'),
        ),
        migrations.AddField(
            model_name='project',
            name='has_second_batch',
            field=models.BooleanField(db_default=True, default=True, help_text='A lead may open one for a query.'),
        ),
        migrations.AddField(
            model_name='project',
            name='judges',
            field=models.PositiveSmallIntegerField(db_default=2, default=2, help_text='Who judge a pair in a round.'),
        ),
        migrations.AddField(
            model_name='project',
            name='max_rounds',
            field=models.PositiveSmallIntegerField(db_default=2, default=2),
        ),
        migrations.AddField(
            model_name='project',
            name='max_spread',
            field=models.PositiveSmallIntegerField(db_default=1, default=1, help_text='How far apart grades may be that agree.'),
        ),
        migrations.AddField(
            model_name='project',
            name='top_grade',
            field=models.PositiveSmallIntegerField(db_default=4, default=4, help_text='Grades go from 0 to this one.'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('judges__in', [2, 3]), ('max_rounds__in', [1, 2]), ('top_grade__range', (1, 9)), ('max_spread__gte', 0), ('max_spread__lt', models.F('top_grade'))), name='project_rules_are_possible', violation_error_message='Grades go from 0 to 1 or up to 9, two or three judge in a round, there are one or two rounds, and grades that agree lie nearer than the whole scale.'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('batch_size__range', (5, 50))), name='project_batch_of_5_to_50_pairs', violation_error_message='A batch has 5 to 50 pairs.'),
        ),
    ]
