"""Project: one campaign over one corpus, and who takes part in it in which role."""

from uuid import uuid4

from django.conf import settings
from django.db import models

from annotation.corpora.models import Corpus


class Project(models.Model):
    """A corpus, its queries and the people who judge them."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=200, unique=True)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="projects")
    demo_videos = models.PositiveSmallIntegerField(null=True, help_text="Videos of the rendered demo; null otherwise.")
    demo_seed = models.PositiveIntegerField(null=True)
    registration_is_open = models.BooleanField(default=False, help_text="Anybody may join as an annotator.")
    similarity = models.CharField(
        max_length=200, blank=True, help_text="What ranks its candidates; empty: the model that SENTENCE_MODEL names."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(demo_videos__isnull=True, demo_seed__isnull=True)
                | models.Q(demo_videos__isnull=False, demo_seed__isnull=False),
                name="project_demo_has_videos_and_seed",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_demo(self) -> bool:
        return self.demo_videos is not None


class Membership(models.Model):
    """One person's single role in a project; who sees captions or others' grades can so never judge in it."""

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        LEAD = "lead"
        ADMIN = "admin"
        PARTICIPANT = "participant"  # uploads runs, and never sees hidden labels

    class Standing(models.TextChoices):
        """How far an annotator is; only the qualified are handed batches."""

        CANDIDATE = "candidate"
        TRAINING = "training"
        EXAM = "exam"
        QUALIFIED = "qualified"
        SUSPENDED = "suspended"
        LEFT = "left"

    project = models.ForeignKey(Project, models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role)
    number = models.PositiveIntegerField(null=True, help_text="Annotator number; the only name judging data knows.")
    standing = models.CharField(
        max_length=9, choices=Standing, blank=True, help_text="Of annotators; empty for others."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="membership_one_role_per_person_and_project"),
            models.UniqueConstraint(fields=["project", "number"], name="membership_number_once_per_project"),
            models.CheckConstraint(
                condition=models.Q(role="annotator", number__isnull=False)
                | (~models.Q(role="annotator") & models.Q(number__isnull=True)),
                name="membership_number_for_annotators_only",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    role="annotator",
                    standing__in=["candidate", "training", "exam", "qualified", "suspended", "left"],
                )
                | (~models.Q(role="annotator") & models.Q(standing="")),
                name="membership_standing_for_annotators_only",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=["annotator", "lead", "admin", "participant"]),
                name="membership_role_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} of {self.project}"

    @property
    def label(self) -> str:
        """The role, with the number where there is one."""
        return self.role if self.number is None else f"{self.role} {self.number}"


class StandingChange(models.Model):
    """One step of an annotator's way, by whom and why; rows are only ever added."""

    membership = models.ForeignKey(Membership, models.PROTECT, related_name="standing_changes")
    from_standing = models.CharField(max_length=9, choices=Membership.Standing, blank=True, help_text="Empty: joined.")
    to_standing = models.CharField(max_length=9, choices=Membership.Standing)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    reason = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(from_standing=models.F("to_standing")), name="standing_change_is_one"
            )
        ]

    def __str__(self) -> str:
        return f"{self.from_standing or 'joined'} to {self.to_standing}"
