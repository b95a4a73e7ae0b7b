"""Upload: a file that somebody brought through the web, from its check to its rows. CorpusImport: into a corpus."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.constraints import BaseConstraint


def import_path(row: models.Model, filename: str) -> str:
    return f"imports/{uuid4().hex}"


class Upload(models.Model):
    """One file on its way: it is checked, its owner says yes, then it is imported as a whole."""

    class State(models.TextChoices):
        CHECKING = "checking"
        CHECKED = "checked"  # waits for its owner
        IMPORTING = "importing"
        DONE = "done"
        FAILED = "failed"  # see error
        DISCARDED = "discarded"

    AT_WORK = (State.CHECKING, State.IMPORTING)
    WITH_FILE = (*AT_WORK, State.CHECKED)
    FILES: tuple[str, ...] = ("file",)  # thrown away when it is done

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    skip_bad = models.BooleanField(default=False, help_text="Import the rest of a file with bad lines.")
    file = models.FileField(upload_to=import_path, blank=True, max_length=255)
    file_name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.CHECKING)
    bytes_read = models.PositiveBigIntegerField(default=0)
    bytes_total = models.PositiveBigIntegerField(default=0)
    counts = models.JSONField(default=dict)
    report = models.FileField(upload_to=import_path, blank=True, max_length=255)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @property
    def is_at_work(self) -> bool:
        return self.state in self.AT_WORK

    @property
    def percent(self) -> int:
        return 100 * self.bytes_read // self.bytes_total if self.bytes_total else 0


def upload_constraints(name: str) -> list[BaseConstraint]:
    """What holds of every table of uploads; constraints carry the table's name."""
    return [
        models.UniqueConstraint(
            fields=["owner"],
            condition=Q(state__in=["checking", "importing"]),
            name=f"{name}_one_at_work_per_owner",
        ),
        models.CheckConstraint(
            condition=Q(state__in=["checking", "checked", "importing", "done", "failed", "discarded"]),
            name=f"{name}_state_is_known",
        ),
        models.CheckConstraint(
            condition=~Q(state__in=["checking", "checked", "importing"]) | ~Q(file=""),
            name=f"{name}_waiting_has_its_file",
        ),
        models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name=f"{name}_failed_says_why"),
        models.CheckConstraint(condition=Q(bytes_read__lte=F("bytes_total")), name=f"{name}_read_within_total"),
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

    def __str__(self) -> str:
        return f"{self.file_name} into {self.corpus_name}: {self.state}"
