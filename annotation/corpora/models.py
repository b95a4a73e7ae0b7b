"""The material to judge: corpora, their videos, moments with descriptions and captions, and imports into them."""

from pathlib import PurePath
from typing import TYPE_CHECKING
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import F, Q

from accounts.models import User
from core.uploads import Upload, import_path, upload_constraints

if TYPE_CHECKING:
    from annotation.captions.models import CaptionRedo


class Measure(models.Model):
    """A similarity as it was: its name, model, version and normalisation of texts. Rows are only ever added."""

    name = models.CharField(max_length=200, help_text="The name to choose it by.")
    model = models.CharField(max_length=500, help_text="What computes it.")
    version = models.CharField(max_length=300)
    normalisation = models.CharField(max_length=200, help_text="Of the texts, before they are compared.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "model", "version", "normalisation"], name="measure_once"),
            models.CheckConstraint(condition=~Q(name=""), name="measure_has_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.version}, {self.normalisation}"


def video_path(video: "Video", filename: str) -> str:
    return f"videos/{uuid4().hex}.{filename.rsplit('.', 1)[-1].lower()}"


class Corpus(models.Model):
    """All videos that moments are retrieved from."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=200, unique=True)
    is_placeholder = models.BooleanField(default=False, help_text="Stands for videos that are not available.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class ProjectCorpus(models.Model):
    """The dataset of a project, ``project.dataset``: a corpus, and the similarity that ranks its candidates."""

    project = models.OneToOneField("accounts.Project", models.PROTECT, primary_key=True, related_name="dataset")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="datasets")
    similarity = models.CharField(
        max_length=200, blank=True, help_text="What ranks candidates; empty: the model that SENTENCE_MODEL names."
    )

    class Meta:
        verbose_name_plural = "project corpora"


class Video(models.Model):
    """One source file; ``file`` is what the storage holds, empty while there is none."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="videos")
    name = models.CharField(max_length=200)
    duration_s = models.FloatField()
    index = models.PositiveIntegerField(help_text="The number that run files may use for this video.")
    index_is_given = models.BooleanField(default=True, help_text="Whether the source files give the index.")
    source_split = models.CharField(max_length=40, blank=True)
    file = models.FileField(upload_to=video_path, blank=True, max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="video_name_once_per_corpus"),
            models.UniqueConstraint(fields=["corpus", "index"], name="video_index_once_per_corpus"),
            models.CheckConstraint(condition=Q(duration_s__gt=0), name="video_lasts"),
        ]

    def __str__(self) -> str:
        return self.name


class Subtitle(models.Model):
    """One line of speech."""

    video = models.ForeignKey(Video, models.CASCADE, related_name="subtitles")
    start_s = models.FloatField()
    end_s = models.FloatField()
    text = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="subtitle_starts_before_end"
            )
        ]


class CorpusImport(Upload):
    """An annotation file on its way into a corpus."""

    FILES = ("file", "durations")

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="corpus_imports")
    corpus_name = models.CharField(max_length=200)
    source_split = models.CharField(max_length=40, blank=True)
    format = models.CharField(max_length=20)
    clip = models.BooleanField(default=False, help_text="Cut windows that end after their video.")
    durations = models.FileField(upload_to=import_path, blank=True, max_length=255)
    preview = models.JSONField(default=list, help_text="The first records, as they will be stored.")

    class Meta:
        constraints = upload_constraints("corpus_import")


def preview_path(moment: "Moment", filename: str) -> str:
    return f"previews/{uuid4().hex}{PurePath(filename).suffix}"


class Moment(models.Model):
    """A stretch of one video, in seconds, and the preview that annotators watch."""

    class Preview(models.TextChoices):
        MISSING = "missing"  # not cut yet
        READY = "ready"
        FAILED = "failed"  # see preview_error
        PLACEHOLDER = "placeholder"  # of a historic judgment: no video, never assigned

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    video = models.ForeignKey(Video, models.PROTECT, related_name="moments")
    start_s = models.FloatField()
    end_s = models.FloatField()
    preview = models.FileField(upload_to=preview_path, blank=True, max_length=255)
    preview_clip = models.FileField(
        upload_to=preview_path,
        blank=True,
        max_length=255,
        help_text="The same frames as MP4; empty where that is not smaller.",
    )
    preview_uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    preview_state = models.CharField(max_length=12, choices=Preview, default=Preview.MISSING)
    preview_error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["video", "start_s", "end_s"], name="moment_once_per_video_and_span"),
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="moment_starts_before_it_ends"
            ),
            models.CheckConstraint(
                condition=~Q(preview_state="ready") | ~Q(preview=""), name="moment_ready_has_its_preview"
            ),
            models.CheckConstraint(
                condition=Q(preview_clip="") | Q(preview_state="ready"), name="moment_clip_is_of_a_ready_preview"
            ),
            models.CheckConstraint(
                condition=~Q(preview_state="failed") | ~Q(preview_error=""), name="moment_failed_says_why"
            ),
        ]
        indexes = [models.Index(fields=["video"], condition=Q(preview_state="missing"), name="moment_without_preview")]

    def __str__(self) -> str:
        return f"{self.video.name} {self.start_s:.2f}-{self.end_s:.2f} s"


