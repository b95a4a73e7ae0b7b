"""Brings the second steps of 0.1.0 to django-allauth: the phones' secrets encrypted, codes on paper as they are.

What django-otp and django-axes kept is deleted, with the tables; so are tries that were counted.
"""

from base64 import b32encode, urlsafe_b64encode
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.db import migrations, models
from django.utils.crypto import salted_hmac

GONE = [
    "otp_static_statictoken",
    "otp_static_staticdevice",
    "otp_totp_totpdevice",
    "axes_accessattemptexpiration",
    "axes_accessattempt",
    "axes_accesslog",
    "axes_accessfailurelog",
]
PHONES = """
SELECT DISTINCT ON (user_id) user_id, key, last_t, drift, created_at, last_used_at
FROM otp_totp_totpdevice WHERE confirmed ORDER BY user_id, id"""
PAPER = """
SELECT device.user_id, array_agg(code.token::text ORDER BY code.id), min(device.created_at)
FROM otp_static_staticdevice device JOIN otp_static_statictoken code ON code.device_id = device.id
WHERE device.confirmed GROUP BY device.user_id"""


def carry_over(apps: Any, editor: Any) -> None:
    authenticators = apps.get_model("mfa.Authenticator").objects
    key = salted_hmac("accounts.secrets", "", secret=settings.SECRET_KEY, algorithm="sha256").digest()
    fernet = Fernet(urlsafe_b64encode(key))
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('otp_totp_totpdevice'), to_regclass('otp_static_statictoken')")
        if None in cursor.fetchone():
            return
        cursor.execute(PHONES)
        phones = cursor.fetchall()
        cursor.execute(PAPER)
        papers = cursor.fetchall()
    for user, secret, last, drift, made, used in phones:
        data = {"secret": fernet.encrypt(b32encode(bytes.fromhex(secret))).decode(), "counter": last, "drift": drift}
        row = authenticators.create(user_id=user, type="totp", data=data, last_used_at=used)
        if made is not None:
            authenticators.filter(pk=row.pk).update(created_at=made)
    with_phone = {row[0] for row in phones}
    for user, digests, made in papers:
        if user in with_phone:
            authenticators.create(user_id=user, type="recovery_codes", data={"digests": digests})


class Migration(migrations.Migration):
    needs_downtime = True  # code of 0.1.0 does not find its tables
    dependencies = [
        ("accounts", "0003_plain_names"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
    ]
    operations = [
        migrations.DeleteModel("Throttle"),
        migrations.CreateModel(
            name="CacheEntry",
            fields=[
                ("cache_key", models.CharField(max_length=255, primary_key=True, serialize=False)),
                ("value", models.TextField()),
                ("expires", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name_plural": "cache entries",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(cache_key__regex="[0-9a-f]{64}(:lock)?$"), name="cache_entry_names_nobody"
                    )
                ],
            },
        ),
        migrations.RunPython(carry_over),
        migrations.RunSQL([f"DROP TABLE IF EXISTS {table}" for table in GONE]),
        migrations.RunSQL("DELETE FROM django_migrations WHERE app IN ('otp_totp', 'otp_static', 'axes')"),
    ]
