"""Decisions of checkers about the queries of writers."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from judging.collection.models import WrittenQuery


class QueryCheck(models.Model):
    """A decision of a checker about a written query. It stays, also where it was taken back."""

    class Decision(models.TextChoices):
        ACCEPT = "accept"  # as it was written
        CORRECT = "correct"  # with other bounds
        REJECT = "reject"

    class Reason(models.TextChoices):
        """Says why a query was rejected."""

        WRONG = "wrong", "It does not describe the moment"
        NOT_ONLY = "not_only", "Other moments of the clip fit it, too"
        BOUNDS = "bounds", "The moment begins or ends elsewhere"
        REPEATED = "repeated", "It repeats another query"
        TYPE = "type", "Its type is wrong"
        LANGUAGE = "language", "Its language"
        OTHER = "other", "Something else"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    query = models.ForeignKey(WrittenQuery, models.PROTECT, related_name="checks")
    checker = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="query_checks")
    decision = models.CharField(max_length=7, choices=Decision)
    reason = models.CharField(max_length=8, choices=Reason, blank=True, help_text="Of a rejection.")
    note = models.CharField(max_length=500, blank=True, help_text="In the checker's words.")
    start_s = models.FloatField(help_text="Of the moment, as the checker has it.")
    end_s = models.FloatField()
    moment_is_new = models.BooleanField(default=False, help_text="Whether the moment of the corpus was made for it.")
    created_at = models.DateTimeField(auto_now_add=True)
    active_ms = models.PositiveIntegerField(null=True, help_text="How long the query was before its checker.")
    undone_at = models.DateTimeField(null=True, help_text="When the checker took it back.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["query"], condition=Q(undone_at__isnull=True), name="query_check_once_per_query"
            ),
            models.CheckConstraint(
                condition=Q(decision__in=["accept", "correct", "reject"]), name="query_check_decision_is_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    decision="reject", reason__in=["wrong", "not_only", "bounds", "repeated", "type", "language"]
                )
                | (Q(decision="reject", reason="other") & ~Q(note=""))
                | (Q(decision="correct", reason="") & ~Q(note=""))
                | Q(decision="accept", reason=""),
                name="query_check_says_why",
            ),
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="query_check_starts_before_end"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision} of query {self.query_id}"

    @property
    def may_be_undone(self) -> bool:
        """Whether nothing is known to be built on it: no writer has a rejected query again."""
        has_gone_on = self.query.state == "sent_back" and self.query.assignment.state != "sent_back"
        return self.undone_at is None and not (self.decision == self.Decision.REJECT and has_gone_on)

    @property
    def why(self) -> str:
        """The reason and the note in one line."""
        return ": ".join(filter(None, [self.get_reason_display(), self.note]))