class Description(models.Model):
    """The precise sentence somebody wrote about a moment."""

    class Kind(models.TextChoices):
        VIDEO = "video"
        SUBTITLE = "subtitle"
        BOTH = "both"

    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="descriptions")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="descriptions")
    source_id = models.PositiveBigIntegerField(help_text="desc_id of the source file; becomes query_id in releases.")
    text = models.TextField()
    kind = models.CharField(max_length=10, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "source_id"], name="description_source_id_once_per_corpus"),
            models.CheckConstraint(condition=~Q(text=""), name="description_says_something"),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def kind_in_words(self) -> str:
        words = {self.Kind.VIDEO: "of the video", self.Kind.SUBTITLE: "of the speech", self.Kind.BOTH: "of both"}
        return words[self.Kind(self.kind)]


class Caption(models.Model):
    """The imprecise sentence of a moment, names replaced; who made it, how, and whether it may serve is kept."""

    class Provider(models.TextChoices):
        DEMO = "demo"
        AS_DESCRIBED = "as-described"  # not rewritten yet
        RULES = "rules"
        OPENAI = "openai"

    class State(models.TextChoices):
        PROPOSED = "proposed"  # not checked yet
        ACCEPTED = "accepted"
        IN_REVIEW = "in_review", "in review"
        EDITED = "edited"

    class Check(models.TextChoices):
        """Why a person must look at it; the first two are the checks of the paper, the others stand in their way."""

        SIMILARITY = "similarity", "says something else"
        NAME = "name", "names a person"
        NO_ANSWER = "no_answer", "no answer"
        REFUSED = "refused", "refused by the provider"
        EMPTY = "empty", "empty description"
        HUGE = "huge", "huge description"
        ONLY_NAME = "only_name", "only a name"
        MARKUP = "markup", "holds markup"
        LANGUAGE = "language", "not in English"

    uuid = models.UUIDField(db_default=RandomUUID(), unique=True, editable=False)
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="captions")
    description = models.OneToOneField(Description, models.PROTECT, related_name="caption")
    text = models.TextField()
    provider = models.CharField(max_length=40, choices=Provider)
    state = models.CharField(max_length=10, choices=State, default=State.ACCEPTED)
    model = models.CharField(max_length=100, blank=True, help_text="The provider's model, or its version.")
    prompt = models.ForeignKey("annotation.Prompt", models.PROTECT, null=True, related_name="captions")
    temperature = models.FloatField(null=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    tokens_in = models.PositiveIntegerField(default=0, help_text="Of all attempts.")
    tokens_out = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    similarity = models.FloatField(null=True, help_text="To the description.")
    similarity_measure = models.ForeignKey(Measure, models.PROTECT, null=True, related_name="+")
    name_found = models.CharField(max_length=200, blank=True)
    name_score = models.FloatField(null=True)
    name_model = models.CharField(max_length=100, blank=True)
    failed = ArrayField(
        models.CharField(max_length=12, choices=Check),
        default=list,
        blank=True,
        help_text="Checks that this or an earlier wording failed.",
    )
    detail = models.CharField(max_length=300, blank=True)
    reviewed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reviewed_at = models.DateTimeField(null=True)
    text_changed_at = models.DateTimeField(null=True, editable=False, help_text="Set by the database.")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="caption_says_something"),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "accepted", "in_review", "edited"]), name="caption_state_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="in_review") | ~Q(failed=[]), name="caption_in_review_failed_a_check"
            ),
            models.CheckConstraint(
                condition=Q(failed=[]) | Q(state__in=["proposed", "in_review"]) | Q(reviewed_by__isnull=False),
                name="caption_that_failed_serves_by_a_person",
            ),
            models.CheckConstraint(
                condition=Q(similarity__isnull=True) | Q(similarity_measure__isnull=False),
                name="caption_similarity_has_its_measure",
            ),
            models.CheckConstraint(
                condition=~Q(state="edited") | Q(reviewed_by__isnull=False), name="caption_edited_by_a_person"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["proposed", "in_review"]), name="caption_that_waits"),
            models.Index(fields=["id"], condition=Q(state="edited", name_model=""), name="caption_edit_unchecked"),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def redo(self) -> "CaptionRedo | None":
        """The other wording that was last asked for."""
        return max(self.redos.all(), key=lambda redo: redo.pk, default=None)

    @property
    def failed_in_words(self) -> list[str]:
        return [str(self.Check(check).label) for check in self.failed]

    @property
    def passes_now(self) -> bool:
        """Whether only earlier wordings failed."""
        return all(failure.attempt != self.attempt for failure in self.failures.all())

    @property
    def earlier_wordings(self) -> list[tuple[str, float | None]]:
        """Texts that failed before, other than the one it has now, with their similarity; newest first."""
        failures = sorted(self.failures.all(), key=lambda failure: -failure.attempt)
        similarities = {row.text: row.similarity for row in failures if row.text and row.text != self.text}
        return list(similarities.items())


class TextVector(models.Model):
    """The unit vector of one text under one sentence model; identical texts share it."""

    measure = models.ForeignKey(Measure, models.PROTECT, related_name="vectors")
    text_sha256 = models.BinaryField(max_length=32)
    vector = models.BinaryField(help_text="float32, little endian")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["measure", "text_sha256"], name="text_vector_once_per_measure")]
