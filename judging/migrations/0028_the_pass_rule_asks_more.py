"""The pass rule can ask for a lower bound of kappa, a bias limit and levels told apart.

Versions of the policy that were in force before keep the rule that they were published with: they ask for none of it.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0027_assignments_by_the_databases_clock")]

    operations = [
        migrations.AddField("policy", "exam_kappa_low", models.FloatField(default=-1.0, db_default=-1.0)),
        migrations.AddField("policy", "exam_bias", models.FloatField(default=4.0, db_default=4.0)),
        migrations.AddField("policy", "exam_levels", models.PositiveSmallIntegerField(default=1, db_default=1)),
        migrations.AlterField(
            "policy",
            "exam_kappa_low",
            models.FloatField(
                default=-1.0,
                db_default=-1.0,
                help_text="Least lower bound of the 95 % interval of that kappa; -1 asks for nothing."
            ),
        ),
        migrations.AlterField(
            "policy",
            "exam_bias",
            models.FloatField(
                default=0.6,
                db_default=4.0,
                help_text="Most that first grades may be above or below the truth on average; 4 asks for nothing.",
            ),
        ),
        migrations.AlterField(
            "policy",
            "exam_levels",
            models.PositiveSmallIntegerField(
                default=3,
                db_default=1,
                help_text="Levels of the truth that first grades tell apart; 1 asks for nothing."
            ),
        ),
        migrations.AddConstraint(
            "policy",
            models.CheckConstraint(
                condition=models.Q(exam_kappa_low__range=(-1, 1), exam_bias__range=(0, 4), exam_levels__range=(1, 5)),
                name="policy_exam_conditions_are_bounds",
                violation_error_message="The least lower bound lies between -1 and 1, the bias between 0 and 4, "
                "and the levels told apart between 1 and 5.",
            ),
        ),
    ]
