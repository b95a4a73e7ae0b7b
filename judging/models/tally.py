"""Tally, JudgmentDay: counts that pages show, kept by triggers in the transaction that changes what they count."""

from django.conf import settings
from django.db import models

from annotation.models import Project


class Tally(models.Model):
    """A change of a count; the count of ``what`` in a project is the sum of its rows.

    Rows are added, never changed, so that nobody waits for anybody; a sweep folds them into one.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    what = models.CharField(max_length=40, help_text="pair:state:relevance or batch:number:state:round")
    n = models.IntegerField()

    class Meta:
        verbose_name_plural = "tallies"
        indexes = [models.Index(fields=["project", "what"], name="tally_of_project")]

    def __str__(self) -> str:
        return f"{self.n:+} {self.what}"


class JudgmentDay(models.Model):
    """How many grades an annotator gave on a day of the policy's time zone; gold is not among them."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    judgments = models.PositiveIntegerField()
    second_round = models.PositiveIntegerField(help_text="Of these, in second rounds.")
    simulated = models.PositiveIntegerField(help_text="Of these, by simulated annotators.")
    imported = models.PositiveIntegerField(help_text="Of these, from files; their day is that of the import.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "annotator", "day"], name="judgment_day_once_per_annotator")
        ]

    def __str__(self) -> str:
        return f"{self.judgments} on {self.day}"
