"""Where annotators stand; see 0007 and 0008 for rows that exist."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_access_tokens'),
    ]

    operations = [
        migrations.CreateModel(
            name='StandingChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_standing', models.CharField(blank=True, choices=[('candidate', 'Candidate'), ('training', 'Training'), ('exam', 'Exam'), ('qualified', 'Qualified'), ('suspended', 'Suspended'), ('left', 'Left')], help_text='Empty: joined.', max_length=9)),
                ('to_standing', models.CharField(choices=[('candidate', 'Candidate'), ('training', 'Training'), ('exam', 'Exam'), ('qualified', 'Qualified'), ('suspended', 'Suspended'), ('left', 'Left')], max_length=9)),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.AddField(
            model_name='membership',
            name='standing',
            field=models.CharField(blank=True, choices=[('candidate', 'Candidate'), ('training', 'Training'), ('exam', 'Exam'), ('qualified', 'Qualified'), ('suspended', 'Suspended'), ('left', 'Left')], help_text='Of annotators; empty for others.', max_length=9),
        ),
        migrations.AddField(
            model_name='namedqueryset',
            name='is_pilot',
            field=models.BooleanField(default=False, help_text='A try-out: neither released nor paid unless chosen.'),
        ),
        migrations.AddField(
            model_name='project',
            name='registration_is_open',
            field=models.BooleanField(default=False, help_text='Anybody may join as an annotator.'),
        ),
        migrations.AlterField(
            model_name='identity',
            name='name',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name='identity',
            name='user',
            field=models.OneToOneField(help_text='Null: invited, not here yet.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='identity', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='standingchange',
            name='actor',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='standingchange',
            name='membership',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='standing_changes', to='annotation.membership'),
        ),
        migrations.AddConstraint(
            model_name='standingchange',
            constraint=models.CheckConstraint(condition=models.Q(('from_standing', models.F('to_standing')), _negated=True), name='standing_change_is_one'),
        ),
    ]
