"""Runs, the judged moments they are scored against, their scores and tests, and how participants take part."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from annotation.models import Query
from judging.models import Release
from models_runner.leaderboard.rules import ALIKE_PERCENT, LEAST_QUERIES
from moment_retrieval.metrics.leaderboard import COLUMNS, Column

UPLOADS_PER_DAY = 5
UPLOADS_IN_ALL = 50
ATTEMPTS = 3
FIRST_MEASURES = 48  # of the leaderboard when scorings did not count them


def measure_count() -> int:
    """Return how many measures a run is scored by."""
    return len(COLUMNS)


class Leaderboard(models.Model):
    """Labels hidden from participants, and their upload limits; a project without a row has the defaults."""

    class Ladder(models.TextChoices):
        AUTO = "auto", "below 200 queries"
        ON = "on", "always"
        OFF = "off", "never"

    project = models.OneToOneField(Project, models.CASCADE, related_name="leaderboard")
    hides_val = models.BooleanField(default=False)
    hides_test = models.BooleanField(default=True)
    uploads_per_day = models.PositiveSmallIntegerField(default=UPLOADS_PER_DAY, help_text="Of one participant.")
    uploads_in_all = models.PositiveSmallIntegerField(
        default=UPLOADS_IN_ALL, db_default=UPLOADS_IN_ALL, help_text="Of one participant to one hidden split."
    )
    least_queries = models.PositiveIntegerField(
        default=LEAST_QUERIES,
        db_default=LEAST_QUERIES,
        help_text="A hidden split with fewer judged queries shows participants no score.",
    )
    ladder = models.CharField(
        max_length=4,
        choices=Ladder,
        default=Ladder.AUTO,
        db_default="auto",
        help_text="Whether a run on a hidden split is shown only when it is a step better than its owner's before.",
    )
    alike_percent = models.PositiveSmallIntegerField(
        default=ALIKE_PERCENT,
        db_default=ALIKE_PERCENT,
        help_text="Two runs of a person that differ in fewer of the queries are listed for the lead.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uploads_per_day__range=(1, 1000)), name="leaderboard_takes_1_to_1000_uploads_a_day"
            ),
            models.CheckConstraint(
                condition=Q(uploads_in_all__range=(1, 10_000)), name="leaderboard_takes_1_to_10000_uploads_in_all"
            ),
            models.CheckConstraint(
                condition=Q(least_queries__range=(1, 100_000)), name="leaderboard_least_queries_from_1_to_100000"
            ),
            models.CheckConstraint(condition=Q(ladder__in=["auto", "on", "off"]), name="leaderboard_ladder_is_known"),
            models.CheckConstraint(
                condition=Q(alike_percent__range=(0, 100)), name="leaderboard_alike_percent_from_0_to_100"
            ),
        ]

    def __str__(self) -> str:
        return f"leaderboard of {self.project}"

    def hides(self, split: str) -> bool:
        """Whether participants never see the labels of this split."""
        return self.hides_val if split == Query.Split.VAL else self.hides_test


def run_path(run: "Run", filename: str) -> str:
    return f"runs/{uuid4().hex}"


class Run(models.Model):
    """The answers of one system to the queries of one split; ``release`` is the first that it was scored on."""

    class State(models.TextChoices):
        RUNNING = "running"
        SCORED = "scored"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    class Source(models.TextChoices):
        UPLOAD = "upload"
        BASELINE = "baseline"
        SIMILARITY = "similarity"  # made anew for each release, from its own candidates

    class Labels(models.TextChoices):
        JUDGED = "judged", "people's grades"
        SIMILARITY = "similarity", "grades derived from similarity"

    class Step(models.TextChoices):
        WAITING = "waiting", "Waiting for a worker"
        READING = "reading", "Reading and checking the file"
        SCORING = "scoring", "Scoring"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="runs")
    release = models.ForeignKey(Release, models.PROTECT, related_name="runs")
    split = models.CharField(max_length=5)
    system = models.CharField(max_length=100)
    team = models.CharField(max_length=100, blank=True, help_text="Shown to everybody beside the system.")
    source = models.CharField(max_length=10, choices=Source, default=Source.SIMILARITY)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="runs", help_text="Who uploaded it."
    )
    labels = models.CharField(
        max_length=10,
        choices=Labels,
        default=Labels.JUDGED,
        help_text="What it is scored against; the leaderboard has those scored against judgments alone.",
    )
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=7, choices=Step, default=Step.WAITING)
    file = models.FileField(upload_to=run_path, blank=True, max_length=255, help_text="As it was uploaded.")
    file_name = models.CharField(max_length=200, blank=True)
    form = models.CharField(max_length=20, blank=True, help_text="Of the file; see moment_retrieval.formats.")
    bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    table = models.FileField(upload_to=run_path, blank=True, max_length=255, help_text="As it is scored.")
    n_queries = models.PositiveIntegerField(default=0)
    concerns = models.JSONField(
        default=list, db_default=[], help_text="Why a lead should look at it; for leads and admins alone."
    )
    warnings = models.JSONField(default=list, help_text="Sentences on what is odd about the file.")
    error = models.TextField(blank=True)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was withdrawn.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "system", "split"],
                condition=Q(owner=None),
                name="run_once_per_release_system_and_split",
            ),
            models.UniqueConstraint(
                fields=["project", "split", "owner", "system"],
                condition=Q(owner__isnull=False) & ~Q(state__in=["failed", "withdrawn"]),
                name="run_name_once_per_owner_and_split",
            ),
            models.UniqueConstraint(
                fields=["project", "owner"],
                condition=Q(owner__isnull=False, state="running"),
                name="run_one_at_work_per_owner",
            ),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="run_split_is_judged"),
            models.CheckConstraint(
                condition=Q(source__in=["upload", "baseline", "similarity"]), name="run_source_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(source="upload") | (Q(owner__isnull=False) & Q(sha256__regex="^[0-9a-f]{64}$")),
                name="run_upload_has_owner_and_checksum",
            ),
            models.CheckConstraint(
                condition=Q(labels="judged") | Q(labels="similarity", source="baseline", owner=None),
                name="run_of_similarity_labels_is_a_baselines",
            ),
            models.CheckConstraint(condition=~Q(state="scored") | ~Q(file=""), name="run_scored_has_its_file"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="run_failed_says_why"),
            models.CheckConstraint(condition=~Q(state="withdrawn") | ~Q(reason=""), name="run_withdrawn_says_why"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.split}"

    @property
    def name(self) -> str:
        """As everybody sees it."""
        return f"{self.system} ({self.team})" if self.team else self.system

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING


def truth_path(truth: "Truth", filename: str) -> str:
    return f"truths/{uuid4().hex}"


class Truth(models.Model):
    """Ground truth of a split in the archive, as columns; it never changes, as its release does not."""

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


class Scoring(models.Model):
    """One run against one release; a new release adds a row and leaves those on earlier ones as they are."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SCORED = "scored"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="scorings")
    release = models.ForeignKey(Release, models.PROTECT, related_name="scorings")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    n_queries = models.PositiveIntegerField(default=0, help_text="Of the release.")
    n_answered = models.PositiveIntegerField(default=0, help_text="Of those, by the run.")
    n_others = models.PositiveIntegerField(default=0, help_text="Answered, but not judged in the release.")
    n_measures = models.PositiveSmallIntegerField(
        default=measure_count,
        db_default=FIRST_MEASURES,
        help_text="Measures that it has a value for, the first of the leaderboard's; the others are missing.",
    )
    missing = models.JSONField(default=list, help_text="Queries of the release that the run does not answer.")
    warnings = models.JSONField(default=list, help_text="Sentences on what is odd about the run; none tells a label.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Those that something unexpected ended.")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    scored_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["release", "state"], name="scoring_by_release_and_state")]
        constraints = [
            models.UniqueConstraint(fields=["run", "release"], name="scoring_once_per_run_and_release"),
            models.CheckConstraint(
                condition=Q(state="scored", scored_at__isnull=False) | (~Q(state="scored") & Q(scored_at=None)),
                name="scoring_scored_has_its_time",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="scoring_failed_says_why"),
            models.CheckConstraint(
                condition=Q(n_answered__lte=F("n_queries")), name="scoring_answered_within_the_queries"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} of {self.release}"


class Score(models.Model):
    """One number with its 95 % interval over queries, and how much of what it looked at has no relevance."""

    scoring = models.ForeignKey(Scoring, models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=40)
    convention = models.CharField(max_length=10, blank=True)
    gain = models.CharField(max_length=12, blank=True)
    k = models.PositiveSmallIntegerField()
    mu = models.FloatField(null=True)
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    unjudged = models.FloatField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["scoring", "metric", "convention", "gain"], name="score_once_per_measure"),
            models.CheckConstraint(condition=Q(value__range=(0, 1)), name="score_within_0_and_1"),
            models.CheckConstraint(condition=Q(low__lte=F("high")), name="score_interval_is_in_order"),
            models.CheckConstraint(
                condition=Q(unjudged=None) | Q(unjudged__range=(0, 1)), name="score_unjudged_within_0_and_1"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric}: {self.value:.4f}"

    @property
    def column(self) -> Column:
        return Column(self.metric, self.k, self.mu, self.convention, self.gain)


