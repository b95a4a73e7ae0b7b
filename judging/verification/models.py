"""Studies in which people say, on a scale, how far statements about descriptions and their moments hold."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from annotation.models import Description
from judging.checking.models import QueryCheck
from judging.collection.models import WritingRound


class VerificationStudy(models.Model):
    """A sample of the descriptions of a project, and what people say about each. All but its state stays."""

    class State(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"  # no pair is handed out, and no answer is taken

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="verification_studies")
    name = models.CharField(max_length=100)
    round = models.ForeignKey(
        WritingRound, models.PROTECT, null=True, related_name="+", help_text="Empty: of the whole corpus."
    )
    seed = models.PositiveIntegerField(help_text="The sample and its order follow from it.")
    n_pairs = models.PositiveIntegerField(help_text="Size of the sample.")
    answers_per_pair = models.PositiveSmallIntegerField(default=1, help_text="People who answer for each pair.")
    state = models.CharField(max_length=6, choices=State, default=State.OPEN)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "verification studies"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="verification_study_name_once_per_project",
                violation_error_message="There is a study of this name.",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="verification_study_has_a_name"),
            models.CheckConstraint(condition=Q(state__in=["open", "closed"]), name="verification_study_state_is_known"),
            models.CheckConstraint(condition=Q(n_pairs__range=(1, 10_000)), name="verification_study_has_pairs"),
            models.CheckConstraint(
                condition=Q(answers_per_pair__range=(1, 5)), name="verification_study_asks_1_to_5_people"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class VerificationStatement(models.Model):
    """A sentence about a pair that people agree with or not. No study changes its own once answers exist."""

    study = models.ForeignKey(VerificationStudy, models.PROTECT, related_name="statements")
    position = models.PositiveSmallIntegerField(help_text="From 1.")
    text = models.CharField(max_length=200)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="verification_statement_position_once"),
            models.UniqueConstraint(fields=["study", "text"], name="verification_statement_text_once"),
            models.CheckConstraint(
                condition=Q(position__range=(1, 9)), name="verification_statement_position_from_1_to_9"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="verification_statement_has_words"),
        ]

    def __str__(self) -> str:
        return self.text


class VerificationPair(models.Model):
    """A description and its moment in the sample of a study; with the bounds that the moment had at the draw."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    study = models.ForeignKey(VerificationStudy, models.PROTECT, related_name="pairs")
    position = models.PositiveIntegerField(help_text="In the order of the draw, from 1.")
    description = models.ForeignKey(Description, models.PROTECT, related_name="verification_pairs")
    start_s = models.FloatField()
    end_s = models.FloatField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "description"], name="verification_pair_once_per_study"),
            models.UniqueConstraint(fields=["study", "position"], name="verification_pair_position_once"),
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="verification_pair_starts_before_end"
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.position} of study {self.study_id}"


class VerificationAssignment(models.Model):
    """A pair in the hands of one person until its lease ends, and when they answered; taken back, it stays."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    pair = models.ForeignKey(VerificationPair, models.PROTECT, related_name="assignments")
    verifier = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="verification_assignments")
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)
    undone_at = models.DateTimeField(null=True, help_text="When the person took the answers back.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "verifier"],
                condition=Q(undone_at__isnull=True),
                name="verification_assignment_once_per_pair_and_person",
            ),
            models.CheckConstraint(
                condition=Q(undone_at__isnull=True) | Q(answered_at__isnull=False),
                name="verification_assignment_undone_has_answers",
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.pair_id} with account {self.verifier_id}"


class VerificationAnswer(models.Model):
    """How far a person agrees with one statement about a pair."""

    class Value(models.IntegerChoices):
        STRONGLY_DISAGREE = 1, "strongly disagree"
        DISAGREE = 2, "disagree"
        NEUTRAL = 3, "neutral"
        AGREE = 4, "agree"
        STRONGLY_AGREE = 5, "strongly agree"

    assignment = models.ForeignKey(VerificationAssignment, models.PROTECT, related_name="answers")
    statement = models.ForeignKey(VerificationStatement, models.PROTECT, related_name="answers")
    value = models.PositiveSmallIntegerField(choices=Value)

    class Meta:
        ordering = ["statement__position"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "statement"], name="verification_answer_once_per_statement"),
            models.CheckConstraint(condition=Q(value__range=(1, 5)), name="verification_answer_value_from_1_to_5"),
        ]

    def __str__(self) -> str:
        return f"{self.value} for statement {self.statement_id}"


class VerificationInspection(models.Model):
    """Another look at a pair, at the request of a lead, and the decision of a checker. The corpus stays as it is."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    pair = models.OneToOneField(VerificationPair, models.PROTECT, related_name="inspection")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    checker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        related_name="verification_inspections",
        help_text="Who looks at it, and then who decided.",
    )
    checker_until = models.DateTimeField(null=True)
    decision = models.CharField(max_length=7, choices=QueryCheck.Decision, blank=True, help_text="Empty: it waits.")
    reason = models.CharField(max_length=8, choices=QueryCheck.Reason, blank=True, help_text="Of a rejection.")
    note = models.CharField(max_length=500, blank=True, help_text="In the checker's words.")
    start_s = models.FloatField(null=True, help_text="Of the moment, as the checker has it.")
    end_s = models.FloatField(null=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(decision="", decided_at__isnull=True, checker__isnull=True, checker_until__isnull=True)
                | Q(decision="", decided_at__isnull=True, checker__isnull=False, checker_until__isnull=False)
                | Q(
                    decision__in=["accept", "correct", "reject"],
                    decided_at__isnull=False,
                    checker__isnull=False,
                    checker_until__isnull=True,
                    start_s__isnull=False,
                    end_s__isnull=False,
                ),
                name="verification_inspection_waits_or_is_decided",
            ),
            models.CheckConstraint(
                condition=Q(decision__in=["", "accept"], reason="")
                | (Q(decision="correct", reason="") & ~Q(note=""))
                | Q(decision="reject", reason__in=["wrong", "not_only", "bounds", "repeated", "type", "language"])
                | (Q(decision="reject", reason="other") & ~Q(note="")),
                name="verification_inspection_says_why",
            ),
            models.CheckConstraint(
                condition=Q(start_s__isnull=True, end_s__isnull=True) | Q(start_s__gte=0, start_s__lt=F("end_s")),
                name="verification_inspection_starts_before_end",
            ),
        ]

    def __str__(self) -> str:
        return f"inspection of pair {self.pair_id}"

    @property
    def why(self) -> str:
        """The reason and the note in one line."""
        return ": ".join(filter(None, [self.get_reason_display(), self.note]))
