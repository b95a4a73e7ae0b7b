from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('annotation', '0030_tokens_have_scopes'),
    ]

    operations = [
        migrations.CreateModel(
            name='LeftFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255, unique=True)),
                ('left_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
