"""Time of writers and checkers, and what it is paid by."""

from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_writers'),
        ('judging', '0013_checking'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='clipassignment',
            name='empty_at',
            field=models.DateTimeField(help_text='When that time ended.', null=True),
        ),
        migrations.AddField(
            model_name='clipassignment',
            name='empty_ms',
            field=models.PositiveIntegerField(help_text='Active time that ended without a query.', null=True),
        ),
        migrations.AddField(
            model_name='clipassignment',
            name='writing_since',
            field=models.DateTimeField(help_text='When it was opened, or its last query submitted.', null=True),
        ),
        migrations.AddField(
            model_name='policy',
            name='check_price',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=8),
        ),
        migrations.AddField(
            model_name='policy',
            name='checking_cap_s',
            field=models.PositiveSmallIntegerField(db_default=300, default=300),
        ),
        migrations.AddField(
            model_name='policy',
            name='query_price',
            field=models.DecimalField(db_default=Decimal('0'), decimal_places=2, default=Decimal('0'), max_digits=8),
        ),
        migrations.AddField(
            model_name='policy',
            name='query_price_for',
            field=models.CharField(choices=[('accepted', 'Accepted ones'), ('open', 'Accepted ones, and rejected ones while their writer may write them anew'), ('all', 'All, also rejected ones')], db_default='open', default='open', max_length=8),
        ),
        migrations.AddField(
            model_name='policy',
            name='writing_cap_s',
            field=models.PositiveSmallIntegerField(db_default=600, default=600),
        ),
        migrations.AddField(
            model_name='policy',
            name='writing_hours',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name='querycheck',
            name='active_ms',
            field=models.PositiveIntegerField(help_text='How long the query was before its checker.', null=True),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='active_ms',
            field=models.PositiveIntegerField(help_text='How long its clip was before its writer for it.', null=True),
        ),
        migrations.AddField(
            model_name='writtenquery',
            name='checker_since',
            field=models.DateTimeField(help_text='When the checker who looks at it got it.', null=True),
        ),
        migrations.AddConstraint(
            model_name='clipassignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('empty_at__isnull', True), ('empty_ms__isnull', True)), models.Q(('empty_at__isnull', False), ('empty_ms__isnull', False)), _connector='OR'), name='clip_assignment_empty_time_has_its_day'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('check_price__gte', 0), ('checking_cap_s__gte', 1), ('query_price__gte', 0), ('writing_cap_s__gte', 1), ('query_price_for__in', ['accepted', 'open', 'all'])), name='policy_writing_pay_is_an_amount', violation_error_message='A price is not negative, and a query or a check is paid for a second at least.'),
        ),
        migrations.RunSQL(Path(__file__).with_name("writing_time.sql").read_text()),
    ]
