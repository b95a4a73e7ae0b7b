"""SettingsSearch: one baseline trained with many settings, to find those that are best on validation."""

from typing import ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from judging.models import Release
from models_runner.experiments.models import Experiment, Training
from moment_retrieval.settings import EPOCHS
from moment_retrieval.training.trials import FAILED, GRID, RANDOM

MOST_RUNS = 200


class SettingsSearch(models.Model):
    """Hold what is tried, how far it is, and a row for each trial. Trials are no runs: no leaderboard has them.

    A device holds one search or training at a time: its worker holds a lock.
    """

    class Method(models.TextChoices):
        RANDOM = RANDOM, "random"
        GRID = GRID, "grid"

    Baseline: ClassVar = Experiment.Baseline
    State: ClassVar = Training.State
    AT_WORK, STOPPED = Training.AT_WORK, Training.STOPPED

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)  # the key of the form that ordered it
    project = models.ForeignKey(Project, models.PROTECT, related_name="settings_searches")
    release = models.ForeignKey(Release, models.PROTECT, related_name="settings_searches")
    name = models.CharField(max_length=80)
    baseline = models.CharField(max_length=9, choices=Experiment.Baseline)
    top_n = models.PositiveSmallIntegerField(help_text="Moments of each training query.")
    features = models.JSONField(default=dict, help_text="Name and path by kind: video, subtitle, query.")
    options = models.JSONField(default=dict, help_text="What differs from the released settings, as in plan.json.")
    candidates = models.ForeignKey(
        Training, models.PROTECT, null=True, related_name="+", help_text="Whose videos CONQUER looks at."
    )
    space = models.JSONField(help_text="By setting: choices, or a range with low and high, as in tuning.json.")
    method = models.CharField(max_length=6, choices=Method, default=Method.RANDOM)
    n_runs = models.PositiveSmallIntegerField(help_text="Trainings, at most.")
    seed = models.PositiveIntegerField(default=1, help_text="Of the settings that are drawn, and of each training.")
    stops_early = models.BooleanField(default=True, help_text="Trials that are worse than the others are stopped.")
    state = models.CharField(max_length=10, choices=Training.State, default=Training.State.WAITING)
    device = models.CharField(max_length=100, blank=True, help_text="Host and device that it is or was trained on.")
    attempts = models.PositiveIntegerField(default=0, help_text="How often it was started.")
    crashes = models.PositiveSmallIntegerField(default=0, help_text="Attempts that ended without a message.")
    n_done = models.PositiveSmallIntegerField(default=0, help_text="Trials that have ended.")
    trials = models.JSONField(default=list, help_text="By number: settings, state, best, curve, reason.")
    current = models.JSONField(default=dict, help_text="Progress of the trial at work: number, step, steps, eta_s.")
    error = models.TextField(blank=True)
    heartbeat = models.DateTimeField(null=True, help_text="When its worker last looked at it.")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="settings_search_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(baseline__in=["xml", "reloclnet", "conquer"]), name="settings_search_baseline_is_known"
            ),
            models.CheckConstraint(
                condition=Q(top_n__range=(1, max(EPOCHS))), name="settings_search_top_n_from_1_to_40"
            ),
            models.CheckConstraint(
                condition=Q(baseline="conquer", candidates__isnull=False)
                | (~Q(baseline="conquer") & Q(candidates=None)),
                name="settings_search_of_conquer_alone_has_candidates",
            ),
            models.CheckConstraint(
                condition=Q(features__has_keys=["video", "query"]), name="settings_search_names_its_features"
            ),
            models.CheckConstraint(condition=~Q(space={}), name="settings_search_tries_a_setting"),
            models.CheckConstraint(condition=Q(method__in=["random", "grid"]), name="settings_search_method_is_known"),
            models.CheckConstraint(
                condition=Q(n_runs__range=(1, MOST_RUNS)), name="settings_search_runs_from_1_to_200"
            ),
            models.CheckConstraint(condition=Q(n_done__lte=F("n_runs")), name="settings_search_done_within_its_runs"),
            models.UniqueConstraint(
                fields=["device"],
                condition=Q(state__in=["running", "cancelling"]),
                name="settings_search_one_at_work_per_device",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["running", "cancelling"])
                | (~Q(device="") & Q(heartbeat__isnull=False, started_at__isnull=False)),
                name="settings_search_at_work_has_device_and_heartbeat",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running", "cancelling", "cancelled", "failed", "done"]),
                name="settings_search_state_is_known",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="settings_search_failed_says_why"),
            models.CheckConstraint(
                condition=Q(state__in=["cancelled", "failed", "done"], ended_at__isnull=False)
                | (~Q(state__in=["cancelled", "failed", "done"]) & Q(ended_at=None)),
                name="settings_search_ended_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.project}"

    @property
    def is_at_work(self) -> bool:
        return self.state in self.AT_WORK

    @property
    def is_awaited(self) -> bool:
        """Whether it changes by itself."""
        return self.is_at_work or self.state == Training.State.WAITING

    @property
    def is_resumable(self) -> bool:
        """Whether it can go on: stopped, or done with trials that failed and may be tried again."""
        has_failures = any(trial["state"] == FAILED for trial in self.trials)
        return self.state in self.STOPPED or (self.state == Training.State.DONE and has_failures)

    @property
    def percent(self) -> int:
        step, steps = self.current.get("step", 0), self.current.get("steps", 0)
        share = step / steps if steps and self.n_done < self.n_runs else 0
        return int(100 * (self.n_done + share) / self.n_runs)

    @property
    def best(self) -> float | None:
        """The highest score of a trial."""
        return max((trial["best"] for trial in self.trials if trial["best"] is not None), default=None)
