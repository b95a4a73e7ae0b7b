"""Every similarity has its measure; the names of models go."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0015_fill_measures")]
    operations = [
        migrations.RemoveConstraint("textvector", "text_vector_once_per_model"),
        migrations.AlterField("candidate", "model", models.CharField(max_length=100, default="")),  # on the way back
        migrations.RemoveField("candidate", "model"),
        migrations.RemoveField("caption", "similarity_model"),
        migrations.AlterField("textvector", "model", models.CharField(max_length=100, default="")),
        migrations.RemoveField("textvector", "model"),
        migrations.AlterField(
            "textvector",
            "measure",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="vectors", to="annotation.measure"
            ),
        ),
        migrations.AddConstraint(
            "textvector",
            models.UniqueConstraint(fields=("measure", "text_sha256"), name="text_vector_once_per_measure"),
        ),
        migrations.AddConstraint(
            "candidate",
            models.CheckConstraint(
                condition=models.Q(similarity__isnull=True) | models.Q(measure__isnull=False),
                name="candidate_similarity_has_its_measure",
            ),
        ),
        migrations.AddConstraint(
            "caption",
            models.CheckConstraint(
                condition=models.Q(similarity__isnull=True) | models.Q(similarity_measure__isnull=False),
                name="caption_similarity_has_its_measure",
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM annotation_textvector"),  # they are made again
    ]
