"""Adds uploads of videos in pieces, and the frame rate of videos."""

import annotation.corpora.models
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_allauth'),
        ('annotation', '0004_plain_names'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='VideoPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start', models.PositiveBigIntegerField(help_text='Its first byte within the video file.')),
                ('size', models.PositiveIntegerField()),
                ('file', models.FileField(max_length=255, upload_to=annotation.corpora.models.part_path)),
            ],
        ),
        migrations.CreateModel(
            name='VideoUpload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(help_text="Of the video: the file's without its ending.", max_length=200)),
                ('suffix', models.CharField(max_length=10)),
                ('modified_ms', models.BigIntegerField(default=0, help_text="When the file last changed, by the browser's computer.")),
                ('size', models.PositiveBigIntegerField()),
                ('offset', models.PositiveBigIntegerField(default=0, help_text='How many bytes are here.')),
                ('state', models.CharField(choices=[('uploading', 'Uploading'), ('reading', 'Reading'), ('done', 'Done'), ('failed', 'Failed')], default='uploading', max_length=10)),
                ('error', models.TextField(blank=True)),
                ('subtitles', models.PositiveIntegerField(default=0, help_text='Lines of speech that came with the file.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('moved_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='video',
            name='fps',
            field=models.FloatField(help_text='Frames a second, as the file says; empty where nobody has read it.', null=True),
        ),
        migrations.AddConstraint(
            model_name='video',
            constraint=models.CheckConstraint(condition=models.Q(('fps__isnull', True), ('fps__gt', 0), _connector='OR'), name='video_has_frames'),
        ),
        migrations.AddField(
            model_name='videoupload',
            name='corpus',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='video_uploads', to='annotation.corpus'),
        ),
        migrations.AddField(
            model_name='videoupload',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='video_uploads', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='videoupload',
            name='project',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='video_uploads', to='accounts.project'),
        ),
        migrations.AddField(
            model_name='videoupload',
            name='video',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='uploads', to='annotation.video'),
        ),
        migrations.AddField(
            model_name='videopart',
            name='upload',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='annotation.videoupload'),
        ),
        migrations.AddIndex(
            model_name='videoupload',
            index=models.Index(fields=['expires_at'], name='video_upload_by_end'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(('size__gt', 0)), name='video_upload_is_not_empty'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['uploading', 'reading', 'done', 'failed'])), name='video_upload_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('offset__lt', models.F('size')), ('state', 'uploading')), models.Q(models.Q(('state', 'uploading'), _negated=True), ('offset', models.F('size'))), _connector='OR'), name='video_upload_is_read_when_whole'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='video_upload_failed_says_why'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), ('video__isnull', False), _connector='OR'), name='video_upload_done_has_its_video'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['uploading', 'reading'])), fields=('corpus', 'name'), name='video_upload_unfinished_once_per_name'),
        ),
        migrations.AddConstraint(
            model_name='videopart',
            constraint=models.UniqueConstraint(fields=('upload', 'start'), name='video_part_once_per_upload_and_start'),
        ),
        migrations.AddConstraint(
            model_name='videopart',
            constraint=models.CheckConstraint(condition=models.Q(('size__gt', 0)), name='video_part_is_not_empty'),
        ),
        migrations.AddConstraint(
            model_name='videopart',
            constraint=models.CheckConstraint(condition=models.Q(('file', ''), _negated=True), name='video_part_has_its_file'),
        ),
    ]
