"""FlagAnswer: what a lead made of a flag. Recut: a preview that is to be cut anew."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models import Moment
from judging.models.batch import Pair
from judging.models.judgment import Flag


class FlagAnswer(models.Model):
    """How a lead answered a flag; an answered flag withdraws no pair."""

    class Kind(models.TextChoices):
        RECUT = "recut", "the clip was cut anew"
        BOUNDS = "bounds", "the moment's bounds were put right"
        WITHDRAWN = "withdrawn", "the pair was withdrawn"
        DISMISSED = "dismissed", "dismissed"

    flag = models.OneToOneField(Flag, models.PROTECT, related_name="answer")
    kind = models.CharField(max_length=9, choices=Kind)
    words = models.CharField(max_length=1000, blank=True)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    answered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["recut", "bounds", "withdrawn", "dismissed"]), name="flag_answer_is_known"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["recut", "bounds"]) | ~Q(words=""), name="flag_answer_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.flag}"


class Recut(models.Model):
    """A preview that a lead wants cut anew, between other bounds where it names some; a task does it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="recuts", help_text="Where the lead saw it.")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="recuts")
    start_s = models.FloatField(null=True, help_text="Null: as it is.")
    end_s = models.FloatField(null=True)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    error = models.CharField(max_length=300, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["moment"],
                condition=Q(state="waiting"),
                name="recut_waits_once_per_moment",
                violation_error_message="This clip is being cut already.",
            ),
            models.CheckConstraint(
                condition=Q(start_s__isnull=True, end_s__isnull=True)
                | Q(start_s__isnull=False, end_s__isnull=False, start_s__gte=0, start_s__lt=F("end_s")),
                name="recut_names_both_bounds_or_none",
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at__isnull=True) | (~Q(state="waiting") & Q(ended_at__isnull=False)),
                name="recut_ended_has_its_time",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="recut_failed_says_why"),
        ]

    def __str__(self) -> str:
        return f"{self.state} recut of {self.moment}"

    @property
    def sets_bounds(self) -> bool:
        return self.start_s is not None
