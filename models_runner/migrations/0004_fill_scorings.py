"""Runs made so far wait to be scored again on their release, with intervals; the sweep wakes the tasks."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    run, scoring = apps.get_model("models_runner", "Run"), apps.get_model("models_runner", "Scoring")
    made = run.objects.filter(state="scored").order_by("pk").values_list("pk", "release")
    scoring.objects.bulk_create([scoring(run_id=pk, release_id=release) for pk, release in made])
    run.objects.filter(form="").update(form="tvr-ranking")


class Migration(migrations.Migration):
    dependencies = [("models_runner", "0003_scores_of_scorings")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
