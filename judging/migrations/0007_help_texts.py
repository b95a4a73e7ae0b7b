"""Says requested in three help texts; no table changes."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0006_webhooks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='goldgrade',
            name='truth',
            field=models.PositiveSmallIntegerField(help_text="The pair's relevance when it was requested; null where it is requested for company only.", null=True),
        ),
        migrations.AlterField(
            model_name='recut',
            name='pair',
            field=models.ForeignKey(help_text='Where the lead requested it.', on_delete=django.db.models.deletion.PROTECT, related_name='recuts', to='judging.pair'),
        ),
        migrations.AlterField(
            model_name='releasecomparison',
            name='moved_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When it was last requested, or done.'),
        ),
    ]
