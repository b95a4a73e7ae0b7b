"""Batches with their pairs, assignments, judgments, flags, and counts kept by triggers."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import JudgingRules, Project
from annotation.models import Candidate, Moment, Pooling, Query, TopicVersion
from core import clock
from judging.guidelines.models import Guideline, Policy

BULK = 2000  # batches of a statement: PostgreSQL takes 65,535 values, and an array keeps them from being columns


class Batch(JudgingRules):
    """The best candidates of a query by similarity (number 1), those behind them (number 2), and from number 3 on,
    moments pooled from runs; with the rules of its project."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="batches")
    query = models.ForeignKey(Query, models.PROTECT, related_name="batches")
    number = models.PositiveSmallIntegerField()
    pooling = models.ForeignKey(Pooling, models.PROTECT, null=True, related_name="batches")
    round = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=4, choices=State, default=State.OPEN)
    priority = models.SmallIntegerField(default=0, help_text="Of the query's set; higher goes first.")
    is_paused = models.BooleanField(default=False, help_text="As the query's set: not handed out.")
    is_pilot = models.BooleanField(
        default=False, help_text="As the query's set: neither released nor paid unless chosen."
    )
    strata = ArrayField(
        ArrayField(models.PositiveSmallIntegerField(), size=3),
        default=list,
        db_default=models.Value([], ArrayField(ArrayField(models.PositiveSmallIntegerField(), size=3))),
        blank=True,
        help_text="Of which ranks its pairs were drawn, as the project's when it was opened; empty: not drawn.",
    )
    free_slots = models.PositiveSmallIntegerField(help_text="Free slots of the round.")
    begun = models.BooleanField(default=False, help_text="Somebody was assigned to the round.")
    awaits_review = models.BooleanField(
        default=False, db_default=False, help_text="A first batch that is done and undecided; set by triggers."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            *JudgingRules.Meta.constraints,
            models.UniqueConstraint(fields=["query", "number"], name="batch_number_once_per_query"),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2], pooling__isnull=True) | Q(number__gte=3, pooling__isnull=False),
                name="batch_pooled_from_number_3",
            ),
            models.CheckConstraint(
                condition=Q(round__gte=1, round__lte=F("max_rounds")), name="batch_round_is_allowed"
            ),
            models.CheckConstraint(condition=Q(free_slots__lte=F("judges")), name="batch_has_a_slot_for_each_judge"),
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
                condition=Q(state="open", is_paused=False, free_slots__gt=0),
                name="batch_to_be_taken",
            ),
            models.Index(fields=["id"], condition=Q(state="open", free_slots=0), name="batch_no_slot_free"),
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
                condition=Q(state="settled", relevance__isnull=False, relevance__range=(0, 9))
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
    """Decision of the lead (or the automatic rule) after a query's first batch."""

    class Decision(models.TextChoices):
        EXTEND = "extend"
        CLOSE = "close"

    batch = models.OneToOneField(Batch, models.PROTECT, related_name="review")
    decision = models.CharField(max_length=6, choices=Decision)
    suggestion = models.CharField(max_length=6, choices=Decision)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(auto_now_add=True)


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


