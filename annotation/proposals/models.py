"""Shots of videos, and proposals: spans of all videos of a corpus that may become its moments."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.corpora.models import Corpus, Video
from annotation.proposals.rules import SEGMENT_LEAST_S, SEGMENT_MOST_S, Options


class ShotDetection(models.Model):
    """A video's file looked through for cuts, or why it could not be; its shots lie between its cuts."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"  # see error

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    video = models.OneToOneField(Video, models.CASCADE, related_name="shot_detection")
    detector = models.CharField(max_length=20, help_text="Of PySceneDetect.")
    threshold = models.FloatField()
    version = models.CharField(max_length=40, help_text="Of PySceneDetect.")
    file = models.CharField(max_length=255, blank=True, help_text="Name of the stored file; empty while there is none.")
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often it was begun for one proposal.")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(help_text="When it was begun or ended.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(detector="adaptive") & ~Q(version=""), name="shot_detection_names_its_detector"
            ),
            models.CheckConstraint(condition=Q(threshold__gt=0), name="shot_detection_threshold_above_0"),
            models.CheckConstraint(
                condition=Q(state__in=["running", "done", "failed"]), name="shot_detection_state_is_known"
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="shot_detection_failed_says_why"),
            models.CheckConstraint(condition=~Q(state="done") | ~Q(file=""), name="shot_detection_done_is_of_a_file"),
        ]

    def __str__(self) -> str:
        return f"shots of {self.video}"


class ShotCut(models.Model):
    """Where one shot ends and the next begins."""

    detection = models.ForeignKey(ShotDetection, models.CASCADE, related_name="cuts")
    frame = models.PositiveIntegerField(help_text="The first frame of the next shot, counted from 0.")
    at_s = models.FloatField(help_text="When that frame is shown.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["detection", "frame"], name="shot_cut_once_per_frame"),
            models.UniqueConstraint(fields=["detection", "at_s"], name="shot_cut_once_per_second"),
            models.CheckConstraint(condition=Q(frame__gte=1, at_s__gt=0), name="shot_cut_is_after_the_first_frame"),
        ]

    def __str__(self) -> str:
        return f"cut at {self.at_s:.2f} s"


class Proposal(models.Model):
    """One order to propose moments for all videos of a corpus: how, how far it is, and what became of it."""

    class Method(models.TextChoices):
        SHOTS = "shots", "Shots"
        WINDOWS = "windows", "Sliding windows"
        UNIFORM = "uniform", "Segments of one length"

    class State(models.TextChoices):
        RUNNING = "running"  # see step
        READY = "ready"  # its moments are known, none is written
        CANCELLED = "cancelled"  # it can go on
        FAILED = "failed"  # see error; it can go on
        DONE = "done"  # its moments are written
        UNDONE = "undone"  # its moments are removed
        REPLACED = "replaced"  # another one was ordered before it wrote anything

    class Step(models.TextChoices):
        """Steps that ``done`` and ``total`` count: seconds of video, or videos."""

        DETECTING = "detecting", "Detecting shots"
        WRITING = "writing", "Writing moments"
        REMOVING = "removing", "Removing moments"

    OPEN = (State.RUNNING, State.READY, State.CANCELLED, State.FAILED)

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="proposals")
    method = models.CharField(max_length=7, choices=Method)
    threshold = models.FloatField(null=True, help_text="Of the detector of shots.")
    segment_s = models.FloatField(null=True, help_text="Length of a segment.")
    most = models.PositiveIntegerField(null=True, help_text="Windows of a video; empty: all.")
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=9, choices=Step, default=Step.DETECTING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    n_moments = models.PositiveIntegerField(null=True, help_text="Moments that it makes; unknown until shots are.")
    n_written = models.PositiveIntegerField(null=True, help_text="Of these, those the corpus did not have before.")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True, help_text="When its progress was last written.")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["corpus"],
                condition=Q(state__in=["running", "ready", "cancelled", "failed"]),
                name="proposal_open_once_per_corpus",
            ),
            models.CheckConstraint(
                condition=Q(method="shots", threshold__isnull=False, threshold__gt=0, segment_s=None, most=None)
                | (Q(method="windows", threshold=None, segment_s=None) & (Q(most=None) | Q(most__gte=1)))
                | Q(
                    method="uniform",
                    threshold=None,
                    segment_s__isnull=False,
                    segment_s__range=(SEGMENT_LEAST_S, SEGMENT_MOST_S),
                    most=None,
                ),
                name="proposal_options_suit_its_method",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["running", "ready", "cancelled", "failed", "done", "undone", "replaced"]),
                name="proposal_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(step="detecting", method="shots") | Q(step__in=["writing", "removing"]),
                name="proposal_step_suits_its_method",
            ),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="proposal_done_within_total"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="proposal_failed_says_why"),
            models.CheckConstraint(
                condition=~Q(state="ready") | Q(n_moments__isnull=False), name="proposal_ready_is_counted"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["done", "undone"]) | Q(n_written__isnull=False, n_moments__isnull=False),
                name="proposal_done_is_counted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_method_display()} of {self.corpus}"

    @property
    def options(self) -> Options:
        return Options(self.method, self.threshold, self.segment_s, self.most)

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING

    @property
    def may_be_cancelled(self) -> bool:
        return self.is_at_work and self.step != self.Step.REMOVING

    @property
    def may_go_on(self) -> bool:
        return self.state in (self.State.CANCELLED, self.State.FAILED)

    @property
    def may_be_undone(self) -> bool:
        """Whether it may have written moments, and is not at work."""
        return self.state == self.State.DONE or (self.may_go_on and self.step != self.Step.DETECTING)

    @property
    def n_existing(self) -> int:
        """How many of its moments the corpus had already."""
        return (self.n_moments or 0) - (self.n_written or 0)

    @property
    def details(self) -> str:
        """The options in words."""
        if self.method == self.Method.SHOTS:
            return f"threshold {self.threshold:g}"
        if self.method == self.Method.UNIFORM:
            return f"{self.segment_s:g} s each"
        return "3, 6, 12 and 24 s" + (f", the {self.most:,} shortest of a video" if self.most else "")

    @property
    def progress(self) -> str:
        if not self.total:
            return "Waiting for a worker"
        unit = "s of video" if self.step == self.Step.DETECTING else "videos"
        return f"{self.Step(self.step).label}: {self.done:,} of {self.total:,} {unit}"
