"""Triggers go by the set of roles of a membership; who has grades in a project gets no staff role there."""

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    needs_downtime = True  # as accounts.0005_roles
    dependencies = [("judging", "0003_plain_names"), ("accounts", "0005_roles")]
    operations = [migrations.RunSQL(Path(__file__).with_name("roles.sql").read_text())]
