"""Writers and checkers: roles that combine with lead and admin."""

import django.contrib.postgres.fields
import django.db.models.lookups
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_strata'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='membership',
            name='membership_roles_are_known',
        ),
        migrations.RemoveConstraint(
            model_name='membership',
            name='membership_roles_each_once_and_in_order',
        ),
        migrations.RemoveConstraint(
            model_name='membership',
            name='membership_annotator_and_participant_stand_alone',
        ),
        migrations.AlterField(
            model_name='membership',
            name='roles',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('annotator', 'Annotator'), ('lead', 'Lead'), ('admin', 'Admin'), ('writer', 'Writer'), ('checker', 'Checker'), ('participant', 'Participant')], max_length=20), help_text='Each once, in the order of Role.', size=None),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('roles__contained_by', ['annotator', 'lead', 'admin', 'writer', 'checker', 'participant']), ('roles__len__gt', 0)), name='membership_roles_are_known'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.Regex(models.Func(models.F('roles'), models.Value(','), function='array_to_string', output_field=models.TextField()), '^(annotator,?)?(lead,?)?(admin,?)?(writer,?)?(checker,?)?(participant)?$'), name='membership_roles_each_once_and_in_order'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('roles__len', 1), ('roles__contained_by', ['lead', 'admin', 'writer', 'checker']), _connector='OR'), name='membership_annotator_and_participant_stand_alone'),
        ),
    ]
