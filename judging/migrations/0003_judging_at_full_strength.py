"""Orders kept with assignments, positions with judgments, flags, free seats; see 0004 and 0005 for rows that exist."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0004_query_sets'),
        ('judging', '0002_frozen_candidates_and_final_grades'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Flag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('reason', models.CharField(choices=[('broken', 'The clip is broken'), ('unreadable', 'The query cannot be understood'), ('offensive', 'Offensive or disturbing')], max_length=10)),
                ('comment', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('withdrawn_at', models.DateTimeField(help_text='When the annotator took it back.', null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='assignment_one_holder_per_seat',
        ),
        migrations.RemoveConstraint(
            model_name='judgment',
            name='judgment_given_under_an_assignment_unless_imported',
        ),
        migrations.RemoveIndex(
            model_name='assignment',
            name='assignment_open_by_expiry',
        ),
        migrations.RemoveIndex(
            model_name='batch',
            name='batch_open_by_project',
        ),
        migrations.AddField(
            model_name='assignment',
            name='pair_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, help_text='What it asks for, in the order shown.', size=None),
        ),
        migrations.AddField(
            model_name='batch',
            name='begun',
            field=models.BooleanField(default=False, help_text='Somebody sat at the round.'),
        ),
        migrations.AddField(
            model_name='batch',
            name='free_seats',
            field=models.PositiveSmallIntegerField(default=2, help_text='Seats of the round that nobody holds.'),
        ),
        migrations.AddField(
            model_name='batch',
            name='is_paused',
            field=models.BooleanField(default=False, help_text="As the query's set: nobody is handed it."),
        ),
        migrations.AddField(
            model_name='batch',
            name='priority',
            field=models.SmallIntegerField(default=0, help_text="Of the query's set; higher goes first."),
        ),
        migrations.AddField(
            model_name='judgment',
            name='comment',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='judgment',
            name='position',
            field=models.PositiveSmallIntegerField(help_text='Place in the order shown, from 1.', null=True),
        ),
        migrations.AddField(
            model_name='judgment',
            name='previous_grade',
            field=models.PositiveSmallIntegerField(help_text='What the annotator gave just before.', null=True),
        ),
        migrations.AddField(
            model_name='judgment',
            name='revision',
            field=models.PositiveSmallIntegerField(default=0, help_text='How often the grade was changed.'),
        ),
        migrations.AddField(
            model_name='judgmentchange',
            name='uuid',
            field=models.UUIDField(null=True, editable=False),
        ),
        migrations.AddField(
            model_name='policy',
            name='break_minutes',
            field=models.PositiveSmallIntegerField(default=25, help_text='Suggest a break after so long; 0: never.'),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('finished', 'Finished'), ('lapsed', 'Lapsed'), ('returned', 'Returned')], default='open', max_length=8),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='annotator',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='guideline',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.guideline'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='pair',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='judging.pair'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='policy',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.policy'),
        ),
        migrations.AlterField(
            model_name='judgment',
            name='uuid',
            field=models.UUIDField(default=uuid.uuid4, editable=False, help_text='The key of the form that gave it.', unique=True),
        ),
        migrations.AlterField(
            model_name='pair',
            name='reason',
            field=models.CharField(blank=True, choices=[('no_consensus', 'No Consensus'), ('no_second_round', 'No Second Round'), ('withdrawn_by_lead', 'Withdrawn By Lead'), ('flagged_twice', 'Flagged Twice')], max_length=20),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('free_seats__gt', 0), ('is_paused', False), ('state', 'open')), fields=['project', '-priority', '-round', '-begun', 'id'], name='batch_to_be_taken'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('free_seats', 0), ('state', 'open')), fields=['id'], name='batch_no_seat_free'),
        ),
        migrations.AddIndex(
            model_name='judgment',
            index=models.Index(fields=['annotator', 'created_at'], name='judgment_by_annotator_and_day'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('free_seats__range', (0, 2))), name='batch_has_two_seats_a_round'),
        ),
        migrations.AddField(
            model_name='flag',
            name='annotator',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='flag',
            name='assignment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='judging.assignment'),
        ),
        migrations.AddField(
            model_name='flag',
            name='pair',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='judging.pair'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('pair', 'annotator'), name='flag_once_per_pair_and_annotator'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.CheckConstraint(condition=models.Q(('reason__in', ['broken', 'unreadable', 'offensive'])), name='flag_says_why'),
        ),
    ]
