"""Query: the sentence searched for, its split and named set. Candidate: a moment that may be judged for it."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from accounts.models import Project
from annotation.captions.models import Caption
from annotation.corpora.models import Measure, Moment


class NamedQuerySet(models.Model):
    """A named subset of a project's queries, which a lead can put first or pause; ``query set`` on the pages."""

    class Priority(models.IntegerChoices):
        LOW = -1
        NORMAL = 0
        HIGH = 1

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="query_sets")
    name = models.CharField(max_length=100)
    priority = models.SmallIntegerField(choices=Priority, default=Priority.NORMAL)
    is_paused = models.BooleanField(default=False)
    is_pilot = models.BooleanField(default=False, help_text="A pilot: neither released nor paid unless chosen.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "query set"
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="query_set_name_once_per_project"),
            models.CheckConstraint(condition=Q(priority__range=(-1, 1)), name="query_set_priority_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Query(models.Model):
    """One query. Queries of the same text are judged once, through ``judged_as``."""

    class Split(models.TextChoices):
        TRAIN = "train"
        VAL = "val"
        TEST = "test"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="queries")
    number = models.PositiveBigIntegerField(help_text="query_id in published files")
    text = models.TextField()
    split = models.CharField(max_length=5, choices=Split)
    caption = models.ForeignKey(Caption, models.PROTECT, null=True, related_name="queries")
    query_set = models.ForeignKey(NamedQuerySet, models.SET_NULL, null=True, related_name="queries")
    judged_as = models.ForeignKey("self", models.PROTECT, null=True, related_name="twins")
    is_placeholder = models.BooleanField(default=False, help_text="Stands for a block of historic judgments.")
    was_pilot = models.BooleanField(
        default=False, db_default=False, help_text="Released as a pilot, whatever its set says here."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="query_number_once_per_project"),
            models.UniqueConstraint(fields=["project", "caption"], name="query_caption_once_per_project"),
            models.UniqueConstraint(
                fields=["project", "text"],
                condition=Q(judged_as__isnull=True) & ~Q(split="train"),
                name="query_text_judged_once_per_project",
            ),
            models.CheckConstraint(condition=Q(split__in=["train", "val", "test"]), name="query_split_is_known"),
        ]
        indexes = [
            models.Index(
                fields=["project"],
                condition=Q(judged_as__isnull=True, is_placeholder=False, split__in=["val", "test"]),
                name="query_to_be_judged",
            )
        ]

    def __str__(self) -> str:
        return self.text


class Candidate(models.Model):
    """A moment of the pool with its place for a query; frozen when the query's first batch opens.

    Those pooled from runs come later, behind the last rank.
    """

    class Source(models.TextChoices):
        SIMILARITY = "similarity"
        POOLED = "pooled"

    query = models.ForeignKey(Query, models.PROTECT, related_name="candidates")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="candidates")
    rank = models.PositiveSmallIntegerField()
    similarity = models.FloatField(null=True, help_text="Rounded to 1e-6; null for historic judgments.")
    measure = models.ForeignKey(Measure, models.PROTECT, null=True, related_name="candidates")
    source = models.CharField(max_length=10, choices=Source, default=Source.SIMILARITY)
    pooling = models.ForeignKey("annotation.Pooling", models.PROTECT, null=True, related_name="candidates")
    wordings = models.JSONField(
        default=dict, help_text="What the moment's captions said when it was ranked: text by the caption's id."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "moment"], name="candidate_once_per_query_and_moment"),
            models.UniqueConstraint(fields=["query", "rank"], name="candidate_rank_once_per_query"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="candidate_rank_from_1"),
            models.CheckConstraint(
                condition=Q(similarity__isnull=True) | Q(similarity__gte=-1, similarity__lte=1),
                name="candidate_similarity_is_a_cosine",
            ),
            models.CheckConstraint(
                condition=Q(similarity__isnull=True) | Q(measure__isnull=False),
                name="candidate_similarity_has_its_measure",
            ),
            models.CheckConstraint(
                condition=Q(source="similarity", pooling__isnull=True)
                | Q(source="pooled", pooling__isnull=False, similarity__isnull=True),
                name="candidate_pooled_by_a_pooling",
            ),
        ]
