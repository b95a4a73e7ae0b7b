"""PayRate and HoursCorrection: what turns active time into money. Rows are only ever added."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Project


class PayRate(models.Model):
    """Hourly pay of one annotator from a day on; without one the policy's rate holds."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="pay_rates")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="pay_rates")
    rate = models.DecimalField(max_digits=8, decimal_places=2)
    currency = models.CharField(max_length=3)
    from_day = models.DateField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(rate__gte=0, currency__regex="^[A-Z]{3}$"), name="pay_rate_is_an_amount")
        ]


class HoursCorrection(models.Model):
    """Time added to or taken from an annotator's day by a lead, with the reason."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="hours_corrections")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="hours_corrections")
    day = models.DateField()
    seconds = models.IntegerField()
    reason = models.CharField(max_length=1000)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(seconds=0) & ~Q(reason=""), name="hours_correction_says_what_and_why")
        ]

    @property
    def minutes(self) -> str:
        """With its sign, as the page says it."""
        return f"{self.seconds / 60:+.1f}".removesuffix(".0")
