"""Pooling: moments that runs returned, looked at and then judged. Who returned what is kept for the pool's report."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.models import Project, User
from annotation.corpora.models import Moment, Video
from annotation.queries.models import NamedQuerySet, Query


class Pooling(models.Model):
    """One union of the top ``depth`` of some runs: planned, then opened for judging by somebody's word.

    A coverage study is one of two sources, neither of them a run: the ranking by similarity, and a random draw.
    """

    class Mixing(models.TextChoices):
        """Which moments go first where a query gets not all of them."""

        RANK = "rank", "the best rank in any run first"
        TURNS = "turns", "one of each run in turn"

    class State(models.TextChoices):
        PREPARING = "preparing"  # the runs are being read
        READY = "ready"  # waits for a person's word
        OPENING = "opening"
        DONE = "done"
        FAILED = "failed"  # the runs cannot be used; see error
        DISCARDED = "discarded"  # before it was opened

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="poolings")
    depth = models.PositiveSmallIntegerField(help_text="Ranks of a run that are looked at.")
    iou_min = models.FloatField(help_text="From which overlap a span stands for a moment.")
    split = models.CharField(max_length=5, choices=Query.Split, blank=True, help_text="Empty: both judged ones.")
    query_set = models.ForeignKey(NamedQuerySet, models.PROTECT, null=True, related_name="+", help_text="Null: all.")
    makes_moments = models.BooleanField(
        default=False, db_default=False, help_text="Spans that fit no moment become moments when it is opened."
    )
    most = models.PositiveSmallIntegerField(null=True, help_text="New candidates of a query at most; null: all.")
    mixing = models.CharField(max_length=5, choices=Mixing, default=Mixing.RANK, db_default=Mixing.RANK)
    seed = models.PositiveBigIntegerField(null=True, help_text="Of a coverage study's draw; null for runs.")
    others = models.PositiveSmallIntegerField(null=True, help_text="Moments a coverage study draws for each query.")
    state = models.CharField(max_length=9, choices=State, default=State.PREPARING)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(depth__range=(1, 1000)), name="pooling_depth_from_1_to_1000"),
            models.CheckConstraint(condition=Q(iou_min__gt=0, iou_min__lte=1), name="pooling_iou_above_0_to_1"),
            models.CheckConstraint(
                condition=Q(most__isnull=True) | Q(most__range=(1, 1000), seed__isnull=True),
                name="pooling_of_runs_has_most_from_1_to_1000",
            ),
            models.CheckConstraint(condition=Q(mixing__in=["rank", "turns"]), name="pooling_mixing_is_known"),
            models.CheckConstraint(condition=Q(split__in=["", "val", "test"]), name="pooling_split_is_judged"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="pooling_failed_says_why"),
            models.CheckConstraint(
                condition=Q(seed__isnull=True, others__isnull=True) | Q(seed__isnull=False, others__isnull=False),
                name="pooling_draws_with_a_seed",
            ),
            models.CheckConstraint(
                condition=Q(makes_moments=False) | Q(seed__isnull=True), name="pooling_of_a_draw_makes_no_moments"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["opening", "done"], opened_at__isnull=False)
                | Q(state__in=["preparing", "ready", "failed", "discarded"], opened_at__isnull=True),
                name="pooling_opened_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return f"top {self.depth} of {', '.join(source.name for source in self.sources.all())}"

    @property
    def is_coverage(self) -> bool:
        return self.seed is not None

    @property
    def is_at_work(self) -> bool:
        return self.state in (self.State.PREPARING, self.State.OPENING)

    @property
    def is_opened(self) -> bool:
        return self.state in (self.State.OPENING, self.State.DONE)


class PoolSource(models.Model):
    """A source of moments, by the name it has in the report: a system's runs, or the similarity of features."""

    pooling = models.ForeignKey(Pooling, models.CASCADE, related_name="sources")
    name = models.CharField(max_length=200)
    run_uuids = ArrayField(models.UUIDField(), default=list, help_text="Its stored runs; none where it is a file.")
    feature_uuids = ArrayField(
        models.UUIDField(), default=list, db_default=[], help_text="Features of videos and of queries, or none."
    )
    other_queries = models.PositiveIntegerField(default=0, help_text="Queries it answers that are not pooled for.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["pooling", "name"], name="pool_source_name_once_per_pooling"),
            models.CheckConstraint(condition=~Q(name=""), name="pool_source_has_a_name"),
            models.CheckConstraint(
                condition=Q(feature_uuids=[]) | Q(feature_uuids__len=2, run_uuids=[]),
                name="pool_source_has_runs_or_two_sets_of_features",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PoolAnswer(models.Model):
    """How many spans a source returned for a query (and its twins), and which of them are no moments to judge."""

    source = models.ForeignKey(PoolSource, models.CASCADE, related_name="answers")
    query = models.ForeignKey(Query, models.PROTECT, related_name="pool_answers")
    spans = models.PositiveIntegerField()
    unmatched = models.PositiveIntegerField(help_text="Spans that overlap no moment of the corpus enough.")
    without_preview = models.PositiveIntegerField(help_text="Spans that fit a moment without a preview.")
    drawn_from = models.PositiveIntegerField(null=True, help_text="How many moments a random draw could have drawn.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "query"], name="pool_answer_once_per_source_and_query"),
            models.CheckConstraint(
                condition=Q(spans__gte=F("unmatched") + F("without_preview")), name="pool_answer_counts_its_spans"
            ),
        ]


class PoolEntry(models.Model):
    """A moment that a source returned for a query, and at what rank: who contributed a candidate."""

    answer = models.ForeignKey(PoolAnswer, models.CASCADE, related_name="entries")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="pool_entries")
    rank = models.PositiveSmallIntegerField(help_text="Its best rank in the source.")
    similarity = models.FloatField(null=True, help_text="To the query, as a coverage study measured it.")
    similarity_rank = models.PositiveIntegerField(null=True, help_text="Its rank by similarity among all moments.")

    class Meta:
        verbose_name_plural = "pool entries"
        constraints = [
            models.CheckConstraint(
                condition=Q(similarity_rank__isnull=True) | Q(similarity__isnull=False, similarity_rank__gte=1),
                name="pool_entry_rank_by_similarity_has_it",
            ),
            models.UniqueConstraint(fields=["answer", "moment"], name="pool_entry_once_per_answer_and_moment"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="pool_entry_rank_from_1"),
        ]


class PoolSpan(models.Model):
    """A span of runs that fits no moment. A moment is made of it when its pool is opened, so it says which moments came
    so, and by which pool."""

    pooling = models.ForeignKey(
        Pooling, models.CASCADE, null=True, related_name="new_spans", help_text="Null: of an import without its pool."
    )
    video = models.ForeignKey(Video, models.PROTECT, related_name="+")
    start_s = models.FloatField()
    end_s = models.FloatField()
    moment = models.ForeignKey(Moment, models.PROTECT, null=True, related_name="pool_spans")
    is_new = models.BooleanField(default=False, help_text="The moment was made of it; else it was there by then.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pooling", "video", "start_s", "end_s"], name="pool_span_once_per_pooling_and_span"
            ),
            models.UniqueConstraint(fields=["moment"], condition=Q(is_new=True), name="pool_span_makes_a_moment_once"),
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="pool_span_starts_before_it_ends"
            ),
            models.CheckConstraint(
                condition=Q(is_new=False) | Q(moment__isnull=False), name="pool_span_that_is_new_has_its_moment"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.video_id} {self.start_s:.2f}-{self.end_s:.2f} s"


class PoolSpanEntry(models.Model):
    """A source's result for a query that is of a span without a moment; an entry of the pool once there is one."""

    answer = models.ForeignKey(PoolAnswer, models.CASCADE, related_name="span_entries")
    span = models.ForeignKey(PoolSpan, models.CASCADE, related_name="entries")
    rank = models.PositiveSmallIntegerField(help_text="Its best rank in the source.")

    class Meta:
        verbose_name_plural = "pool span entries"
        constraints = [
            models.UniqueConstraint(fields=["answer", "span"], name="pool_span_entry_once_per_answer_and_span"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="pool_span_entry_rank_from_1"),
        ]
