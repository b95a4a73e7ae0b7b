"""Adds webhooks, and the messages that wait for them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_roles'),
        ('judging', '0005_invitation_qualifies'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('url', models.CharField(max_length=500)),
                ('secret', models.TextField(help_text="Encrypted under the site's key, as secrets of phones are.")),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('batch.done', 'A batch is done'), ('query.waiting', 'A query waits for a decision'), ('release.ready', 'A release is ready'), ('experiment.ended', 'A benchmark run has ended')], max_length=20), size=None)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='accounts.project')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('event', models.CharField(choices=[('batch.done', 'A batch is done'), ('query.waiting', 'A query waits for a decision'), ('release.ready', 'A release is ready'), ('experiment.ended', 'A benchmark run has ended'), ('ping', 'A test')], max_length=20)),
                ('payload', models.JSONField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=7)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(help_text='Of the last answer; null where none came.', null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='judging.webhook')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.UniqueConstraint(fields=('project', 'url'), name='webhook_url_once_per_project'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('url__regex', '^https?://')), name='webhook_url_is_of_the_web'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('secret', ''), _negated=True), name='webhook_has_a_secret'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('events__contained_by', ['batch.done', 'query.waiting', 'release.ready', 'experiment.ended']), models.Q(('events', []), _negated=True)), name='webhook_hears_of_known_events'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['next_try_at'], name='webhook_delivery_to_be_tried'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('sent_at__isnull', False), ('state', 'sent')), models.Q(('sent_at__isnull', True), ('state__in', ['waiting', 'failed'])), _connector='OR'), name='webhook_delivery_sent_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='webhook_delivery_failed_says_why'),
        ),
    ]
