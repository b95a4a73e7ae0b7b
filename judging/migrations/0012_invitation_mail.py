"""Invitations that go by e-mail."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_identity_email_of_one_account'),
        ('judging', '0011_own_grades'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='invitation',
            name='mail',
            field=models.CharField(blank=True, choices=[('', 'None'), ('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='', max_length=7),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('mail__in', ['', 'waiting', 'sent', 'failed'])), name='invitation_mail_is_known'),
        ),
    ]
