from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0007_fill_standings'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('role', 'annotator'), ('standing__in', ['candidate', 'training', 'exam', 'qualified', 'suspended', 'left'])), models.Q(models.Q(('role', 'annotator'), _negated=True), ('standing', '')), _connector='OR'), name='membership_standing_for_annotators_only'),
        ),
    ]
