"""Policy and Guideline: versioned, because every judgment says under which versions it was given."""

from decimal import Decimal
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from annotation.models import Moment
from judging.quality.rules.agreement import Weights

PAID_QUERIES = [
    ("accepted", "Accepted ones"),
    ("open", "Accepted ones, and rejected ones while their writer may write them anew"),
    ("all", "All, also rejected ones"),
]
WEIGHTS = [(weights.value, weights.capitalize()) for weights in Weights]


class Policy(models.Model):
    """One version of a project's numbers, explained in policy.toml; the newest is in force."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="policies")
    version = models.PositiveIntegerField()
    lease_minutes = models.PositiveSmallIntegerField(default=20)
    break_minutes = models.PositiveSmallIntegerField(default=25)
    extend_from_mean = models.FloatField(default=2.0)
    extend_automatically = models.BooleanField(default=False)
    screening_is_open = models.BooleanField(default=False)
    screening_questions = models.PositiveSmallIntegerField(default=12)
    screening_passing = models.PositiveSmallIntegerField(default=9)
    screening_attempts = models.PositiveSmallIntegerField(default=3)
    exam_weights = models.CharField(max_length=10, choices=WEIGHTS, default=Weights.QUADRATIC.value)
    exam_kappa = models.FloatField(default=0.4)
    exam_kappa_low = models.FloatField(default=-1.0, db_default=-1.0)
    exam_bias = models.FloatField(default=0.6, db_default=4.0)  # what the release before publishes asks for nothing
    exam_levels = models.PositiveSmallIntegerField(default=3, db_default=1)
    exam_attempts = models.PositiveSmallIntegerField(default=2)
    warm_up = models.BooleanField(default=False)
    warm_up_hours = models.PositiveSmallIntegerField(default=8)
    gold_percent = models.PositiveSmallIntegerField(default=0)
    pay_rate = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal("14.00"))
    pay_currency = models.CharField(max_length=3, default="SGD")
    pay_cap_s = models.PositiveSmallIntegerField(default=120)
    pays_training = models.BooleanField(default=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    alert_from = models.PositiveSmallIntegerField(default=50)
    alert_kappa = models.FloatField(default=0.3)
    alert_bias = models.FloatField(default=0.75)
    alert_gold = models.FloatField(default=0.25)
    alert_fast_s = models.FloatField(default=2.0)
    alert_fast_streak = models.PositiveSmallIntegerField(default=10)
    alert_run = models.PositiveSmallIntegerField(default=25)
    writing_accepted = models.PositiveSmallIntegerField(default=50, db_default=0)  # the release before stops nobody
    writing_checks = models.PositiveSmallIntegerField(default=10, db_default=10)
    writing_hours = models.BooleanField(default=True, db_default=True)
    writing_cap_s = models.PositiveSmallIntegerField(default=600, db_default=600)
    checking_cap_s = models.PositiveSmallIntegerField(default=300, db_default=300)
    query_price = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0), db_default=Decimal(0))
    query_price_for = models.CharField(max_length=8, choices=PAID_QUERIES, default="open", db_default="open")
    check_price = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal(0), db_default=Decimal(0))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="policy_version_once_per_project"),
            models.CheckConstraint(
                condition=Q(lease_minutes__gte=1),
                name="policy_lease_lasts",
                violation_error_message="A lease lasts a minute at least.",
            ),
            models.CheckConstraint(
                condition=Q(extend_from_mean__range=(0, 9)),
                name="policy_mean_is_a_relevance",
                violation_error_message="The mean to extend from is a relevance: 0 to 9 at the most.",
            ),
            models.CheckConstraint(
                condition=Q(
                    screening_questions__gte=1,
                    screening_passing__lte=F("screening_questions"),
                    screening_attempts__gte=1,
                ),
                name="policy_screening_can_be_passed",
                violation_error_message="The screening test asks at least one question, needs no "
                "more right answers than it asks, and allows an attempt.",
            ),
            models.CheckConstraint(
                condition=Q(exam_kappa__range=(-1, 1), exam_attempts__gte=1, exam_weights__in=list(dict(WEIGHTS))),
                name="policy_exam_can_be_passed",
                violation_error_message="The least kappa lies between -1 and 1, and the exam allows an attempt.",
            ),
            models.CheckConstraint(
                condition=Q(exam_kappa_low__range=(-1, 1), exam_bias__range=(0, 9), exam_levels__range=(1, 10)),
                name="policy_exam_conditions_are_bounds",
                violation_error_message="The least lower bound lies between -1 and 1, the bias between 0 and 9, "
                "and the levels told apart between 1 and 10.",
            ),
            models.CheckConstraint(
                condition=Q(gold_percent__lte=50),
                name="policy_gold_is_the_lesser_part",
                violation_error_message="At most half of the pairs shown can be gold.",
            ),
            models.CheckConstraint(
                condition=Q(pay_rate__gte=0, pay_cap_s__gte=1, pay_currency__regex="^[A-Z]{3}$"),
                name="policy_pay_is_an_amount",
                violation_error_message="A rate is not negative, its currency has three "
                "capital letters, and the cap is a second at least.",
            ),
            models.CheckConstraint(
                condition=Q(
                    alert_kappa__range=(-1, 1), alert_bias__gte=0, alert_gold__range=(0, 1), alert_fast_s__gte=0
                )
                & Q(alert_fast_streak__gte=2, alert_run__gte=2),
                name="policy_alerts_are_thresholds",
                violation_error_message="Alerts: kappa lies between -1 and 1, the share of gold between 0 and 1, "
                "bias and seconds are not negative, and a streak or run is two at least.",
            ),
            models.CheckConstraint(
                condition=Q(writing_accepted__lte=100, writing_checks__gte=1),
                name="policy_writing_is_a_share",
                violation_error_message="The accepted share lies between 0 and 100 %, after one check at least.",
            ),
            models.CheckConstraint(
                condition=Q(writing_cap_s__gte=1, checking_cap_s__gte=1, query_price__gte=0, check_price__gte=0)
                & Q(query_price_for__in=list(dict(PAID_QUERIES))),
                name="policy_writing_pay_is_an_amount",
                violation_error_message="A price is not negative, and a query or a check is paid for a second at "
                "least.",
            ),
        ]

    def __str__(self) -> str:
        return f"policy {self.version}"


OF_THE_VERSION = {"id", "project", "version", "created_by", "created_at"}
POLICY_VALUES = tuple(field.name for field in Policy._meta.fields if field.name not in OF_THE_VERSION)
PUBLISHED = {  # names of values in releases and in the audit, where they are called as in 0.1.0
    f"screening_{name}": f"gate_{name}" for name in ("is_open", "questions", "passing", "attempts")
}
OF_PUBLISHED = {published: name for name, published in PUBLISHED.items()}


class Guideline(models.Model):
    """One version of the text annotators judge by; the newest is in force."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="guidelines")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    levels = models.JSONField(help_text="The one-line meaning of each grade, 0 first.")
    changes = models.TextField(blank=True, help_text="What is new in this version, in the lead's words.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="guideline_version_once_per_project")
        ]

    def __str__(self) -> str:
        return f"guideline {self.version}"


