"""Leaderboard: how participants take part in a project."""

from django.db import models
from django.db.models import Q

from annotation.models import Project, Query

UPLOADS_PER_DAY = 5


class Leaderboard(models.Model):
    """What is kept from participants, and how often they may upload; a project without a row has the defaults."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="leaderboard")
    hides_val = models.BooleanField(default=False)
    hides_test = models.BooleanField(default=True)
    uploads_per_day = models.PositiveSmallIntegerField(default=UPLOADS_PER_DAY, help_text="Of one participant.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uploads_per_day__range=(1, 1000)), name="leaderboard_takes_1_to_1000_uploads_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"leaderboard of {self.project}"

    def hides(self, split: str) -> bool:
        """Whether participants never see the labels of this split."""
        return self.hides_val if split == Query.Split.VAL else self.hides_test
