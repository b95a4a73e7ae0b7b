"""Strata of ranks that batches are drawn from; a project that is there has none, and judges the best by rank."""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_rules'),
    ]

    operations = [
        migrations.RunSQL(Path(__file__).with_name("strata.sql").read_text()),
        migrations.AddField(
            model_name='project',
            name='strata',
            field=django.contrib.postgres.fields.ArrayField(base_field=django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), size=3), blank=True, db_default=models.Value([], django.contrib.postgres.fields.ArrayField(django.contrib.postgres.fields.ArrayField(models.PositiveSmallIntegerField(), size=3))), default=list, size=None, help_text='Ranks of which a batch draws some, as rows [first, last, sample]; empty: the best by rank.'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Func('strata', 'batch_size', function='strata_are_possible', output_field=models.BooleanField()), name='project_strata_follow_each_other_and_fill_a_batch', violation_error_message='Strata begin with rank 1 and follow each other up to rank 1000 at the most; of each, 1 rank to all are drawn, and together as many as a batch has pairs.'),
        ),
    ]
