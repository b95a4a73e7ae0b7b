"""Installs the triggers and views of the .sql files beside it."""

from pathlib import Path

from django.db import migrations

FILES = ("candidates.sql", "counts.sql", "judgments.sql", "kept_rows.sql", "own_grades.sql", "qualification.sql")


class Migration(migrations.Migration):
    dependencies = [("judging", "0001_initial")]
    operations = [migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES]
