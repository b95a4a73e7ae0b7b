"""An assignment keeps which version of its topic it shows; those that are there show none."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_topics'),
        ('judging', '0009_strata'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='topic_version',
            field=models.ForeignKey(help_text='What it shows under the query, from its first pair to its last; null where the query is no topic.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotation.topicversion'),
        ),
        migrations.RunSQL(Path(__file__).with_name("topics.sql").read_text()),
    ]
