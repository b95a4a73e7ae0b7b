"""The material to judge: corpora, their videos, moments with descriptions, and imports into them."""

from pathlib import PurePath
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.files import FieldFile

from core.uploads import Upload, import_path, upload_constraints


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


def poster_path(video: "Video", filename: str) -> str:
    return f"posters/{uuid4().hex}{PurePath(filename).suffix}"


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


class PosterState(models.TextChoices):
    """How far the picture is that stands for a video or a moment."""

    MISSING = "missing"  # of a database from before there were any: the first request orders it
    REQUESTED = "requested"  # a task makes it
    READY = "ready"
    FAILED = "failed"  # no frame can be read


class PlaybackState(models.TextChoices):
    """How far the copy of a video that browsers play is."""

    REQUESTED = "requested"  # a task looks into the file, and makes a copy where it needs one
    NOT_NEEDED = "not_needed"  # browsers play the file itself
    READY = "ready"
    FAILED = "failed"  # the file cannot be read to its end


class Video(models.Model):
    """One source file; ``file`` is what the storage holds, empty while there is none."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="videos")
    name = models.CharField(max_length=200)
    duration_s = models.FloatField()
    fps = models.FloatField(null=True, help_text="Frames a second, as the file says; empty where nobody has read it.")
    index = models.PositiveIntegerField(help_text="The number that run files may use for this video.")
    index_is_given = models.BooleanField(default=True, help_text="Whether the source files give the index.")
    source_split = models.CharField(max_length=40, blank=True)
    file = models.FileField(upload_to=video_path, blank=True, max_length=255)
    sha256 = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Of the file; empty where nobody computed it."
    )
    playback = models.FileField(
        upload_to=video_path,
        blank=True,
        max_length=255,
        default="",
        db_default="",
        help_text="A copy that browsers play, where they do not play the file.",
    )
    playback_state = models.CharField(
        max_length=10,
        choices=PlaybackState,
        default=PlaybackState.REQUESTED,
        db_default=PlaybackState.REQUESTED.value,
    )
    poster = models.FileField(
        upload_to=poster_path,
        blank=True,
        max_length=255,
        default="",
        db_default="",
        help_text="A picture that stands for it.",
    )
    poster_state = models.CharField(
        max_length=9, choices=PosterState, default=PosterState.MISSING, db_default=PosterState.MISSING.value
    )
    retired_at = models.DateTimeField(null=True, help_text="When its files were removed for good.")
    retired_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    retired_because = models.CharField(max_length=1000, blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="video_name_once_per_corpus"),
            models.UniqueConstraint(fields=["corpus", "index"], name="video_index_once_per_corpus"),
            models.CheckConstraint(condition=Q(duration_s__gt=0), name="video_lasts"),
            models.CheckConstraint(condition=Q(fps__isnull=True) | Q(fps__gt=0), name="video_has_frames"),
            models.CheckConstraint(
                condition=Q(poster_state__in=["missing", "requested", "failed"], poster="")
                | (Q(poster_state="ready") & ~Q(poster="")),
                name="video_poster_ready_is_there",
            ),
            models.CheckConstraint(
                condition=Q(sha256="") | Q(sha256__regex="^[0-9a-f]{64}$"), name="video_sha256_is_a_checksum"
            ),
            models.CheckConstraint(
                condition=Q(playback_state__in=["requested", "not_needed", "failed"], playback="")
                | (Q(playback_state="ready") & ~Q(playback="")),
                name="video_playback_ready_is_there",
            ),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True, retired_because="", retired_by__isnull=True)
                | (Q(retired_at__isnull=False, file="", playback="", poster="") & ~Q(retired_because="")),
                name="video_retired_says_why_and_has_no_file",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(poster_state="requested"), name="video_with_poster_requested"),
            models.Index(
                fields=["id"],
                condition=Q(playback_state="requested") & ~Q(file=""),
                name="video_with_playback_requested",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def poster_version(self) -> str:
        """Return what the poster's address carries: another poster has another version."""
        return PurePath(str(self.poster.name)).stem

    @property
    def playable(self) -> FieldFile:
        """Return what browsers are given to play: the copy, or the file itself."""
        return self.playback or self.file

    @property
    def playable_version(self) -> str:
        return PurePath(str(self.playable.name)).stem


