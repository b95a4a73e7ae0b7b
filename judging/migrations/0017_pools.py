from django.db import migrations, models
import django.db.models.deletion


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0017_pools"),
        ("judging", "0016_active_time"),
    ]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="pooling",
            field=models.ForeignKey(
                help_text="That opened it; null by similarity.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="batches",
                to="annotation.pooling",
            ),
        ),
        migrations.RemoveConstraint(model_name="batch", name="batch_number_is_1_or_2"),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("number__in", [1, 2]), ("pooling__isnull", True)),
                    models.Q(("number__gte", 3), ("pooling__isnull", False)),
                    _connector="OR",
                ),
                name="batch_pooled_from_number_3",
            ),
        ),
    ]
