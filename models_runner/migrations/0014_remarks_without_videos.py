"""Remarks that said which videos hold judged moments are taken out of what is stored."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

START = "none of the run's videos is in the ground truth"


def remove_remarks(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    scoring_model = apps.get_model("models_runner", "Scoring")
    for scoring in scoring_model.objects.exclude(remarks=[]).only("pk", "remarks").iterator(chunk_size=500):
        remarks = [remark for remark in scoring.remarks if not str(remark).startswith(START)]
        if remarks != scoring.remarks:
            scoring_model.objects.filter(pk=scoring.pk).update(remarks=remarks)


class Migration(migrations.Migration):
    dependencies = [("models_runner", "0013_scores_on_hidden_labels")]
    operations = [migrations.RunPython(remove_remarks, migrations.RunPython.noop)]
