"""Leaderboard: how participants take part in a project."""

from django.db import models
from django.db.models import Q

from annotation.models import Project, Query
from models_runner.leaderboard_rules import ALIKE_PERCENT, LEAST_QUERIES

UPLOADS_PER_DAY = 5
UPLOADS_IN_ALL = 50


class Leaderboard(models.Model):
    """What is kept from participants, and how often they may upload; a project without a row has the defaults."""

    class Ladder(models.TextChoices):
        AUTO = "auto", "below 200 queries"
        ON = "on", "always"
        OFF = "off", "never"

    project = models.OneToOneField(Project, models.CASCADE, related_name="leaderboard")
    hides_val = models.BooleanField(default=False)
    hides_test = models.BooleanField(default=True)
    uploads_per_day = models.PositiveSmallIntegerField(default=UPLOADS_PER_DAY, help_text="Of one participant.")
    uploads_in_all = models.PositiveSmallIntegerField(
        default=UPLOADS_IN_ALL, db_default=UPLOADS_IN_ALL, help_text="Of one participant to one hidden split."
    )
    least_queries = models.PositiveIntegerField(
        default=LEAST_QUERIES,
        db_default=LEAST_QUERIES,
        help_text="A hidden split with fewer judged queries shows participants no score.",
    )
    ladder = models.CharField(
        max_length=4,
        choices=Ladder,
        default=Ladder.AUTO,
        db_default="auto",
        help_text="Whether a run on a hidden split is shown only when it is a step better than its owner's before.",
    )
    alike_percent = models.PositiveSmallIntegerField(
        default=ALIKE_PERCENT,
        db_default=ALIKE_PERCENT,
        help_text="Two runs of a person that differ in fewer of the queries are listed for the lead.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uploads_per_day__range=(1, 1000)), name="leaderboard_takes_1_to_1000_uploads_a_day"
            ),
            models.CheckConstraint(
                condition=Q(uploads_in_all__range=(1, 10_000)), name="leaderboard_takes_1_to_10000_uploads_in_all"
            ),
            models.CheckConstraint(
                condition=Q(least_queries__range=(1, 100_000)), name="leaderboard_least_queries_from_1_to_100000"
            ),
            models.CheckConstraint(condition=Q(ladder__in=["auto", "on", "off"]), name="leaderboard_ladder_is_known"),
            models.CheckConstraint(
                condition=Q(alike_percent__range=(0, 100)), name="leaderboard_alike_percent_from_0_to_100"
            ),
        ]

    def __str__(self) -> str:
        return f"leaderboard of {self.project}"

    def hides(self, split: str) -> bool:
        """Whether participants never see the labels of this split."""
        return self.hides_val if split == Query.Split.VAL else self.hides_test
