from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('models_runner', '0011_attempts_of_feature_sets'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='featureset',
            name='feature_set_names_a_model_where_one_is_asked',
        ),
        migrations.AddConstraint(
            model_name='featureset',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('extractor__in', ['image-model', 'text-model']), ('model__gt', '')), models.Q(('extractor__in', ['builtin-pixels', 'builtin-text']), ('model', '')), models.Q(('extractor', 'file'), models.Q(('kind', 'query'), ('model', ''), _connector='OR')), _connector='OR'), name='feature_set_names_a_model_where_one_is_asked'),
        ),
    ]