class Tally(models.Model):
    """A change of a count; the count of ``what`` in a project is the sum of its rows. Rows are added, never changed, so
    that nobody waits for anybody; a sweep folds them into one."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    what = models.CharField(max_length=40, help_text="pair:state:relevance or batch:number:state:round")
    n = models.IntegerField()

    class Meta:
        verbose_name_plural = "tallies"
        indexes = [models.Index(fields=["project", "what"], name="tally_of_project")]


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


class Assignment(models.Model):
    """One annotator's slot at one round of a batch; ``expires_at`` is the lease."""

    class State(models.TextChoices):
        OPEN = "open"
        FINISHED = "finished"
        LAPSED = "lapsed"
        RETURNED = "returned"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="+")
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments")
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField()
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    shuffle_seed = models.PositiveIntegerField(help_text="The order of the pairs follows from it.")
    pair_ids = ArrayField(models.BigIntegerField(), help_text="The pairs, in the order shown.")
    gold_ids = ArrayField(models.BigIntegerField(), default=list, help_text="Pairs of known truth: see GoldGrade.")
    topic_version = models.ForeignKey(
        TopicVersion,
        models.PROTECT,
        null=True,
        related_name="assignments",
        help_text="What it shows under the query, from its first pair to its last; null where the query is no topic.",
    )
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(default=clock.now, editable=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "round", "slot"],
                condition=Q(state="open"),
                name="assignment_one_holder_per_slot",
                violation_error_message="Somebody else has just taken this batch.",
            ),
            models.UniqueConstraint(
                fields=["project", "annotator"], condition=Q(state="open"), name="assignment_one_open_per_annotator"
            ),
            models.CheckConstraint(condition=Q(slot__range=(1, 3)), name="assignment_slot_is_1_to_3"),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="assignment_round_is_1_or_2"),
            models.CheckConstraint(condition=Q(pair_ids__len__gt=0), name="assignment_asks_for_something"),
            models.CheckConstraint(condition=Q(pair_ids__contains=F("gold_ids")), name="assignment_gold_is_asked_for"),
            models.CheckConstraint(
                condition=Q(state="open", ended_at__isnull=True) | (~Q(state="open") & Q(ended_at__isnull=False)),
                name="assignment_ended_has_its_time",
            ),
        ]
        indexes = [
            # no index holds expires_at: every grade renews it, and such an update then touches no index
            models.Index(fields=["annotator", "-id"], name="assignment_by_annotator"),
            models.Index(fields=["state"], condition=Q(state__in=["lapsed", "open"]), name="assignment_lapsed_or_open"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.uuid}"


class Judgment(models.Model):
    """One annotator's grade for one pair; it may change until its assignment ends (see JudgmentChange)."""

    class Source(models.TextChoices):
        PERSON = "person"
        SIMULATED = "simulated"
        IMPORTED = "imported"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False, help_text="The key of the form that sent it.")
    pair = models.ForeignKey(Pair, models.PROTECT, related_name="judgments", db_index=False)
    assignment = models.ForeignKey(Assignment, models.PROTECT, null=True, related_name="judgments")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="judgments", db_index=False)
    occurrence = models.PositiveSmallIntegerField(default=0, help_text="Above 0 where a file names a person again.")
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField()
    grade = models.PositiveSmallIntegerField()
    revision = models.PositiveSmallIntegerField(default=0, help_text="How often the grade was changed.")
    position = models.PositiveSmallIntegerField(null=True, help_text="Position in the order shown, from 1.")
    previous_grade = models.PositiveSmallIntegerField(null=True, help_text="The annotator's grade just before.")
    comment = models.TextField(blank=True)
    active_ms = models.PositiveIntegerField(null=True, help_text="From pair shown to grade sent, changes included.")
    source = models.CharField(max_length=9, choices=Source)
    origin = models.CharField(
        max_length=9,
        choices=Source,
        blank=True,
        default="",
        db_default="",
        help_text="The source that the imported release states.",
    )
    guideline = models.ForeignKey(Guideline, models.PROTECT, null=True, related_name="+", db_index=False)
    policy = models.ForeignKey(Policy, models.PROTECT, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "annotator", "occurrence"],
                name="judgment_once_per_pair_and_annotator",
                violation_error_message="You have already judged this pair.",
            ),
            models.UniqueConstraint(fields=["pair", "round", "slot"], name="judgment_once_per_pair_round_and_slot"),
            models.CheckConstraint(condition=Q(grade__range=(0, 9)), name="judgment_grade_from_0_to_9"),
            models.CheckConstraint(condition=Q(slot__range=(1, 3)), name="judgment_slot_is_1_to_3"),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="judgment_round_is_1_or_2"),
            models.CheckConstraint(
                condition=Q(source="imported", assignment__isnull=True)
                | (
                    ~Q(source="imported")
                    & Q(occurrence=0, assignment__isnull=False, guideline__isnull=False, policy__isnull=False)
                    & Q(position__isnull=False, position__gte=1)  # a null alone would pass
                ),
                name="judgment_given_under_an_assignment_unless_imported",
            ),
            models.CheckConstraint(
                condition=Q(origin="") | Q(source="imported", origin__in=["person", "simulated"]),
                name="judgment_origin_of_the_imported",
            ),
            models.CheckConstraint(
                condition=Q(previous_grade__isnull=True) | Q(previous_grade__range=(0, 9)),
                name="judgment_previous_grade_from_0_to_9",
            ),
        ]
        indexes = [models.Index(fields=["annotator", "created_at"], name="judgment_by_annotator_and_day")]


