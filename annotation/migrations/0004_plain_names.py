"""Gives tables and columns plain names, as the .sql files beside it say; the site stops for it."""

from pathlib import Path

from django.db import migrations

FILES = ("plain_names.sql",)


class Migration(migrations.Migration):
    needs_downtime = True  # code of 0.1.0 does not find the new names
    dependencies = [("annotation", "0003_first_prompt")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES],
            state_operations=[
                migrations.RenameField("captionredo", "asked_at", "requested_at"),
                migrations.RenameField("trainset", "remark", "warning"),
            ],
        )
    ]
