from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0029_fill_sessions_and_scopes'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='accesstoken',
            constraint=models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['read', 'judge', 'upload', 'manage']), ('scopes__len__gt', 0)), name='access_token_has_known_scopes'),
        ),
    ]