class PerQuery(models.Model):
    """The value of every query and measure of a scoring; queries as in its truth, the first measures of ``COLUMNS``."""

    scoring = models.OneToOneField(Scoring, models.CASCADE, related_name="per_query", primary_key=True)
    values = models.BinaryField(help_text="[queries, measures] of float64, zlib.")

    def __str__(self) -> str:
        return f"values of {self.scoring_id}"


class ScoreTest(models.Model):
    """The paired randomisation test of two scores of one measure, split and release; without ``p`` it waits. A pair is
    tested once, whichever of the two is the base: ``one`` is the earlier score."""

    one = models.ForeignKey(Score, models.CASCADE, related_name="+")
    other = models.ForeignKey(Score, models.CASCADE, related_name="+")
    p = models.FloatField(null=True, help_text="Two-sided, not corrected.")
    low = models.FloatField(null=True, help_text="Of the 95 % interval of one minus other.")
    high = models.FloatField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Those that something unexpected ended.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(p=None), name="score_test_that_waits")]
        constraints = [
            models.UniqueConstraint(fields=["one", "other"], name="score_test_once_per_pair"),
            models.CheckConstraint(condition=Q(one__lt=F("other")), name="score_test_one_is_the_earlier_score"),
            models.CheckConstraint(condition=Q(p=None) | Q(p__gt=0, p__lte=1), name="score_test_p_within_0_and_1"),
            models.CheckConstraint(
                condition=Q(low=None, high=None)
                | Q(p__isnull=False, low__isnull=False, high__isnull=False, low__lte=F("high")),
                name="score_test_interval_is_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.one_id} against {self.other_id}: {self.p}"

    @property
    def is_waiting(self) -> bool:
        """Whether it will come; what failed again and again will not."""
        return self.p is None and self.attempts < ATTEMPTS


class EconomyStudy(models.Model):
    """How the ranking of the runs of a release and split changes when judgments are left out."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    release = models.ForeignKey(Release, models.PROTECT, related_name="economy_studies")
    split = models.CharField(max_length=5)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "split"], condition=Q(state="running"), name="economy_study_one_at_work"
            ),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="economy_study_split_is_judged"),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="economy_study_done_within_total"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="economy_study_failed_says_why"),
        ]

    def __str__(self) -> str:
        return f"judging economy of {self.release}, {self.split}"

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING
