"""Runs have more measures: those that are scored are scored again."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def score_again(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Have every scored run wait for the workers; old measures get the values that they had."""
    for name in ("ScoreTest", "Score", "PerQuery"):
        apps.get_model("models_runner", name).objects.all().delete()
    scorings = apps.get_model("models_runner", "Scoring").objects.filter(state="scored")
    scorings.update(state="waiting", scored_at=None)


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
        migrations.RunPython(score_again, migrations.RunPython.noop),
    ]
