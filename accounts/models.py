"""Who logs in and who takes part in which project; personal data lies in ``Identity`` alone, which no export joins."""

from collections.abc import Collection
from typing import Any, ClassVar
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Regex
from django.utils import timezone

from accounts.rules import roles_text

WRITTEN_AGAIN = ["session_data", "expire_date", "user", "client"]


class UserManager(BaseUserManager["User"]):
    def create_user(self, username: str, password: str | None = None, *, is_simulated: bool = False) -> "User":
        """A new person; without a password nobody can log in as them."""
        user = self.model(username=self.model.normalize_username(username), is_simulated=is_simulated)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """One account. Roles belong to projects (Membership); names and e-mail to Identity."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    username = models.CharField(max_length=150, unique=True, validators=[UnicodeUsernameValidator()])
    is_active = models.BooleanField(default=True)
    is_simulated = models.BooleanField(default=False, help_text="A program that grades in the demo and in tests.")
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    def __str__(self) -> str:
        return self.username


class Identity(models.Model):
    """Name and e-mail of a person; only leads see it, and deleting it keeps every judgment."""

    user = models.OneToOneField(
        User, models.CASCADE, null=True, related_name="identity", help_text="Null: invited, not here yet."
    )
    name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                Lower("email"), condition=Q(user__isnull=False) & ~Q(email=""), name="identity_email_of_one_account"
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False) | ~Q(email=""), name="identity_of_the_invited_has_an_email"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class JudgingRules(models.Model):
    """By what rules pairs are settled. The defaults are those of TVR-Ranking (arXiv:2407.06597, section 3.2)."""

    top_grade = models.PositiveSmallIntegerField(default=4, db_default=4, help_text="Grades go from 0 to this one.")
    judges = models.PositiveSmallIntegerField(default=2, db_default=2, help_text="Who judge a pair in a round.")
    max_spread = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="How far apart grades may be that agree."
    )
    max_rounds = models.PositiveSmallIntegerField(default=2, db_default=2)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(top_grade__range=(1, 9), judges__in=[2, 3], max_rounds__in=[1, 2])
                & Q(max_spread__gte=0, max_spread__lt=models.F("top_grade")),
                name="%(class)s_rules_are_possible",
                violation_error_message="Grades go from 0 to 1 or up to 9, two or three judge in a round, there are"
                " one or two rounds, and grades that agree lie nearer than the whole scale.",
            )
        ]


class Project(JudgingRules):
    """One campaign and the people in it, each in their role; what they judge, apps above attach to it."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    name = models.CharField(max_length=200, unique=True)
    demo_videos = models.PositiveSmallIntegerField(null=True, help_text="Videos of the rendered demo; null otherwise.")
    demo_seed = models.PositiveIntegerField(null=True)
    registration_is_open = models.BooleanField(default=False, help_text="Anybody may join as an annotator.")
    batch_size = models.PositiveSmallIntegerField(default=20, db_default=20, help_text="Pairs of a batch.")
    has_second_batch = models.BooleanField(default=True, db_default=True, help_text="A lead may open one for a query.")
    strata = ArrayField(
        ArrayField(models.PositiveSmallIntegerField(), size=3),
        default=list,
        db_default=models.Value([], ArrayField(ArrayField(models.PositiveSmallIntegerField(), size=3))),
        blank=True,
        help_text="Ranks of which a batch draws some, as rows [first, last, sample]; empty: the best by rank.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            *JudgingRules.Meta.constraints,
            models.CheckConstraint(
                condition=Q(batch_size__range=(5, 50)),
                name="project_batch_of_5_to_50_pairs",
                violation_error_message="A batch has 5 to 50 pairs.",
            ),
            models.CheckConstraint(
                condition=models.Func(
                    "strata",
                    "batch_size",
                    function="strata_are_possible",
                    output_field=models.BooleanField(),
                ),
                name="project_strata_follow_each_other_and_fill_a_batch",
                violation_error_message="Strata begin with rank 1 and follow each other up to rank 1000 at the most; of"
                " each, 1 rank to all are drawn, and together as many as a batch has pairs.",
            ),
            models.CheckConstraint(
                condition=models.Q(demo_videos__isnull=True, demo_seed__isnull=True)
                | models.Q(demo_videos__isnull=False, demo_seed__isnull=False),
                name="project_demo_has_videos_and_seed",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_demo(self) -> bool:
        return self.demo_videos is not None


class Membership(models.Model):
    """One person's roles in a project.

    Annotator and participant stand alone, so who sees captions or others' grades never judges; the others combine.
    """

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        LEAD = "lead"
        ADMIN = "admin"
        WRITER = "writer"  # marks moments and writes queries
        CHECKER = "checker"  # looks at what writers wrote
        PARTICIPANT = "participant"  # uploads runs, and never sees hidden labels

    STAFF = (Role.LEAD, Role.ADMIN)  # the roles that lead to every page of the data
    COMBINABLE = (*STAFF, Role.WRITER, Role.CHECKER)

    class Status(models.TextChoices):
        """How far an annotator is; only the qualified are handed batches."""

        CANDIDATE = "candidate"
        TRAINING = "training"
        EXAM = "exam"
        QUALIFIED = "qualified"
        SUSPENDED = "suspended"
        LEFT = "left"

    project = models.ForeignKey(Project, models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=20, choices=Role), help_text="Each once, in the order of Role.")
    number = models.PositiveIntegerField(null=True, help_text="Annotator number; the only name judging data knows.")
    status = models.CharField(max_length=9, choices=Status, blank=True, help_text="Of annotators; empty for others.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="membership_once_per_person_and_project"),
            models.UniqueConstraint(fields=["project", "number"], name="membership_number_once_per_project"),
            models.CheckConstraint(
                condition=models.Q(roles=["annotator"], number__isnull=False)
                | (~models.Q(roles=["annotator"]) & models.Q(number__isnull=True)),
                name="membership_number_for_annotators_only",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    roles=["annotator"],
                    status__in=["candidate", "training", "exam", "qualified", "suspended", "left"],
                )
                | (~models.Q(roles=["annotator"]) & models.Q(status="")),
                name="membership_status_for_annotators_only",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    roles__contained_by=["annotator", "lead", "admin", "writer", "checker", "participant"],
                    roles__len__gt=0,
                ),
                name="membership_roles_are_known",
            ),
            models.CheckConstraint(
                condition=Regex(
                    models.Func(
                        models.F("roles"),
                        models.Value(","),
                        function="array_to_string",
                        output_field=models.TextField(),
                    ),
                    "^(annotator,?)?(lead,?)?(admin,?)?(writer,?)?(checker,?)?(participant)?$",
                ),
                name="membership_roles_each_once_and_in_order",
            ),
            models.CheckConstraint(
                condition=models.Q(roles__len=1) | models.Q(roles__contained_by=["lead", "admin", "writer", "checker"]),
                name="membership_annotator_and_participant_stand_alone",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} of {self.project}"

    @property
    def label(self) -> str:
        """The roles, with the number where there is one: "lead and admin", "annotator 3"."""
        text = roles_text(self.roles)
        return text if self.number is None else f"{text} {self.number}"

    def has(self, roles: Collection[str]) -> bool:
        """Whether one of the roles is among ``roles``."""
        return any(role in roles for role in self.roles)

    @property
    def first_role(self) -> str:
        """The one of several roles that stands for all where there is room for one."""
        return self.roles[0]

    @property
    def is_annotator(self) -> bool:
        return self.Role.ANNOTATOR in self.roles

    @property
    def is_lead(self) -> bool:
        return self.Role.LEAD in self.roles

    @property
    def is_participant(self) -> bool:
        return self.Role.PARTICIPANT in self.roles


