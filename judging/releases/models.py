"""Release: the judged data of a project at one time, in the published file forms. ReleaseWords: what a team says."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import Project


def archive_path(release: "Release", filename: str) -> str:
    return f"releases/{uuid4().hex}.zip"


class Release(models.Model):
    """One archive; ``manifest`` holds its counts and the SHA-256 of every file. A trigger keeps it once it is ready."""

    class State(models.TextChoices):
        PREPARING = "preparing"
        READY = "ready"
        FAILED = "failed"

    class Step(models.TextChoices):
        """Steps that ``done`` and ``total`` count."""

        JUDGED = "judged", "Writing judged queries"
        CORPUS = "corpus", "Writing videos and moments"
        TRAINING = "training", "Ranking training queries"
        JUDGMENTS = "judgments", "Writing judgments"
        PACKING = "packing", "Packing the archive"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)  # the key of the form that made it
    project = models.ForeignKey(Project, models.PROTECT, related_name="releases")
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.PREPARING)
    step = models.CharField(max_length=9, choices=Step, default=Step.JUDGED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    moved_at = models.DateTimeField(default=timezone.now, help_text="When its progress was last written.")
    archive = models.FileField(upload_to=archive_path, blank=True, max_length=255)
    archive_bytes = models.PositiveBigIntegerField(default=0)
    archive_sha256 = models.CharField(max_length=64, blank=True, help_text="Empty for archives older than this field.")
    content_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of all files that name neither the release nor a time."
    )
    includes_pilot = models.BooleanField(default=False, help_text="Whether pilots are included.")
    is_anonymised = models.BooleanField(
        default=False, db_default=False, help_text="Annotators have numbers of this release alone, drawn at random."
    )
    is_partial = models.BooleanField(default=False, help_text="Queries to judge are missing.")
    manifest = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    state_at = models.DateTimeField(null=True, help_text="The instant whose state it holds.")

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="release_version_once_per_project"),
            models.CheckConstraint(condition=~Q(state="ready") | ~Q(archive=""), name="release_ready_has_its_archive"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="release_failed_says_why"),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="release_done_within_total"),
        ]

    def __str__(self) -> str:
        return f"release {self.version} of {self.project}"

    @property
    def progress(self) -> str:
        if not self.total:
            return "Waiting for a worker"
        return f"{self.Step(self.step).label}: {self.done:,} of {self.total:,}"


class ReleaseComparison(models.Model):
    """Differences between two releases. Both stay as they are, so the comparison is made once, by a task."""

    class State(models.TextChoices):
        WORKING = "working"
        READY = "ready"
        FAILED = "failed"

    before = models.ForeignKey(Release, models.PROTECT, related_name="+")
    after = models.ForeignKey(Release, models.PROTECT, related_name="comparisons")
    state = models.CharField(max_length=7, choices=State, default=State.WORKING)
    counts = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    moved_at = models.DateTimeField(default=timezone.now, help_text="When it was last requested, or done.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["before", "after"], name="comparison_once_per_two_releases"),
            models.CheckConstraint(condition=~Q(before=F("after")), name="comparison_of_two_releases"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="comparison_failed_says_why"),
        ]


class ReleaseChange(models.Model):
    """A pair that is not in both releases as it was; numbered, so that every page of a list is found as fast."""

    comparison = models.ForeignKey(ReleaseComparison, models.CASCADE, related_name="changes")
    number = models.PositiveIntegerField(help_text="Among all changes, by query and rank.")
    number_of_kind = models.PositiveIntegerField()
    kind = models.CharField(max_length=7)
    query_id = models.BigIntegerField(help_text="The query's number in files; pair_id is the pair's.")
    query = models.TextField()
    pair_id = models.BigIntegerField()
    moment = models.TextField()
    rank = models.PositiveIntegerField()
    before = models.CharField(max_length=9)
    after = models.CharField(max_length=9)

    class Meta:
        ordering = ["comparison", "number"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "number"], name="change_number_once_per_comparison"),
            models.UniqueConstraint(
                fields=["comparison", "kind", "number_of_kind"], name="change_number_of_kind_once_per_comparison"
            ),
        ]


class ReleaseWords(models.Model):
    """Words of a project's team for the datasheets of its releases; what can be counted is not among them."""

    project = models.OneToOneField(Project, models.PROTECT, related_name="release_words")
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    motivation = models.TextField(blank=True)
    creators = models.TextField(blank=True)
    funding = models.TextField(blank=True)
    collection = models.TextField(blank=True)
    uses = models.TextField(blank=True)
    limits = models.TextField(blank=True)
    distribution = models.TextField(blank=True)
    maintenance = models.TextField(blank=True)
    licence = models.CharField(max_length=200, blank=True)
    licence_url = models.URLField(blank=True)
    url = models.URLField(blank=True)
    contact = models.CharField(max_length=200, blank=True)
    citation = models.TextField(blank=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "release words"


OF_THE_ROW = {"id", "project", "edited_by", "edited_at"}
WORDS = tuple(field.name for field in ReleaseWords._meta.fields if field.name not in OF_THE_ROW)
