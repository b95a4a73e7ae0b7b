"""Gives tables and columns plain names, as the .sql files beside it say; the site stops for it."""

from pathlib import Path

from django.db import migrations

FILES = ("plain_names.sql",)


class Migration(migrations.Migration):
    needs_downtime = True  # code of 0.1.0 does not find the new names
    dependencies = [("models_runner", "0002_triggers")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES],
            state_operations=[
                migrations.RenameField("run", "remarks", "warnings"),
                migrations.RenameField("scoring", "remarks", "warnings"),
            ],
        )
    ]
