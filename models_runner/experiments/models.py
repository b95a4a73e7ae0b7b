"""Experiment: a baseline trained on a release. Training: one seed of it, from waiting to its runs."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from judging.models import Release
from models_runner.leaderboard.models import Run
from moment_retrieval.settings import EPOCHS, PATIENCE

MOST_SEEDS = 20


class Experiment(models.Model):
    """Baseline, data and settings of a training; stays as ordered."""

    class Baseline(models.TextChoices):
        XML = "xml", "XML"
        RELOCLNET = "reloclnet", "ReLoCLNet"
        CONQUER = "conquer", "CONQUER"

    TOP_N = range(1, max(EPOCHS) + 1)  # published: 1, 20, 40
    Labels = Run.Labels

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)  # the key of the form that ordered it
    project = models.ForeignKey(Project, models.PROTECT, related_name="experiments")
    release = models.ForeignKey(Release, models.PROTECT, related_name="experiments")
    name = models.CharField(max_length=80, help_text="The leaderboard shows it with the seed.")
    baseline = models.CharField(max_length=9, choices=Baseline)
    top_n = models.PositiveSmallIntegerField(help_text="Moments of each training query.")
    features = models.JSONField(default=dict, help_text="Name and path by kind: video, subtitle, query.")
    options = models.JSONField(default=dict, help_text="What differs from the released settings, as in plan.json.")
    labels = models.CharField(
        max_length=10,
        choices=Run.Labels,
        default=Run.Labels.JUDGED,
        help_text="What validation and test are measured by.",
    )
    candidates = models.ForeignKey(
        "Training", models.PROTECT, null=True, related_name="+", help_text="Whose videos CONQUER looks at."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="experiment_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(baseline__in=["xml", "reloclnet", "conquer"]), name="experiment_baseline_is_known"
            ),
            models.CheckConstraint(condition=Q(top_n__range=(1, max(EPOCHS))), name="experiment_top_n_from_1_to_40"),
            models.CheckConstraint(
                condition=Q(baseline="conquer", candidates__isnull=False)
                | (~Q(baseline="conquer") & Q(candidates=None)),
                name="experiment_of_conquer_alone_has_candidates",
            ),
            models.CheckConstraint(
                condition=Q(features__has_keys=["video", "query"]), name="experiment_names_its_features"
            ),
            models.CheckConstraint(
                condition=Q(labels__in=["judged", "similarity"]), name="experiment_labels_are_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.project}"


class Training(models.Model):
    """One seed: how far it is, what it has seen so far, and what came of it. A device holds one training at a time: its
    worker holds a lock, and the table holds the rule."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        CANCELLING = "cancelling"
        CANCELLED = "cancelled"
        FAILED = "failed"
        DONE = "done"

    AT_WORK = (State.RUNNING, State.CANCELLING)
    STOPPED = (State.CANCELLED, State.FAILED)  # it may be resumed

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="trainings")
    seed = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    device = models.CharField(max_length=100, blank=True, help_text="Host and device that it is or was trained on.")
    attempts = models.PositiveIntegerField(default=0, help_text="How often it was started.")
    crashes = models.PositiveSmallIntegerField(default=0, help_text="Attempts that ended without a word.")
    step = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    epoch = models.FloatField(default=0)
    loss = models.FloatField(null=True)
    best = models.FloatField(null=True, help_text="The highest NDCG@20,IoU>=0.5 on validation.")
    best_step = models.PositiveIntegerField(default=0)
    seconds_per_step = models.FloatField(null=True)
    eta_s = models.FloatField(null=True)
    memory_mb = models.FloatField(null=True)
    curve = models.JSONField(default=dict, help_text="Points of losses and of scores, thinned.")
    metrics = models.JSONField(
        default=dict, db_default={}, help_text="Of the best weights: by split, values by name of the measure."
    )
    notices = models.JSONField(default=list, help_text="What the training said of itself, as a batch that was halved.")
    error = models.TextField(blank=True)
    heartbeat = models.DateTimeField(null=True, help_text="When its worker last looked at it.")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    val_run = models.OneToOneField(Run, models.PROTECT, null=True, related_name="+")
    test_run = models.OneToOneField(Run, models.PROTECT, null=True, related_name="+")
    has_weights = models.BooleanField(
        default=True, db_default=True, help_text="False: its results came without weights, as most of the demo's do."
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "seed"], name="training_seed_once_per_experiment"),
            models.UniqueConstraint(
                fields=["device"],
                condition=Q(state__in=["running", "cancelling"]),
                name="training_one_at_work_per_device",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["running", "cancelling"])
                | (~Q(device="") & Q(heartbeat__isnull=False, started_at__isnull=False)),
                name="training_at_work_has_device_and_heartbeat",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running", "cancelling", "cancelled", "failed", "done"]),
                name="training_state_is_known",
            ),
            models.CheckConstraint(condition=Q(step__lte=F("steps")), name="training_step_within_steps"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="training_failed_says_why"),
            models.CheckConstraint(
                condition=~Q(state="done") | Q(val_run__isnull=False), name="training_done_has_a_run"
            ),
            models.CheckConstraint(
                condition=Q(has_weights=True) | Q(state="done"), name="training_without_weights_is_done"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["cancelled", "failed", "done"], ended_at__isnull=False)
                | (~Q(state__in=["cancelled", "failed", "done"]) & Q(ended_at=None)),
                name="training_ended_has_its_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.experiment.name}, seed {self.seed}"

    @property
    def system(self) -> str:
        """Name on the leaderboard."""
        return f"{self.experiment.name}, seed {self.seed}"

    @property
    def is_at_work(self) -> bool:
        return self.state in self.AT_WORK

    @property
    def is_awaited(self) -> bool:
        """Whether it changes by itself."""
        return self.is_at_work or self.state == self.State.WAITING

    @property
    def is_stopped(self) -> bool:
        return self.state in self.STOPPED

    @property
    def percent(self) -> int:
        if self.state == self.State.DONE:
            return 100  # also of one that was stopped early
        return 100 * self.step // self.steps if self.steps else 0

    @property
    def early_stop(self) -> str:
        """Say where and why it was done before its last step; empty where it took all of them, or is not done."""
        if self.state != self.State.DONE or self.step >= self.steps:
            return ""
        options = self.experiment.options
        epochs = options.get("patience", PATIENCE) / options.get("evaluations_per_epoch", 1)
        plural = "" if epochs == 1 else "s"
        return f"stopped early at step {self.step:,}: no better for {epochs:.3g} epoch{plural}"

    @property
    def time_left(self) -> str:
        """In words, to two units."""
        if self.eta_s is None:
            return ""
        minutes, seconds = divmod(round(self.eta_s), 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
        first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
        return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])
