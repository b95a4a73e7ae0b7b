"""An e-mail address is one account's; who is invited by e-mail has one."""

import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0008_annotators_have_a_standing'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('email'), condition=models.Q(('user__isnull', False), models.Q(('email', ''), _negated=True)), name='identity_email_of_one_account'),
        ),
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.CheckConstraint(condition=models.Q(('user__isnull', False), models.Q(('email', ''), _negated=True), _connector='OR'), name='identity_of_the_invited_has_an_email'),
        ),
    ]
