"""Installs the triggers of the .sql files beside it."""

from pathlib import Path

from django.db import migrations

FILES = ("score_tests.sql",)


class Migration(migrations.Migration):
    dependencies = [("models_runner", "0001_initial")]
    operations = [migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES]