class StatusChange(models.Model):
    """One change of an annotator's status, by whom and why; rows are only ever added."""

    membership = models.ForeignKey(Membership, models.PROTECT, related_name="status_changes")
    from_status = models.CharField(max_length=9, choices=Membership.Status, blank=True, help_text="Empty: joined.")
    to_status = models.CharField(max_length=9, choices=Membership.Status)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    reason = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(from_status=models.F("to_status")), name="status_change_is_one")
        ]

    def __str__(self) -> str:
        return f"{self.from_status or 'joined'} to {self.to_status}"


class BrowserSession(AbstractBaseSession):
    """Django's session, with whose it is. No address is kept; the browser is as rough as "Firefox on Linux"."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="browser_sessions")
    client = models.CharField(max_length=60, blank=True)
    began_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(default=timezone.now, help_text="True to ten minutes.")

    class Meta:
        ordering = ["-used_at"]

    @classmethod
    def get_session_store_class(cls) -> Any:
        from django.conf import settings
        from django.utils.module_loading import import_string

        return import_string(f"{settings.SESSION_ENGINE}.SessionStore")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A session store makes a new instance each time it saves: when it began is not to be written anew."""
        if kwargs.get("force_update"):
            kwargs["update_fields"] = WRITTEN_AGAIN
        super().save(*args, **kwargs)


class CacheEntry(models.Model):
    """An entry of core.postgresql.cache: tries that were counted, under a digest that names nobody."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "cache entries"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cache_key__regex="[0-9a-f]{64}(:lock)?$"), name="cache_entry_names_nobody"
            )
        ]

    def __str__(self) -> str:
        return self.cache_key


class AccessToken(models.Model):
    """One token of a person, under a name they chose, good for some scopes until it expires or is revoked.

    Revoking it deletes the row.
    """

    class Scope(models.TextChoices):
        READ = "read", "Read: look at what you may see"
        JUDGE = "judge", "Judge: take batches, grade, flag, finish; write queries and check them"
        UPLOAD = "upload", "Upload: bring runs to the leaderboard and withdraw them"
        MANAGE = "manage", "Manage: review, withdraw pairs, set priorities, start benchmark runs"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hexadecimal.")
    scopes = ArrayField(  # what a release without scopes makes may do all, as its tokens could
        models.CharField(max_length=10, choices=Scope), default=list, db_default=["read", "judge", "upload", "manage"]
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, help_text="Null: it does not end by itself.")
    used_at = models.DateTimeField(null=True, help_text="True to ten minutes.")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="access_token_name_once_per_person"),
            models.CheckConstraint(
                condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="access_token_is_kept_as_digest"
            ),
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=["read", "judge", "upload", "manage"], scopes__len__gt=0),
                name="access_token_has_known_scopes",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
