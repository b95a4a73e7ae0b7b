"""A release that is ready stays as it is; its progress, its checksums, and what its team says of it."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

FORWARD = """
UPDATE judging_release SET error = 'No reason was kept.' WHERE state = 'failed' AND error = '';
CREATE TRIGGER release_ready_is_kept BEFORE UPDATE OR DELETE ON judging_release
    FOR EACH ROW WHEN (OLD.state = 'ready') EXECUTE FUNCTION row_is_kept();
"""
BACKWARD = "DROP TRIGGER release_ready_is_kept ON judging_release;"


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0022_rewriting_waits'),
        ('judging', '0021_fill_counts_and_queue'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.CreateModel(
            name='ReleaseWords',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(blank=True, max_length=200)),
                ('description', models.TextField(blank=True)),
                ('motivation', models.TextField(blank=True)),
                ('creators', models.TextField(blank=True)),
                ('funding', models.TextField(blank=True)),
                ('collection', models.TextField(blank=True)),
                ('uses', models.TextField(blank=True)),
                ('limits', models.TextField(blank=True)),
                ('distribution', models.TextField(blank=True)),
                ('maintenance', models.TextField(blank=True)),
                ('licence', models.CharField(blank=True, max_length=200)),
                ('licence_url', models.URLField(blank=True)),
                ('url', models.URLField(blank=True)),
                ('contact', models.CharField(blank=True, max_length=200)),
                ('citation', models.TextField(blank=True)),
                ('edited_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name_plural': 'release words',
            },
        ),
        migrations.AddField(
            model_name='judgment',
            name='origin',
            field=models.CharField(blank=True, choices=[('person', 'Person'), ('simulated', 'Simulated'), ('imported', 'Imported')], db_default='', default='', help_text='What the imported release says.', max_length=9),
        ),
        migrations.AddField(
            model_name='release',
            name='archive_bytes',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='release',
            name='archive_sha256',
            field=models.CharField(blank=True, help_text='Empty before it was kept.', max_length=64),
        ),
        migrations.AddField(
            model_name='release',
            name='content_sha256',
            field=models.CharField(blank=True, help_text='Of all files that name neither the release nor a time.', max_length=64),
        ),
        migrations.AddField(
            model_name='release',
            name='done',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='release',
            name='is_partial',
            field=models.BooleanField(default=False, help_text='Queries to judge are missing.'),
        ),
        migrations.AddField(
            model_name='release',
            name='moved_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When its progress was last written.'),
        ),
        migrations.AddField(
            model_name='release',
            name='state_at',
            field=models.DateTimeField(help_text='The instant whose state it holds.', null=True),
        ),
        migrations.AddField(
            model_name='release',
            name='step',
            field=models.CharField(choices=[('judged', 'Writing judged queries'), ('corpus', 'Writing videos and moments'), ('training', 'Ranking training queries'), ('judgments', 'Writing judgments'), ('packing', 'Packing the archive')], default='judged', max_length=9),
        ),
        migrations.AddField(
            model_name='release',
            name='total',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddConstraint(
            model_name='judgment',
            constraint=models.CheckConstraint(condition=models.Q(('origin', ''), models.Q(('origin__in', ['person', 'simulated']), ('source', 'imported')), _connector='OR'), name='judgment_origin_of_the_imported'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='release_failed_says_why'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.CheckConstraint(condition=models.Q(('done__lte', models.F('total'))), name='release_done_within_total'),
        ),
        migrations.AddField(
            model_name='releasewords',
            name='edited_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='releasewords',
            name='project',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='release_words', to='annotation.project'),
        ),
    ]
