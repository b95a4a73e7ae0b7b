"""Runs have more measures: those that are scored keep their scores, and a worker adds what is missing."""

from django.db import migrations, models

import models_runner.leaderboard.models

MEASURES_BEFORE = 48


class Migration(migrations.Migration):
    dependencies = [("models_runner", "0006_any_number_of_moments")]

    operations = [
        migrations.AddField(
            model_name="training",
            name="metrics",
            field=models.JSONField(
                db_default={},
                default=dict,
                help_text="Of the best weights: by split, values by name of the measure.",
            ),
        ),
        migrations.AddField(
            model_name="scoring",
            name="n_measures",
            field=models.PositiveSmallIntegerField(
                db_default=MEASURES_BEFORE,
                default=models_runner.leaderboard.models.measure_count,
                help_text="Measures that it has a value for, the first of the leaderboard's; the others are missing.",
            ),
        ),
    ]
