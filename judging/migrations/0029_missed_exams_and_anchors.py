"""A lead decides whether a missed exam counts, grades anchors, and chooses how a cohort's truth follows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0028_the_pass_rule_asks_more"),
    ]

    operations = [
        migrations.AddField(
            model_name="exam",
            name="truth_rule",
            field=models.CharField(
                choices=[("median", "Median"), ("agreeing", "Agreeing")],
                default="median",
                db_default="median",
                help_text="How the truth of a first cohort follows from its grades; chosen when the round is closed.",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="knownpair",
            name="anchor",
            field=models.PositiveSmallIntegerField(
                help_text="The lead's own grade, given before anybody hands in; compared with, never part of truth.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="sitting",
            name="left_out",
            field=models.BooleanField(
                default=False, db_default=False, help_text="A lead left these grades out of the truth when the round was closed."
            ),
        ),
        migrations.AddField(
            model_name="sitting",
            name="missed_counts",
            field=models.BooleanField(default=False, db_default=False, help_text="A lead decided that this missed exam is an attempt."),
        ),
        migrations.AddField(
            model_name="sitting",
            name="shown_before",
            field=models.PositiveSmallIntegerField(
                help_text="Of a later exam: how many of its pairs had their truth shown to somebody before it began.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="exam",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("truth_rule", "median"), models.Q(("kind", "cohort"), ("truth_rule", "agreeing")), _connector="OR"
                ),
                name="exam_truth_rule_is_of_a_cohort",
            ),
        ),
        migrations.AddConstraint(
            model_name="knownpair",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("anchor__isnull", True), models.Q(("anchor__range", (0, 4)), ("source", "exam")), _connector="OR"
                ),
                name="known_pair_anchor_is_a_grade_in_an_exam",
            ),
        ),
        migrations.AddConstraint(
            model_name="sitting",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("missed_counts", False), models.Q(("purpose", "exam"), ("state", "missed")), _connector="OR"
                ),
                name="sitting_counted_by_a_lead_was_missed",
            ),
        ),
        migrations.AddConstraint(
            model_name="sitting",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("left_out", False),
                    models.Q(("purpose", "exam"), ("state__in", ["feedback", "done", "missed"])),
                    _connector="OR",
                ),
                name="sitting_left_out_was_closed",
            ),
        ),
        migrations.AddConstraint(
            model_name="sitting",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("shown_before__isnull", True),
                    models.Q(("purpose", "exam"), ("shown_before__lte", models.F("known_ids__len"))),
                    _connector="OR",
                ),
                name="sitting_shown_before_is_a_part_of_it",
            ),
        ),
    ]
