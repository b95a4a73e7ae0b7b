"""Pools may make moments of spans that fit none."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_rules'),
        ('annotation', '0013_topics'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PoolSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start_s', models.FloatField()),
                ('end_s', models.FloatField()),
                ('is_new', models.BooleanField(default=False, help_text='The moment was made of it; else it was there by then.')),
            ],
        ),
        migrations.CreateModel(
            name='PoolSpanEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveSmallIntegerField(help_text='Its best rank in the source.')),
            ],
            options={
                'verbose_name_plural': 'pool span entries',
            },
        ),
        migrations.AddField(
            model_name='pooling',
            name='makes_moments',
            field=models.BooleanField(db_default=False, default=False, help_text='Spans that fit no moment become moments when it is opened.'),
        ),
        migrations.AddConstraint(
            model_name='pooling',
            constraint=models.CheckConstraint(condition=models.Q(('makes_moments', False), ('seed__isnull', True), _connector='OR'), name='pooling_of_a_draw_makes_no_moments'),
        ),
        migrations.AddField(
            model_name='poolspan',
            name='moment',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='pool_spans', to='annotation.moment'),
        ),
        migrations.AddField(
            model_name='poolspan',
            name='pooling',
            field=models.ForeignKey(help_text='Null: of an import without its pool.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='new_spans', to='annotation.pooling'),
        ),
        migrations.AddField(
            model_name='poolspan',
            name='video',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.video'),
        ),
        migrations.AddField(
            model_name='poolspanentry',
            name='answer',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='span_entries', to='annotation.poolanswer'),
        ),
        migrations.AddField(
            model_name='poolspanentry',
            name='span',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='annotation.poolspan'),
        ),
        migrations.AddConstraint(
            model_name='poolspan',
            constraint=models.UniqueConstraint(fields=('pooling', 'video', 'start_s', 'end_s'), name='pool_span_once_per_pooling_and_span'),
        ),
        migrations.AddConstraint(
            model_name='poolspan',
            constraint=models.UniqueConstraint(condition=models.Q(('is_new', True)), fields=('moment',), name='pool_span_makes_a_moment_once'),
        ),
        migrations.AddConstraint(
            model_name='poolspan',
            constraint=models.CheckConstraint(condition=models.Q(('start_s__gte', 0), ('start_s__lt', models.F('end_s'))), name='pool_span_starts_before_it_ends'),
        ),
        migrations.AddConstraint(
            model_name='poolspan',
            constraint=models.CheckConstraint(condition=models.Q(('is_new', False), ('moment__isnull', False), _connector='OR'), name='pool_span_that_is_new_has_its_moment'),
        ),
        migrations.AddConstraint(
            model_name='poolspanentry',
            constraint=models.UniqueConstraint(fields=('answer', 'span'), name='pool_span_entry_once_per_answer_and_span'),
        ),
        migrations.AddConstraint(
            model_name='poolspanentry',
            constraint=models.CheckConstraint(condition=models.Q(('rank__gte', 1)), name='pool_span_entry_rank_from_1'),
        ),
    ]
