"""Gives tables and columns plain names, as the .sql files beside it say; the site stops for it."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

FILES = ("plain_names.sql",)


class Migration(migrations.Migration):
    needs_downtime = True  # code of 0.1.0 does not find the new names
    dependencies = [("accounts", "0002_triggers")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(Path(__file__).with_name(name).read_text()) for name in FILES],
            state_operations=[
                migrations.RenameModel("StandingChange", "StatusChange"),
                migrations.RenameField("statuschange", "from_standing", "from_status"),
                migrations.RenameField("statuschange", "to_standing", "to_status"),
                migrations.RenameField("membership", "standing", "status"),
                migrations.RemoveConstraint(
                    model_name='membership',
                    name='membership_standing_for_annotators_only',
                ),
                migrations.RemoveConstraint(
                    model_name='statuschange',
                    name='standing_change_is_one',
                ),
                migrations.AlterField(
                    model_name='statuschange',
                    name='membership',
                    field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='status_changes', to='accounts.membership'),
                ),
                migrations.AddConstraint(
                    model_name='membership',
                    constraint=models.CheckConstraint(condition=models.Q(models.Q(('role', 'annotator'), ('status__in', ['candidate', 'training', 'exam', 'qualified', 'suspended', 'left'])), models.Q(models.Q(('role', 'annotator'), _negated=True), ('status', '')), _connector='OR'), name='membership_status_for_annotators_only'),
                ),
                migrations.AddConstraint(
                    model_name='statuschange',
                    constraint=models.CheckConstraint(condition=models.Q(('from_status', models.F('to_status')), _negated=True), name='status_change_is_one'),
                ),
            ],
        )
    ]