class JudgmentChange(models.Model):
    """An earlier grade of a judgment; ``uuid`` is the key of the form that changed it."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    judgment = models.ForeignKey(Judgment, models.PROTECT, related_name="changes")
    from_grade = models.PositiveSmallIntegerField()
    to_grade = models.PositiveSmallIntegerField()
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(from_grade__range=(0, 9), to_grade__range=(0, 9)) & ~Q(from_grade=F("to_grade")),
                name="judgment_change_is_one",
            )
        ]


class Flag(models.Model):
    """Why somebody cannot judge a pair. Two of ended assignments, or a lead, withdraw the pair."""

    class Reason(models.TextChoices):
        BROKEN = "broken", "The clip is broken"
        UNREADABLE = "unreadable", "The query cannot be understood"
        OFFENSIVE = "offensive", "Offensive or disturbing"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    pair = models.ForeignKey(Pair, models.PROTECT, related_name="flags", db_index=False)
    assignment = models.ForeignKey(Assignment, models.PROTECT, related_name="flags")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=10, choices=Reason)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, help_text="When the annotator took it back.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "annotator"],
                condition=Q(withdrawn_at__isnull=True),
                name="flag_once_per_pair_and_annotator",
            ),
            models.CheckConstraint(condition=Q(reason__in=["broken", "unreadable", "offensive"]), name="flag_says_why"),
        ]


class OwnGrade(models.Model):
    """Grade of an annotator, gold included: a view, for the pages and endpoints that show people their own grades."""

    uuid = models.UUIDField(primary_key=True)
    pair = models.ForeignKey(Pair, models.DO_NOTHING, related_name="+")
    assignment = models.ForeignKey(Assignment, models.DO_NOTHING, related_name="own_grades")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="own_grades")
    grade = models.PositiveSmallIntegerField()
    comment = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "judging_owngrade"


class FlagAnswer(models.Model):
    """How a lead answered a flag; an answered flag withdraws no pair."""

    class Kind(models.TextChoices):
        RECUT = "recut", "the clip was cut anew"
        BOUNDS = "bounds", "the moment's bounds were put right"
        WITHDRAWN = "withdrawn", "the pair was withdrawn"
        DISMISSED = "dismissed", "dismissed"

    flag = models.OneToOneField(Flag, models.PROTECT, related_name="answer")
    kind = models.CharField(max_length=9, choices=Kind)
    text = models.CharField(max_length=1000, blank=True)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    answered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["recut", "bounds", "withdrawn", "dismissed"]), name="flag_answer_is_known"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["recut", "bounds"]) | ~Q(text=""), name="flag_answer_says_why"
            ),
        ]


class Recut(models.Model):
    """A preview that a lead wants cut anew, between other bounds where it names some; a task does it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="recuts", help_text="Where the lead requested it.")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="recuts")
    start_s = models.FloatField(null=True, help_text="Null: unchanged.")
    end_s = models.FloatField(null=True)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    error = models.CharField(max_length=300, blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
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

    @property
    def sets_bounds(self) -> bool:
        return self.start_s is not None
