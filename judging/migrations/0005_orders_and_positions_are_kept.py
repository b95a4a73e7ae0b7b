"""What 0004 has filled is asked for from now on."""

import uuid

import django.contrib.postgres.fields
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0004_fill_orders_and_positions")]

    operations = [
        migrations.AlterField(
            model_name="assignment",
            name="pair_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), help_text="What it asks for, in the order shown.", size=None
            ),
        ),
        migrations.AlterField(
            model_name="judgmentchange",
            name="uuid",
            field=models.UUIDField(default=uuid.uuid4, editable=False, unique=True),
        ),
        migrations.AlterField(
            model_name="judgmentchange",
            name="changed_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('batch', 'round', 'seat'), name='assignment_one_holder_per_seat', violation_error_message='Somebody else has just taken this batch.'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('pair_ids__len__gt', 0)), name='assignment_asks_for_something'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('assignment__isnull', True), ('source', 'imported')), models.Q(models.Q(('source', 'imported'), _negated=True), ('assignment__isnull', False), ('guideline__isnull', False), ('occurrence', 0), ('policy__isnull', False), ('position__gte', 1), ('position__isnull', False)), _connector='OR'), name='judgment_given_under_an_assignment_unless_imported'),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('previous_grade__isnull', True), ('previous_grade__range', (0, 4)), _connector='OR'), name='judgment_previous_grade_from_0_to_4'),
        ),
    ]
