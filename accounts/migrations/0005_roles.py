"""A membership has a set of roles. Each role of before becomes a set of one; the site stops for it."""

import django.contrib.postgres.fields
import django.db.models.lookups
from django.db import migrations, models

ROLE = [("annotator", "Annotator"), ("lead", "Lead"), ("admin", "Admin"), ("participant", "Participant")]
STATUSES = ["candidate", "training", "exam", "qualified", "suspended", "left"]
OLD = [
    "membership_one_role_per_person_and_project",
    "membership_number_for_annotators_only",
    "membership_status_for_annotators_only",
    "membership_role_is_known",
]
OTHER = models.Q(("roles", ["annotator"]), _negated=True)
NEW = [
    models.UniqueConstraint(fields=("project", "user"), name="membership_once_per_person_and_project"),
    models.CheckConstraint(
        condition=models.Q(
            models.Q(("number__isnull", False), ("roles", ["annotator"])),
            models.Q(OTHER, ("number__isnull", True)),
            _connector="OR",
        ),
        name="membership_number_for_annotators_only",
    ),
    models.CheckConstraint(
        condition=models.Q(
            models.Q(("roles", ["annotator"]), ("status__in", STATUSES)),
            models.Q(OTHER, ("status", "")),
            _connector="OR",
        ),
        name="membership_status_for_annotators_only",
    ),
    models.CheckConstraint(
        condition=models.Q(
            ("roles__contained_by", ["annotator", "lead", "admin", "participant"]), ("roles__len__gt", 0)
        ),
        name="membership_roles_are_known",
    ),
    models.CheckConstraint(
        condition=django.db.models.lookups.Regex(
            models.Func(
                models.F("roles"), models.Value(","), function="array_to_string", output_field=models.TextField()
            ),
            "^(annotator,?)?(lead,?)?(admin,?)?(participant)?$",
        ),
        name="membership_roles_each_once_and_in_order",
    ),
    models.CheckConstraint(
        condition=models.Q(("roles__len", 1), ("roles__contained_by", ["lead", "admin"]), _connector="OR"),
        name="membership_annotator_and_participant_stand_alone",
    ),
]
SETS_OF_ONE = """
ALTER TABLE accounts_membership ALTER COLUMN role TYPE varchar(20)[] USING ARRAY[role];
ALTER TABLE accounts_membership RENAME COLUMN role TO roles"""


class Migration(migrations.Migration):
    needs_downtime = True  # code of before does not find the column
    dependencies = [("accounts", "0004_allauth")]
    operations = [
        *(migrations.RemoveConstraint("membership", name) for name in OLD),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(SETS_OF_ONE)],
            state_operations=[
                migrations.RenameField("membership", "role", "roles"),
                migrations.AlterField(
                    "membership",
                    "roles",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(choices=ROLE, max_length=20),
                        help_text="Each once, in the order of Role.",
                        size=None,
                    ),
                ),
            ],
        ),
        *(migrations.AddConstraint("membership", constraint) for constraint in NEW),
    ]
