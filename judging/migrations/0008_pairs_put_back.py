"""When a lead put a pair back: flags from before count no more."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0007_what_was_said_stays'),
    ]

    operations = [
        migrations.AddField(
            model_name='pair',
            name='restored_at',
            field=models.DateTimeField(help_text='A lead put it back; flags from before count no more.', null=True),
        ),
    ]