def part_path(part: "VideoPart", filename: str) -> str:
    return f"video_parts/{uuid4().hex}"


class VideoUpload(models.Model):
    """A video file on its way from a browser, and for a day after that what became of it."""

    class State(models.TextChoices):
        UPLOADING = "uploading"
        READING = "reading"  # all of it is here; a task looks into it
        DONE = "done"
        FAILED = "failed"  # see error

    UNFINISHED = (State.UPLOADING, State.READING)

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey("accounts.Project", models.PROTECT, related_name="video_uploads")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="video_uploads")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="video_uploads")
    name = models.CharField(max_length=200, help_text="Of the video: the file's without its ending.")
    suffix = models.CharField(max_length=10)
    modified_ms = models.BigIntegerField(default=0, help_text="When the file last changed, by the browser's computer.")
    size = models.PositiveBigIntegerField()
    offset = models.PositiveBigIntegerField(default=0, help_text="How many bytes are here.")
    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    error = models.TextField(blank=True)
    video = models.ForeignKey(Video, models.PROTECT, null=True, related_name="uploads")
    replaces = models.ForeignKey(
        Video, models.PROTECT, null=True, related_name="replacements", help_text="The video that gets another file."
    )
    subtitles = models.PositiveIntegerField(default=0, help_text="Lines of speech that came with the file.")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(size__gt=0), name="video_upload_is_not_empty"),
            models.CheckConstraint(
                condition=Q(state__in=["uploading", "reading", "done", "failed"]), name="video_upload_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state="uploading", offset__lt=F("size")) | (~Q(state="uploading") & Q(offset=F("size"))),
                name="video_upload_is_read_when_whole",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="video_upload_failed_says_why"),
            models.CheckConstraint(
                condition=~Q(state="done") | Q(video__isnull=False), name="video_upload_done_has_its_video"
            ),
            models.CheckConstraint(
                condition=Q(replaces__isnull=True) | ~Q(state="done") | Q(video=F("replaces")),
                name="video_upload_is_of_the_video_it_replaces",
            ),
            models.UniqueConstraint(
                fields=["corpus", "name"],
                condition=Q(state__in=["uploading", "reading"]),
                name="video_upload_unfinished_once_per_name",
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], name="video_upload_by_end")]

    def __str__(self) -> str:
        return self.file_name

    @property
    def file_name(self) -> str:
        return f"{self.name}{self.suffix}"

    @property
    def percent(self) -> int:
        return 100 * self.offset // self.size


class VideoPart(models.Model):
    """One piece of an upload, a file of its own: any host takes the next one."""

    upload = models.ForeignKey(VideoUpload, models.CASCADE, related_name="parts")
    start = models.PositiveBigIntegerField(help_text="Its first byte within the video file.")
    size = models.PositiveIntegerField()
    file = models.FileField(upload_to=part_path, max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upload", "start"], name="video_part_once_per_upload_and_start"),
            models.CheckConstraint(condition=Q(size__gt=0), name="video_part_is_not_empty"),
            models.CheckConstraint(condition=~Q(file=""), name="video_part_has_its_file"),
        ]


