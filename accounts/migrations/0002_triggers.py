"""Installs the triggers of the .sql files beside it."""

from pathlib import Path

from django.db import migrations

FILES = ("members.sql",)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES]
