"""Tokens made before may do all that they could; who is logged in stays so."""

from django.contrib.sessions.models import Session
from django.db import migrations
from django.utils import timezone


def fill_scopes(apps, schema_editor):
    tokens = apps.get_model('annotation', 'AccessToken')
    tokens.objects.filter(scopes=[]).update(scopes=['read', 'judge', 'upload', 'manage'])


def copy_sessions(apps, schema_editor):
    """Whose a session is stands inside its signed data, which SQL cannot read."""
    sessions, users = apps.get_model('annotation', 'BrowserSession'), apps.get_model('annotation', 'User')
    people = set(users.objects.values_list('pk', flat=True))
    for held in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        who = str(held.get_decoded().get('_auth_user_id', ''))  # {} where the secret key is another
        if who.isdigit() and int(who) in people:
            sessions.objects.create(
                session_key=held.session_key,
                session_data=held.session_data,
                expire_date=held.expire_date,
                user_id=int(who),
            )


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0028_sessions_tokens_throttles'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(fill_scopes, migrations.RunPython.noop),
        migrations.RunPython(copy_sessions, migrations.RunPython.noop),
    ]
