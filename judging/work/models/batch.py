"""Batch: up to 20 pairs of one query, handed out together. Pair: the thing judged. BatchReview: the lead's word.

ReviewUndone: a word that a lead took back.

Tally, JudgmentDay: counts that pages show, kept by triggers in the transaction that changes what they count.
"""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Project
from annotation.models import Candidate, Pooling, Query


class Batch(models.Model):
    """Ranks 1 to 20 (number 1) or 21 to 40 (number 2) by similarity; from number 3 on, moments pooled from runs."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="batches")
    query = models.ForeignKey(Query, models.PROTECT, related_name="batches")
    number = models.PositiveSmallIntegerField()
    pooling = models.ForeignKey(
        Pooling, models.PROTECT, null=True, related_name="batches", help_text="That opened it; null by similarity."
    )
    round = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=4, choices=State, default=State.OPEN)
    priority = models.SmallIntegerField(default=0, help_text="Of the query's set; higher goes first.")
    is_paused = models.BooleanField(default=False, help_text="As the query's set: nobody is handed it.")
    is_pilot = models.BooleanField(
        default=False, help_text="As the query's set: neither released nor paid unless chosen."
    )
    free_seats = models.PositiveSmallIntegerField(default=2, help_text="Seats of the round that nobody holds.")
    begun = models.BooleanField(default=False, help_text="Somebody sat at the round.")
    awaits_review = models.BooleanField(
        default=False, db_default=False, help_text="A first batch that is done and undecided; triggers say so."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["query", "number"], name="batch_number_once_per_query"),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2], pooling__isnull=True) | Q(number__gte=3, pooling__isnull=False),
                name="batch_pooled_from_number_3",
            ),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="batch_round_is_1_or_2"),
            models.CheckConstraint(condition=Q(free_seats__range=(0, 2)), name="batch_has_two_seats_a_round"),
            models.CheckConstraint(
                condition=Q(state="open", done_at__isnull=True) | Q(state="done", done_at__isnull=False),
                name="batch_done_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(awaits_review=False) | Q(state="done", number=1), name="batch_awaits_review_when_done"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "-priority", "-round", "-begun", "id"],
                condition=Q(state="open", is_paused=False, free_seats__gt=0),
                name="batch_to_be_taken",
            ),
            models.Index(fields=["id"], condition=Q(state="open", free_seats=0), name="batch_no_seat_free"),
            models.Index(fields=["project"], condition=Q(state="open", begun=True), name="batch_under_way"),
            models.Index(
                fields=["project", "number", "done_at"], condition=Q(state="done"), name="batch_done_by_project"
            ),
            models.Index(
                fields=["project", "done_at", "id"], condition=Q(awaits_review=True), name="batch_that_awaits_review"
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.number} of query {self.query_id}"

    @property
    def is_pooled(self) -> bool:
        return self.pooling_id is not None

    @property
    def opened_by(self) -> str:
        """In a word, what opened it; empty by similarity."""
        if self.pooling is None:
            return ""
        return "pooled" if self.pooling.seed is None else "coverage"


class Pair(models.Model):
    """One query with one moment (its candidate), and what became of it."""

    class State(models.TextChoices):
        OPEN = "open"
        ESCALATED = "escalated"
        SETTLED = "settled"
        DROPPED = "dropped"
        WITHDRAWN = "withdrawn"

    class Reason(models.TextChoices):
        NO_CONSENSUS = "no_consensus"
        NO_SECOND_ROUND = "no_second_round"
        WITHDRAWN_BY_LEAD = "withdrawn_by_lead"
        FLAGGED_TWICE = "flagged_twice"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="pairs")
    candidate = models.OneToOneField(Candidate, models.PROTECT, related_name="pair")
    source_id = models.PositiveBigIntegerField(null=True, help_text="pair_id of an imported file")
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    relevance = models.PositiveSmallIntegerField(null=True)
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    restored_at = models.DateTimeField(null=True, help_text="A lead put it back; flags from before count no more.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="settled", relevance__isnull=False, relevance__range=(0, 4))
                | (~Q(state="settled") & Q(relevance__isnull=True)),
                name="pair_settled_has_its_relevance",
            ),
            models.CheckConstraint(
                condition=(Q(state__in=["dropped", "withdrawn"]) & ~Q(reason=""))
                | (~Q(state__in=["dropped", "withdrawn"]) & Q(reason="")),
                name="pair_out_says_why",
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "batch"], condition=Q(state__in=["dropped", "withdrawn"]), name="pair_that_is_out"
            )
        ]

    def __str__(self) -> str:
        return f"pair {self.uuid}"


class BatchReview(models.Model):
    """What the lead (or the automatic rule) decided after a query's first batch."""

    class Decision(models.TextChoices):
        EXTEND = "extend"
        CLOSE = "close"

    batch = models.OneToOneField(Batch, models.PROTECT, related_name="review")
    decision = models.CharField(max_length=6, choices=Decision)
    suggestion = models.CharField(max_length=6, choices=Decision)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.decision} {self.batch}"


class ReviewUndone(models.Model):
    """A decision that a lead took back, as it was; rows are only ever added."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="undone_reviews")
    decision = models.CharField(max_length=6, choices=BatchReview.Decision)
    suggestion = models.CharField(max_length=6, choices=BatchReview.Decision)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField()
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    undone_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.decision} {self.batch}, taken back"


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
