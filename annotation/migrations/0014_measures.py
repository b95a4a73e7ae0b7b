"""How each similarity was computed becomes a row of its own; rows are only ever added."""

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION measure_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'measures are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER measure_is_append_only BEFORE UPDATE OR DELETE ON annotation_measure
    FOR EACH ROW EXECUTE FUNCTION measure_is_append_only();
"""
BACKWARD = """
DROP TRIGGER measure_is_append_only ON annotation_measure;
DROP FUNCTION measure_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_text_statistics")]
    operations = [
        migrations.CreateModel(
            name="Measure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="What one asks for.", max_length=200)),
                ("model", models.CharField(help_text="What computes it.", max_length=500)),
                ("version", models.CharField(max_length=300)),
                (
                    "normalisation",
                    models.CharField(help_text="Of the texts, before they are compared.", max_length=200),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "model", "version", "normalisation"), name="measure_once"
                    ),
                    models.CheckConstraint(condition=~models.Q(name=""), name="measure_has_a_name"),
                ],
            },
        ),
        migrations.AddField(
            "candidate",
            "measure",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="candidates",
                to="annotation.measure",
            ),
        ),
        migrations.AddField(
            "caption",
            "similarity_measure",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.measure"
            ),
        ),
        migrations.AddField(
            "textvector",
            "measure",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="vectors", to="annotation.measure"
            ),
        ),
        migrations.AddField(
            "project",
            "similarity",
            models.CharField(
                blank=True,
                help_text="What ranks its candidates; empty: the model that SENTENCE_MODEL names.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            "candidate",
            "similarity",
            models.FloatField(help_text="Rounded to 1e-6; null for historic judgments.", null=True),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
