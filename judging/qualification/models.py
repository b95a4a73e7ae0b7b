"""KnownPair: a pair whose true grade is known. Exam, ExamAttempt, ExamGrade: people measured by such pairs.

ScreeningQuestion, ScreeningAttempt: the multiple-choice test before training (TVR, appendix on its qualification test).
"""

from decimal import Decimal
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import BooleanField, F, Func, JSONField, Q, Value
from django.utils import timezone

from accounts.models import Project
from annotation.models import Moment, Query
from judging.guidelines.models import Guideline
from judging.work.models import Judgment, Pair

HALVES = [Decimal(half) / 2 for half in range(19)]  # 0, 0.5, .. 9


class Exam(models.Model):
    """One exam of a project: ``queries`` queries of the train split with ``depth`` pairs each. The first cohort grades
    its pairs all alone and makes their truth; later exams draw pairs of known truth for each person anew, none that
    they have seen."""

    class Kind(models.TextChoices):
        COHORT = "cohort"
        LATER = "stored", "Stored"

    class State(models.TextChoices):
        PREPARING = "preparing"
        OPEN = "open"
        CLOSED = "closed"
        FAILED = "failed"

    class TruthRule(models.TextChoices):
        MEDIAN = "median"  # of all first grades, as in the paper
        AGREEING = "agreeing"  # of a majority of three or more within one grade; elsewhere no truth

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="exams")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=6, choices=Kind)
    state = models.CharField(max_length=9, choices=State, default=State.PREPARING)
    seed = models.PositiveIntegerField()
    queries = models.PositiveSmallIntegerField(default=10)
    depth = models.PositiveSmallIntegerField(default=10)
    truth_rule = models.CharField(
        max_length=8,
        choices=TruthRule,
        default=TruthRule.MEDIAN,
        db_default="median",
        help_text="How the truth of a first cohort follows from its grades; chosen when the round is closed.",
    )
    error = models.TextField(blank=True)
    report = models.JSONField(default=dict, help_text="Of the cohort; empty until it is computed.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="exam_number_once_per_project"),
            models.UniqueConstraint(
                fields=["project"],
                condition=Q(state__in=["preparing", "open"]),
                name="exam_one_at_a_time",
                violation_error_message="Close the exam that is open first.",
            ),
            models.CheckConstraint(condition=Q(queries__gte=1, depth__gte=1), name="exam_asks_for_something"),
            models.CheckConstraint(
                condition=Q(state="closed", closed_at__isnull=False) | (~Q(state="closed") & Q(closed_at__isnull=True)),
                name="exam_closed_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(truth_rule="median") | Q(truth_rule="agreeing", kind="cohort"),
                name="exam_truth_rule_is_of_a_cohort",
            ),
        ]

    def __str__(self) -> str:
        return f"exam {self.number}"


class KnownPair(models.Model):
    """A query with a moment whose true grade is known, or will be when its exam closes."""

    class Source(models.TextChoices):
        EXAM = "exam"  # median of a first cohort
        SETTLED = "settled"  # judged with equal grades
        LEAD = "lead"  # said by a lead, for the tutorial

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="known_pairs")
    query = models.ForeignKey(Query, models.PROTECT, related_name="known_pairs")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="known_pairs")
    rank = models.PositiveSmallIntegerField(null=True)
    source = models.CharField(max_length=7, choices=Source)
    exam = models.ForeignKey(Exam, models.PROTECT, null=True, related_name="known_pairs")
    pair = models.OneToOneField(Pair, models.PROTECT, null=True, related_name="known_pair")
    truth = models.DecimalField(max_digits=2, decimal_places=1, null=True, help_text="A grade or a half between two.")
    anchor = models.PositiveSmallIntegerField(
        null=True, help_text="The lead's own grade, given before anybody hands in; compared with, never part of truth."
    )
    explanation = models.TextField(blank=True, help_text="Why this grade; shown to people who graded otherwise.")
    tutorial_position = models.PositiveSmallIntegerField(null=True, help_text="Position in the tutorial, from 1.")
    is_retired = models.BooleanField(default=False, help_text="Taken out by a lead; not asked again.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "query", "moment"], name="known_pair_once_per_project"),
            models.CheckConstraint(
                condition=Q(truth__isnull=True) | Q(truth__in=HALVES), name="known_pair_truth_is_a_median"
            ),
            models.CheckConstraint(
                condition=Q(source="exam", exam__isnull=False, pair__isnull=True)
                | Q(source="settled", exam__isnull=True, pair__isnull=False, truth__isnull=False)
                | Q(source="lead", exam__isnull=True, pair__isnull=True),
                name="known_pair_says_where_its_truth_is_from",
            ),
            models.CheckConstraint(
                condition=Q(tutorial_position__isnull=True) | Q(source="lead", truth__isnull=False),
                name="known_pair_of_the_tutorial_has_its_truth",
            ),
            models.CheckConstraint(
                condition=Q(anchor__isnull=True) | Q(anchor__range=(0, 9), source="exam"),
                name="known_pair_anchor_is_a_grade_in_an_exam",
            ),
        ]


