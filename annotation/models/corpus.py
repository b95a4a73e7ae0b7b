"""Corpus, its videos and their subtitles."""

from uuid import uuid4

from django.db import models
from django.db.models import F, Q


def video_path(video: "Video", filename: str) -> str:
    return f"videos/{uuid4().hex}.{filename.rsplit('.', 1)[-1].lower()}"


class Corpus(models.Model):
    """All videos that moments are retrieved from."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=200, unique=True)
    is_placeholder = models.BooleanField(default=False, help_text="Stands in for videos that nobody has.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class Video(models.Model):
    """One source file; ``file`` is what the storage holds, empty while there is none."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="videos")
    name = models.CharField(max_length=200)
    duration_s = models.FloatField()
    index = models.PositiveIntegerField(help_text="The number that run files may use for this video.")
    index_is_given = models.BooleanField(
        default=True,
        help_text="By the files it came from; one made up here means nothing elsewhere.",
    )
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

    def __str__(self) -> str:
        return self.text
