"""FeatureSet: the features of a project's videos, subtitles or queries in one file, from its order to its findings."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from moment_retrieval.features.attributes import LABELS

# Extractors of videos that are given a model.
VIDEO_MODELS = ("image-model", "resnet", "i3d", "slowfast", "c3d", "vgg", "video-model", "audio-model")


class FeatureSet(models.Model):
    """One file of features that experiments are trained on: made here, or official and named by its path."""

    class Kind(models.TextChoices):
        """Source of the features."""

        VIDEO = "video", "videos"
        SUBTITLE = "subtitle", "subtitles"
        QUERY = "query", "queries"

    class Extractor(models.TextChoices):
        PIXELS = "builtin-pixels", "built in: colours and motion"
        WORDS = "builtin-text", "built in: all-MiniLM tokens"
        IMAGES = "image-model", "an image model of transformers"
        TEXTS = "text-model", "a text model of transformers"
        JOINT_TEXTS = "joint-text", "the text half of CLIP, SigLIP, X-CLIP or CLAP"
        RESNET = "resnet", "ResNet, as published"
        I3D = "i3d", "I3D"
        SLOWFAST = "slowfast", "SlowFast"
        C3D = "c3d", "C3D"
        VGG = "vgg", "VGG-16"
        CLIPS = "video-model", "a video model of transformers"
        AUDIO = "audio-model", "a model of sound: CLAP or Whisper"
        FILE = "file", "official file"

    class State(models.TextChoices):
        RUNNING = "running"
        CANCELLED = "cancelled"  # it can go on
        FAILED = "failed"  # see error; it can go on
        DONE = "done"

    class Step(models.TextChoices):
        """Meaning of ``done`` and ``total``: megabytes of the model, or videos or queries."""

        DOWNLOADING = "downloading"
        EXTRACTING = "extracting"
        CHECKING = "checking"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="feature_sets")
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=8, choices=Kind)
    extractor = models.CharField(max_length=14, choices=Extractor)
    model = models.CharField(max_length=200, blank=True, help_text="A name on the hub, or a folder.")
    made_by = models.CharField(max_length=300, blank=True, help_text="The extractor with its version.")
    path = models.CharField(max_length=500, help_text="Absolute, on the machine that trains.")
    width = models.PositiveIntegerField(default=0, help_text="Numbers in a row.")
    n_items = models.PositiveIntegerField(default=0, help_text="Videos or queries that have features.")
    checksum = models.CharField(max_length=100, blank=True)
    attributes = models.JSONField(
        default=dict,
        db_default={},
        help_text="How they were made: frames a second, pooling and so on.",
    )
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=11, choices=Step, default=Step.EXTRACTING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Starts since it last came further.")
    error = models.TextField(blank=True)
    n_failed = models.PositiveIntegerField(default=0, help_text="Videos or queries that no features could be made of.")
    reasons = models.JSONField(default=dict, help_text="Why, of the first of them, by name.")
    findings = models.JSONField(default=list, help_text="What is wrong with the file.")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True, help_text="When its progress was last written.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="feature_set_name_once_per_project"),
            models.UniqueConstraint(
                fields=["project", "kind", "path"], name="feature_set_file_once_per_project_and_kind"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="feature_set_has_a_name"),
            models.CheckConstraint(
                condition=Q(kind="video", extractor__in=["builtin-pixels", *VIDEO_MODELS, "file"])
                | Q(kind__in=["subtitle", "query"], extractor__in=["builtin-text", "text-model", "file"])
                | Q(kind="query", extractor="joint-text"),
                name="feature_set_extractor_suits_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(extractor__in=[*VIDEO_MODELS, "text-model", "joint-text"], model__gt="")
                | Q(extractor__in=["builtin-pixels", "builtin-text"], model="")
                | (Q(extractor="file") & (Q(kind="query") | Q(model=""))),
                name="feature_set_names_a_model_where_one_is_asked",
            ),
            models.CheckConstraint(condition=Q(path__startswith="/"), name="feature_set_path_is_absolute"),
            models.CheckConstraint(
                condition=Q(state__in=["running", "cancelled", "failed", "done"]), name="feature_set_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(step__in=["downloading", "extracting", "checking"]), name="feature_set_step_is_known"
            ),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="feature_set_done_within_total"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="feature_set_failed_says_why"),
            models.CheckConstraint(
                condition=~Q(state="done")
                | (Q(width__gte=1, n_items__gte=1, finished_at__isnull=False) & ~Q(checksum="")),
                name="feature_set_done_is_measured",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.project}"

    @property
    def is_ours(self) -> bool:
        """Whether the file was made here, and goes with the row."""
        return self.extractor != self.Extractor.FILE

    @property
    def may_name_model(self) -> bool:
        """Whether it can be said which text model made it: an official file of queries."""
        return not self.is_ours and self.kind == self.Kind.QUERY

    @property
    def attribute_labels(self) -> list[tuple[str, str | int | float]]:
        """Return how the features were made, as label and value."""
        return [(label, self.attributes[name]) for name, label in LABELS.items() if self.attributes.get(name)]

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING

    @property
    def may_go_on(self) -> bool:
        return self.state in (self.State.CANCELLED, self.State.FAILED)

    @property
    def is_fit(self) -> bool:
        """Whether training can be done with it."""
        return self.state == self.State.DONE and not self.faults

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Findings that training would fail on."""
        return [finding for finding in self.findings if finding["fatal"]]

    @property
    def progress(self) -> str:
        if not self.total:
            return "Waiting for the worker of the queue gpu"
        if self.step == self.Step.DOWNLOADING:
            return f"Downloading {self.model}: {self.done:,} of {self.total:,} MB"
        doing = "Making features" if self.step == self.Step.EXTRACTING else "Checking"
        return f"{doing}: {self.done:,} of {self.total:,}"