class Example(models.Model):
    """A moment that shows what a grade means for a query."""

    grade = models.PositiveSmallIntegerField()
    query_text = models.TextField()
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="+")

    class Meta:
        abstract = True
        ordering = ["-grade"]


class GuidelineExample(Example):
    """An example of a published version."""

    guideline = models.ForeignKey(Guideline, models.CASCADE, related_name="examples")

    class Meta(Example.Meta):
        constraints = [
            models.UniqueConstraint(fields=["guideline", "grade"], name="guideline_example_once_per_grade"),
            models.CheckConstraint(condition=Q(grade__range=(0, 9)), name="guideline_example_grade_from_0_to_9"),
        ]


class GuidelineDraft(models.Model):
    """The next version while leads prepare it; nobody judges by it until it is published."""

    project = models.OneToOneField(Project, models.PROTECT, related_name="guideline_draft")
    base = models.ForeignKey(Guideline, models.PROTECT, related_name="+", help_text="The version it began as.")
    body = models.TextField(help_text="Markdown")
    levels = models.JSONField(help_text="The one-line meaning of each grade, 0 first.")
    changes = models.TextField(blank=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(auto_now=True)


class GuidelineDraftExample(Example):
    """An example of the version that is prepared."""

    draft = models.ForeignKey(GuidelineDraft, models.CASCADE, related_name="examples")

    class Meta(Example.Meta):
        constraints = [
            models.UniqueConstraint(fields=["draft", "grade"], name="guideline_draft_example_once_per_grade"),
            models.CheckConstraint(condition=Q(grade__range=(0, 9)), name="guideline_draft_example_grade_from_0_to_9"),
        ]


class GuidelineConfirmation(models.Model):
    """An annotator has read this version."""

    guideline = models.ForeignKey(Guideline, models.PROTECT, related_name="confirmations")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="guideline_confirmations")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["guideline", "annotator"], name="guideline_confirmation_once_per_annotator")
        ]
