"""ScoreTest: whether two runs differ by one measure."""

from django.db import models
from django.db.models import F, Q

from models_runner.models.scoring import Score

ATTEMPTS = 3


class ScoreTest(models.Model):
    """The paired randomisation test of two scores of one measure, split and release; without ``p`` it waits.

    A pair is tested once, whichever of the two is asked for as the base: ``one`` is the earlier score.
    """

    one = models.ForeignKey(Score, models.CASCADE, related_name="+")
    other = models.ForeignKey(Score, models.CASCADE, related_name="+")
    p = models.FloatField(null=True, help_text="Two-sided, not corrected.")
    low = models.FloatField(null=True, help_text="Of the 95 % interval of one minus other.")
    high = models.FloatField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Those that something unexpected ended.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(p=None), name="score_test_that_waits")]
        constraints = [
            models.UniqueConstraint(fields=["one", "other"], name="score_test_once_per_pair"),
            models.CheckConstraint(condition=Q(one__lt=F("other")), name="score_test_one_is_the_earlier_score"),
            models.CheckConstraint(condition=Q(p=None) | Q(p__gt=0, p__lte=1), name="score_test_p_within_0_and_1"),
            models.CheckConstraint(
                condition=Q(low=None, high=None)
                | Q(p__isnull=False, low__isnull=False, high__isnull=False, low__lte=F("high")),
                name="score_test_interval_is_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.one_id} against {self.other_id}: {self.p}"

    @property
    def is_waiting(self) -> bool:
        """Whether it will come; what failed again and again will not."""
        return self.p is None and self.attempts < ATTEMPTS