class ExamAttempt(models.Model):
    """One person's progress through pairs of known truth: the tutorial, an exam, or a warm-up."""

    class Purpose(models.TextChoices):
        TUTORIAL = "tutorial"
        EXAM = "exam"
        WARM_UP = "warm-up"

    class State(models.TextChoices):
        OPEN = "open"  # first grades are given
        WAITING = "waiting"  # all are given; the first cohort waits for its round to be closed
        FEEDBACK = "feedback"  # misaligned pairs come back
        DONE = "done"
        MISSED = "missed"  # the exam was closed before all were given

    NO_RESULT = "no_result"  # key of a report: too few pairs of the exam can be compared

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="exam_attempts")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="exam_attempts")
    purpose = models.CharField(max_length=8, choices=Purpose)
    exam = models.ForeignKey(Exam, models.PROTECT, null=True, related_name="attempts")
    seed = models.PositiveIntegerField(help_text="The order of the pairs follows from it.")
    known_ids = ArrayField(models.BigIntegerField(), help_text="The pairs, in the order shown.")
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    report = models.JSONField(default=dict, help_text="Empty until it is computed.")
    passed = models.BooleanField(null=True)
    missed_counts = models.BooleanField(
        default=False, db_default=False, help_text="A lead decided that this missed exam is an attempt."
    )
    left_out = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A lead left these grades out of the truth when the round was closed.",
    )
    shown_before = models.PositiveSmallIntegerField(
        null=True, help_text="Of a later exam: how many of its pairs had their truth shown to somebody before it began."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    graded_at = models.DateTimeField(null=True, help_text="When the last first grade was given.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "annotator", "purpose"],
                condition=Q(state__in=["open", "waiting", "feedback"]),
                name="exam_attempt_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(purpose="exam", exam__isnull=False) | (~Q(purpose="exam") & Q(exam__isnull=True)),
                name="exam_attempt_of_an_exam_names_it",
            ),
            models.CheckConstraint(condition=Q(known_ids__len__gt=0), name="exam_attempt_asks_for_something"),
            models.CheckConstraint(
                condition=(Q(state__in=["done", "missed"]) & Q(ended_at__isnull=False))
                | (~Q(state__in=["done", "missed"]) & Q(ended_at__isnull=True)),
                name="exam_attempt_ended_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(missed_counts=False) | Q(purpose="exam", state="missed"),
                name="exam_attempt_counted_by_a_lead_was_missed",
            ),
            models.CheckConstraint(
                condition=Q(left_out=False) | Q(purpose="exam", state__in=["feedback", "done", "missed"]),
                name="exam_attempt_left_out_was_closed",
            ),
            models.CheckConstraint(
                condition=Q(shown_before__isnull=True) | Q(purpose="exam", shown_before__lte=F("known_ids__len")),
                name="exam_attempt_shown_before_is_a_part_of_it",
            ),
        ]

    @property
    def has_no_result(self) -> bool:
        """Whether the exam was sat to its end and decides nothing about the person; it is no attempt."""
        return self.NO_RESULT in self.report

    @property
    def is_decided(self) -> bool:
        return self.passed is not None or self.has_no_result


class ExamGrade(models.Model):
    """One grade for a pair of known truth; ``try_number`` 0 is the first, later ones follow feedback. All are kept."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False, help_text="The key of the form that sent it.")
    exam_attempt = models.ForeignKey(ExamAttempt, models.PROTECT, related_name="grades")
    known_pair = models.ForeignKey(KnownPair, models.PROTECT, related_name="grades")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="exam_grades")
    try_number = models.PositiveSmallIntegerField(default=0)
    grade = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField(help_text="Position in the order shown, from 1.")
    active_ms = models.PositiveIntegerField(null=True, help_text="From pair shown to grade sent.")
    source = models.CharField(max_length=9, choices=Judgment.Source, default=Judgment.Source.PERSON)
    guideline = models.ForeignKey(Guideline, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["exam_attempt", "known_pair", "try_number"], name="exam_grade_once_per_pair_and_try"
            ),
            models.UniqueConstraint(
                fields=["annotator", "known_pair"],
                condition=Q(try_number=0),
                name="exam_grade_first_once_per_annotator",
                violation_error_message="You have graded this pair before.",
            ),
            models.CheckConstraint(condition=Q(grade__range=(0, 9)), name="exam_grade_from_0_to_9"),
        ]


TEXTS = (
    'strict $ ? (@.type() == "array" && @.size() >= 2 && @.size() <= 6 '
    '&& !exists(@[*] ? (@.type() != "string" || @ == "")))'
)


class ScreeningQuestion(models.Model):
    """A clip, a description, and options of which one is right."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="screening_questions")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="+")
    description = models.TextField()
    options = models.JSONField(help_text="Two to six texts.")
    correct = models.PositiveSmallIntegerField(help_text="Index of the right option, from 0.")
    is_retired = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(description=""), name="screening_question_says_something"),
            models.CheckConstraint(
                condition=Func(F("options"), Value(TEXTS), function="jsonb_path_exists", output_field=BooleanField()),
                name="screening_question_has_2_to_6_options",
            ),
            models.CheckConstraint(
                condition=Func(
                    F("options"),
                    Value("$[$correct]"),
                    Func(Value("correct"), F("correct"), function="jsonb_build_object", output_field=JSONField()),
                    function="jsonb_path_exists",
                    output_field=BooleanField(),
                ),
                name="screening_question_has_a_right_option",
            ),
        ]


class ScreeningAttempt(models.Model):
    """One person's answers, with the questions as they were asked."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="screening_attempts")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="screening_attempts")
    questions = models.JSONField(help_text="Each question as it was shown: uuid, description, options, correct.")
    answers = models.JSONField(default=list, help_text="The chosen option of each, in the same order.")
    passing = models.PositiveSmallIntegerField(help_text="Right answers needed.")
    score = models.PositiveSmallIntegerField(null=True, help_text="Right answers; null until answered.")
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "annotator"],
                condition=Q(answered_at__isnull=True),
                name="screening_attempt_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True, answered_at__isnull=True)
                | Q(score__isnull=False, answered_at__isnull=False),
                name="screening_attempt_answered_has_its_score",
            ),
        ]

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score >= self.passing
