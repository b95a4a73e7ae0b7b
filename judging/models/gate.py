"""GateQuestion, GateAttempt: the multiple-choice test before training (TVR, appendix on its qualification test)."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import BooleanField, F, Func, JSONField, Q, Value

from annotation.models import Moment, Project

TEXTS = (
    'strict $ ? (@.type() == "array" && @.size() >= 2 && @.size() <= 6 '
    '&& !exists(@[*] ? (@.type() != "string" || @ == "")))'
)


class GateQuestion(models.Model):
    """A clip, a description, and options of which one is right."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="gate_questions")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="+")
    description = models.TextField()
    options = models.JSONField(help_text="Two to six texts.")
    correct = models.PositiveSmallIntegerField(help_text="Place of the right option, from 0.")
    is_retired = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(description=""), name="gate_question_says_something"),
            models.CheckConstraint(
                condition=Func(F("options"), Value(TEXTS), function="jsonb_path_exists", output_field=BooleanField()),
                name="gate_question_has_2_to_6_options",
            ),
            models.CheckConstraint(
                condition=Func(
                    F("options"),
                    Value("$[$correct]"),
                    Func(Value("correct"), F("correct"), function="jsonb_build_object", output_field=JSONField()),
                    function="jsonb_path_exists",
                    output_field=BooleanField(),
                ),
                name="gate_question_has_a_right_option",
            ),
        ]

    def __str__(self) -> str:
        return self.description


class GateAttempt(models.Model):
    """One person's answers, with the questions as they were asked."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="gate_attempts")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="gate_attempts")
    asked = models.JSONField(help_text="Each question as it was shown: uuid, description, options, correct.")
    answers = models.JSONField(default=list, help_text="The chosen place for each, in the same order.")
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
                name="gate_attempt_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True, answered_at__isnull=True)
                | Q(score__isnull=False, answered_at__isnull=False),
                name="gate_attempt_answered_has_its_score",
            ),
        ]

    def __str__(self) -> str:
        return f"gate attempt {self.uuid}"

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score >= self.passing