class VideoFolder(models.Model):
    """A folder of the server whose videos are added to a corpus, one after the other, by name."""

    class State(models.TextChoices):
        RUNNING = "running"
        CANCELLED = "cancelled"  # it can go on
        FAILED = "failed"  # see error; it can go on
        DONE = "done"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey("accounts.Project", models.PROTECT, related_name="video_folders")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="video_folders")
    path = models.CharField(max_length=1000, help_text="Absolute, on the server.")
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    last_name = models.CharField(max_length=300, blank=True, help_text="Of the last file that was looked at.")
    n_done = models.PositiveIntegerField(default=0, help_text="Files that were looked at.")
    n_files = models.PositiveIntegerField(default=0, help_text="Files of videos in the folder.")
    n_added = models.PositiveIntegerField(default=0)
    n_problems = models.PositiveIntegerField(default=0, help_text="Files that could not be added.")
    problems = models.JSONField(default=list, help_text="The first of them: pairs of file and reason.")
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True, help_text="When its progress was last written.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus"], condition=Q(state="running"), name="video_folder_running_once_per_corpus"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["running", "cancelled", "failed", "done"]), name="video_folder_state_is_known"
            ),
            models.CheckConstraint(condition=Q(path__startswith="/"), name="video_folder_path_is_absolute"),
            models.CheckConstraint(
                condition=Q(n_done__lte=F("n_files"), n_done__gte=F("n_added") + F("n_problems")),
                name="video_folder_done_within_its_files",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="video_folder_failed_says_why"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING

    @property
    def may_go_on(self) -> bool:
        return self.state in (self.State.CANCELLED, self.State.FAILED)

    @property
    def n_present(self) -> int:
        """How many of its videos the corpus had already."""
        return self.n_done - self.n_added - self.n_problems


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
        RETIRED = "retired"  # with its video; its files are removed

    NEVER_SEEN = (Preview.FAILED, Preview.RETIRED)  # as far as is known

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
    preview_is_old = models.BooleanField(
        default=False, db_default=False, help_text="It shows an earlier file of the video; a task cuts it anew."
    )
    poster = models.FileField(
        upload_to=preview_path,
        blank=True,
        max_length=255,
        default="",
        db_default="",
        help_text="A frame of the preview.",
    )
    poster_state = models.CharField(
        max_length=9, choices=PosterState, default=PosterState.MISSING, db_default=PosterState.MISSING.value
    )
    proposal = models.ForeignKey(
        "annotation.Proposal",
        models.PROTECT,
        null=True,
        related_name="moments",
        help_text="Which wrote it, if one did.",
    )

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
                condition=~Q(preview_state="retired") | Q(preview="", preview_clip="", poster=""),
                name="moment_retired_has_no_files",
            ),
            models.CheckConstraint(
                condition=Q(preview_is_old=False) | Q(preview_state="ready"), name="moment_old_preview_is_ready"
            ),
            models.CheckConstraint(
                condition=~Q(preview_state="failed") | ~Q(preview_error=""), name="moment_failed_says_why"
            ),
            models.CheckConstraint(
                condition=Q(poster_state__in=["missing", "requested", "failed"], poster="")
                | (Q(poster_state="ready") & ~Q(poster="")),
                name="moment_poster_ready_is_there",
            ),
        ]
        indexes = [
            models.Index(fields=["video"], condition=Q(preview_state="missing"), name="moment_without_preview"),
            models.Index(fields=["video"], condition=Q(preview_is_old=True), name="moment_with_old_preview"),
            models.Index(fields=["id"], condition=Q(poster_state="requested"), name="moment_with_poster_requested"),
        ]

    def __str__(self) -> str:
        return f"{self.video.name} {self.start_s:.2f}-{self.end_s:.2f} s"

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


class Description(models.Model):
    """The precise sentence somebody wrote about a moment."""

    class Kind(models.TextChoices):
        VIDEO = "video"
        SUBTITLE = "subtitle"
        BOTH = "both"

    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="descriptions")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="descriptions")
    source_id = models.PositiveBigIntegerField(help_text="desc_id of the source file; becomes query_id in releases.")
    text = models.TextField()  # as the source has it, with the blanks around it
    kind = models.CharField(max_length=10, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "source_id"], name="description_source_id_once_per_corpus"),
            models.CheckConstraint(condition=~Q(text=""), name="description_says_something"),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def sentence(self) -> str:
        """Return the text without the blanks around it, as captions are made of it."""
        return self.text.strip()

    @property
    def kind_in_words(self) -> str:
        words = {self.Kind.VIDEO: "of the video", self.Kind.SUBTITLE: "of the speech", self.Kind.BOTH: "of both"}
        return words[self.Kind(self.kind)]


class TextVector(models.Model):
    """The unit vector of one text under one sentence model; identical texts share it."""

    measure = models.ForeignKey(Measure, models.PROTECT, related_name="vectors")
    text_sha256 = models.BinaryField(max_length=32)
    vector = models.BinaryField(help_text="float32, little endian")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["measure", "text_sha256"], name="text_vector_once_per_measure")]
