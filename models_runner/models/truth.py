"""Truth: the judged moments of one split of a release, as runs are scored against them. ReadRelease: all are there."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from judging.models import Release


def truth_path(truth: "Truth", filename: str) -> str:
    return f"truths/{uuid4().hex}"


class Truth(models.Model):
    """What the archive says of one split, kept as columns; it never changes, as its release does not."""

    release = models.ForeignKey(Release, models.CASCADE, related_name="truths")
    split = models.CharField(max_length=5)
    table = models.FileField(upload_to=truth_path, max_length=255)
    n_queries = models.PositiveIntegerField()
    n_moments = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "split"], name="truth_once_per_release_and_split"),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="truth_split_is_judged"),
            models.CheckConstraint(condition=Q(n_queries__gte=1), name="truth_has_a_query"),
        ]

    def __str__(self) -> str:
        return f"{self.split} of {self.release}"


class ReadRelease(models.Model):
    """A release whose archive was read: the truths that it has are all there, none where no query was judged."""

    release = models.OneToOneField(Release, models.CASCADE, primary_key=True, related_name="+")
    read_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.release} was read"
