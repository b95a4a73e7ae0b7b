"""A video has its file replaced; previews of the old one serve until the new ones are cut."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('annotation', '0014_new_moments'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='moment',
            name='preview_is_old',
            field=models.BooleanField(db_default=False, default=False, help_text='It shows an earlier file of the video; a task cuts it anew.'),
        ),
        migrations.AddField(
            model_name='videoupload',
            name='replaces',
            field=models.ForeignKey(help_text='The video that gets another file.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replacements', to='annotation.video'),
        ),
        migrations.AddIndex(
            model_name='moment',
            index=models.Index(condition=models.Q(('preview_is_old', True)), fields=['video'], name='moment_with_old_preview'),
        ),
        migrations.AddConstraint(
            model_name='moment',
            constraint=models.CheckConstraint(condition=models.Q(('preview_is_old', False), ('preview_state', 'ready'), _connector='OR'), name='moment_old_preview_is_ready'),
        ),
        migrations.AddConstraint(
            model_name='videoupload',
            constraint=models.CheckConstraint(condition=models.Q(('replaces__isnull', True), models.Q(('state', 'done'), _negated=True), ('video', models.F('replaces')), _connector='OR'), name='video_upload_is_of_the_video_it_replaces'),
        ),
    ]
