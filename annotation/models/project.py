"""Project: one campaign over one corpus, and who takes part in it in which role."""

from uuid import uuid4

from django.conf import settings
from django.db import models

from annotation.models.corpus import Corpus


class Project(models.Model):
    """A corpus, its queries and the people who judge them."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=200, unique=True)
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="projects")
    demo_videos = models.PositiveSmallIntegerField(null=True, help_text="Videos of the rendered demo; null otherwise.")
    demo_seed = models.PositiveIntegerField(null=True)
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

    project = models.ForeignKey(Project, models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role)
    number = models.PositiveIntegerField(null=True, help_text="Annotator number; the only name judging data knows.")
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
                condition=models.Q(role__in=["annotator", "lead", "admin"]), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} of {self.project}"

    @property
    def label(self) -> str:
        """The role, with the number where there is one."""
        return self.role if self.number is None else f"{self.role} {self.number}"
