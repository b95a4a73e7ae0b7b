from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('models_runner', '0010_labels'),
    ]

    operations = [
        migrations.AddField(
            model_name='featureset',
            name='attempts',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Starts since it last came further.'),
        ),
    ]
