"""Decisions that are taken back, answers to flags, previews cut anew, and counts that pages show; see 0020 and 0021."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0021_reading_for_leads'),
        ('judging', '0018_candidates_join_in_order'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FlagAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('recut', 'the clip was cut anew'), ('bounds', "the moment's bounds were put right"), ('withdrawn', 'the pair was withdrawn'), ('dismissed', 'dismissed')], max_length=9)),
                ('words', models.CharField(blank=True, max_length=1000)),
                ('answered_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='JudgmentDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('judgments', models.PositiveIntegerField()),
                ('second_round', models.PositiveIntegerField(help_text='Of these, in second rounds.')),
                ('simulated', models.PositiveIntegerField(help_text='Of these, by simulated annotators.')),
                ('imported', models.PositiveIntegerField(help_text='Of these, from files; their day is that of the import.')),
            ],
        ),
        migrations.CreateModel(
            name='Recut',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start_s', models.FloatField(help_text='Null: as it is.', null=True)),
                ('end_s', models.FloatField(null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=7)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('asked_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='ReviewUndone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(choices=[('extend', 'Extend'), ('close', 'Close')], max_length=6)),
                ('suggestion', models.CharField(choices=[('extend', 'Extend'), ('close', 'Close')], max_length=6)),
                ('reason', models.TextField(blank=True)),
                ('decided_at', models.DateTimeField()),
                ('undone_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Tally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(help_text='pair:state:relevance or batch:number:state:round', max_length=40)),
                ('n', models.IntegerField()),
            ],
            options={
                'verbose_name_plural': 'tallies',
            },
        ),
        migrations.AddField(
            model_name='batch',
            name='awaits_review',
            field=models.BooleanField(db_default=False, default=False, help_text='A first batch that is done and undecided; triggers say so.'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('begun', True), ('state', 'open')), fields=['project'], name='batch_under_way'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('awaits_review', True)), fields=['project', 'done_at', 'id'], name='batch_that_awaits_review'),
        ),
        migrations.AddIndex(
            model_name='pair',
            index=models.Index(condition=models.Q(('state__in', ['dropped', 'withdrawn'])), fields=['state', 'batch'], name='pair_that_is_out'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('awaits_review', False), models.Q(('number', 1), ('state', 'done')), _connector='OR'), name='batch_awaits_review_when_done'),
        ),
        migrations.AddField(
            model_name='flaganswer',
            name='answered_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='flaganswer',
            name='flag',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='answer', to='judging.flag'),
        ),
        migrations.AddField(
            model_name='judgmentday',
            name='annotator',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='judgmentday',
            name='project',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.project'),
        ),
        migrations.AddField(
            model_name='recut',
            name='asked_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='recut',
            name='moment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='recuts', to='annotation.moment'),
        ),
        migrations.AddField(
            model_name='recut',
            name='pair',
            field=models.ForeignKey(help_text='Where the lead saw it.', on_delete=django.db.models.deletion.PROTECT, related_name='recuts', to='judging.pair'),
        ),
        migrations.AddField(
            model_name='reviewundone',
            name='batch',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='undone_reviews', to='judging.batch'),
        ),
        migrations.AddField(
            model_name='reviewundone',
            name='decided_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='reviewundone',
            name='undone_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='tally',
            name='project',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.project'),
        ),
        migrations.AddConstraint(
            model_name='flaganswer',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['recut', 'bounds', 'withdrawn', 'dismissed'])), name='flag_answer_is_known'),
        ),
        migrations.AddConstraint(
            model_name='flaganswer',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['recut', 'bounds']), models.Q(('words', ''), _negated=True), _connector='OR'), name='flag_answer_says_why'),
        ),
        migrations.AddConstraint(
            model_name='judgmentday',
            constraint=models.UniqueConstraint(fields=('project', 'annotator', 'day'), name='judgment_day_once_per_annotator'),
        ),
        migrations.AddConstraint(
            model_name='recut',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('moment',), name='recut_waits_once_per_moment', violation_error_message='This clip is being cut already.'),
        ),
        migrations.AddConstraint(
            model_name='recut',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('end_s__isnull', True), ('start_s__isnull', True)), models.Q(('end_s__isnull', False), ('start_s__gte', 0), ('start_s__isnull', False), ('start_s__lt', models.F('end_s'))), _connector='OR'), name='recut_names_both_bounds_or_none'),
        ),
        migrations.AddConstraint(
            model_name='recut',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='recut_ended_has_its_time'),
        ),
        migrations.AddConstraint(
            model_name='recut',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='recut_failed_says_why'),
        ),
        migrations.AddIndex(
            model_name='tally',
            index=models.Index(fields=['project', 'what'], name='tally_of_project'),
        ),
    ]
