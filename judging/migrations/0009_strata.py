"""Batches keep the strata they were drawn from; those that are there were not drawn."""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_strata'),
        ('judging', '0008_rules'),
    ]

    operations = [
        migrations.AddField(
            model_name='batch',
            name='strata',
            field=django.contrib.postgres.fields.ArrayField(base_field=django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), size=3), blank=True, db_default=models.Value([], django.contrib.postgres.fields.ArrayField(django.contrib.postgres.fields.ArrayField(models.PositiveSmallIntegerField(), size=3))), default=list, size=None, help_text="Of which ranks its pairs were drawn, as the project's when it was opened; empty: not drawn."),
        ),
        migrations.RunSQL(Path(__file__).with_name("strata.sql").read_text()),
    ]
