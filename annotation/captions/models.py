"""Captions, descriptions rewritten so that they name nobody: cast lists, prompts, runs, failures and reviews."""

from typing import Any
from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import Q

from accounts.models import Project, User
from annotation.corpora.models import Corpus, Description, Measure, Moment


class CastMember(models.Model):
    """A name that stands for somebody in the descriptions of a corpus; goes before the packaged cast."""

    class Gender(models.TextChoices):
        MAN = "M", "man"
        WOMAN = "F", "woman"
        NEITHER = "N", "neither or unknown"

    class Kind(models.TextChoices):
        NAME = "name", "always a name"
        WORD = "word", "also a word, such as House"

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="cast")
    name = models.CharField(max_length=100)
    gender = models.CharField(max_length=1, choices=Gender)
    kind = models.CharField(max_length=4, choices=Kind, default=Kind.NAME)
    noun = models.CharField(max_length=40, blank=True, help_text="Used instead of man, woman or person.")
    videos = models.CharField(max_length=40, blank=True, help_text="How the names of the show's videos begin.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name", "videos"], name="cast_member_once_per_corpus_and_show"),
            models.CheckConstraint(condition=~Q(name=""), name="cast_member_has_a_name"),
            models.CheckConstraint(condition=Q(gender__in=["M", "F", "N"]), name="cast_member_gender_is_known"),
            models.CheckConstraint(condition=Q(kind__in=["name", "word"]), name="cast_member_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Prompt(models.Model):
    """The request to a chat model; a change is a new version.

    Version 1 comes with the software; a corpus goes on from there with its own.
    """

    corpus = models.ForeignKey(Corpus, models.PROTECT, null=True, related_name="prompts")
    version = models.PositiveIntegerField()
    text = models.TextField()
    examples = models.JSONField(
        default=list, db_default=[], help_text="Pairs of a description and its caption, shown to the model."
    )
    seed = models.PositiveIntegerField(null=True, help_text="For providers that draw the same answer from it again.")
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "version"], nulls_distinct=False, name="prompt_version_once_per_corpus"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="prompt_says_something"),
        ]

    def __str__(self) -> str:
        return f"prompt {self.version}"


class PromptDraft(models.Model):
    """The next version of a corpus's prompt while people prepare it; it rewrites nothing until it is published."""

    corpus = models.OneToOneField(Corpus, models.PROTECT, related_name="prompt_draft")
    base = models.ForeignKey(Prompt, models.PROTECT, related_name="+", help_text="The version it began as.")
    text = models.TextField()
    examples = models.JSONField(default=list)
    seed = models.PositiveIntegerField(null=True)
    edited_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(text=""), name="prompt_draft_says_something")]


class PromptTrial(models.Model):
    """A draft tried on a few descriptions beside the version in force; a worker makes it, and no caption changes."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="+")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="prompt_trials")
    prompt = models.ForeignKey(Prompt, models.PROTECT, related_name="+", help_text="The version in force.")
    text = models.TextField(help_text="The draft as it was.")
    examples = models.JSONField(default=list)
    seed = models.PositiveIntegerField(null=True)
    model = models.CharField(max_length=100)
    description_ids = ArrayField(models.BigIntegerField())
    rows = models.JSONField(default=list, help_text="A description and two captions with their checks and prices each.")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus"], condition=Q(finished_at=None), name="prompt_trial_one_at_work_per_corpus"
            ),
            models.CheckConstraint(
                condition=Q(error="") | Q(finished_at__isnull=False), name="prompt_trial_that_failed_is_finished"
            ),
        ]

    @property
    def is_at_work(self) -> bool:
        return self.finished_at is None

    @property
    def totals(self) -> list[dict[str, Any]]:
        """Of the version in force and of the draft: how many captions failed a check, tokens, and their price."""
        sides = zip(*(row["sides"] for row in self.rows), strict=True)
        return [
            {
                "failed": sum(bool(side["failed"]) for side in one),
                "tokens": sum(side["tokens"] for side in one),
                "cost_usd": sum(side["cost_usd"] for side in one),
            }
            for one in sides
        ]


class Caption(models.Model):
    """The imprecise sentence of a moment, names replaced; who made it, how, and whether it may serve is kept."""

    class Provider(models.TextChoices):
        DEMO = "demo"
        AS_DESCRIBED = "as-described"  # not rewritten yet
        RULES = "rules"
        OPENAI = "openai"

    class State(models.TextChoices):
        PROPOSED = "proposed"  # not checked yet
        ACCEPTED = "accepted"
        IN_REVIEW = "in_review", "in review"
        EDITED = "edited"
        REJECTED = "rejected"  # by a person; serves nothing

    class Check(models.TextChoices):
        """Why a person must look at it; the first two are the checks of the paper, the others stand in their way."""

        SIMILARITY = "similarity", "says something else"
        NAME = "name", "names a person"
        NO_ANSWER = "no_answer", "no answer"
        REFUSED = "refused", "refused by the provider"
        EMPTY = "empty", "empty description"
        HUGE = "huge", "huge description"
        ONLY_NAME = "only_name", "only a name"
        MARKUP = "markup", "holds markup"
        LANGUAGE = "language", "not in English"

    uuid = models.UUIDField(db_default=RandomUUID(), unique=True, editable=False)
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="captions")
    description = models.OneToOneField(Description, models.PROTECT, related_name="caption")
    text = models.TextField()
    provider = models.CharField(max_length=40, choices=Provider)
    state = models.CharField(max_length=10, choices=State, default=State.ACCEPTED)
    model = models.CharField(max_length=100, blank=True, help_text="The provider's model, or its version.")
    prompt = models.ForeignKey("annotation.Prompt", models.PROTECT, null=True, related_name="captions")
    temperature = models.FloatField(null=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    tokens_in = models.PositiveIntegerField(default=0, help_text="Of all attempts.")
    tokens_out = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    similarity = models.FloatField(null=True, help_text="To the description.")
    similarity_measure = models.ForeignKey(Measure, models.PROTECT, null=True, related_name="+")
    name_found = models.CharField(max_length=200, blank=True)
    name_score = models.FloatField(null=True)
    name_model = models.CharField(max_length=100, blank=True)
    failed = ArrayField(
        models.CharField(max_length=12, choices=Check),
        default=list,
        blank=True,
        help_text="Checks that this or an earlier wording failed.",
    )
    detail = models.CharField(max_length=300, blank=True)
    reviewed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reviewed_at = models.DateTimeField(null=True)
    text_changed_at = models.DateTimeField(null=True, editable=False, help_text="Set by the database.")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="caption_says_something"),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "accepted", "in_review", "edited", "rejected"]),
                name="caption_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="in_review") | ~Q(failed=[]), name="caption_in_review_failed_a_check"
            ),
            models.CheckConstraint(
                condition=Q(failed=[]) | Q(state__in=["proposed", "in_review"]) | Q(reviewed_by__isnull=False),
                name="caption_that_failed_serves_by_a_person",
            ),
            models.CheckConstraint(
                condition=Q(similarity__isnull=True) | Q(similarity_measure__isnull=False),
                name="caption_similarity_has_its_measure",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["edited", "rejected"]) | Q(reviewed_by__isnull=False),
                name="caption_edited_by_a_person",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["proposed", "in_review"]), name="caption_that_waits"),
            models.Index(fields=["id"], condition=Q(state="edited", name_model=""), name="caption_edit_unchecked"),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def redo(self) -> "CaptionRedo | None":
        """The other wording that was last asked for."""
        return max(self.redos.all(), key=lambda redo: redo.pk, default=None)

    @property
    def failed_in_words(self) -> list[str]:
        return [str(self.Check(check).label) for check in self.failed]

    @property
    def passes_now(self) -> bool:
        """Whether only earlier wordings failed."""
        return all(failure.attempt != self.attempt for failure in self.failures.all())

    @property
    def earlier_wordings(self) -> list[tuple[str, float | None]]:
        """Texts that failed before, other than the one it has now, with their similarity; newest first."""
        failures = sorted(self.failures.all(), key=lambda failure: -failure.attempt)
        similarities = {row.text: row.similarity for row in failures if row.text and row.text != self.text}
        return list(similarities.items())


class Rewriting(models.Model):
    """One order to rewrite what a corpus has not rewritten yet."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, related_name="rewritings", help_text="Where people see its progress."
    )
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="rewritings")
    provider = models.CharField(max_length=40, choices=Caption.Provider)
    model = models.CharField(max_length=100)
    prompt = models.ForeignKey(Prompt, models.PROTECT, null=True, related_name="rewritings")
    started_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True, help_text="Set while the provider does not answer.")
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus"], condition=Q(finished_at=None), name="rewriting_runs_once_per_corpus"
            ),
            models.CheckConstraint(condition=Q(provider__in=["rules", "openai"]), name="rewriting_provider_rewrites"),
        ]


class CaptionFailure(models.Model):
    """A wording that failed a check, as it was."""

    caption = models.ForeignKey(Caption, models.CASCADE, related_name="failures")
    attempt = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    failed = ArrayField(models.CharField(max_length=12, choices=Caption.Check))
    detail = models.CharField(max_length=300, blank=True)
    provider = models.CharField(max_length=40, choices=Caption.Provider)
    temperature = models.FloatField(null=True)
    similarity = models.FloatField(null=True)
    name_found = models.CharField(max_length=200, blank=True)
    name_score = models.FloatField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caption", "attempt"], name="caption_failure_once_per_attempt"),
            models.CheckConstraint(condition=~Q(failed=[]), name="caption_failure_names_a_check"),
        ]


class CaptionRedo(models.Model):
    """Another wording of a caption in review that a person asked for; a worker makes it."""

    caption = models.ForeignKey(Caption, models.PROTECT, related_name="redos")
    project = models.ForeignKey(Project, models.PROTECT, related_name="+")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True, help_text="Why there is no other wording.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["caption"], condition=Q(finished_at=None), name="caption_redo_one_at_work_per_caption"
            ),
            models.CheckConstraint(
                condition=Q(error="") | Q(finished_at__isnull=False), name="caption_redo_that_failed_is_finished"
            ),
        ]

    @property
    def is_at_work(self) -> bool:
        return self.finished_at is None


class CaptionReview(models.Model):
    """A person's decision about a caption, and the caption before it, so that it can be undone."""

    class Decision(models.TextChoices):
        ACCEPTED = "accepted"
        EDITED = "edited"
        REDONE = "redone"
        REJECTED = "rejected"

    caption = models.ForeignKey(Caption, models.PROTECT, related_name="reviews")
    actor = models.ForeignKey(User, models.PROTECT, related_name="+")
    decision = models.CharField(max_length=10, choices=Decision)
    before = models.JSONField(help_text="The caption's fields before the decision.")
    text = models.TextField(help_text="The caption's text after it.")
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(decision__in=["accepted", "edited", "redone", "rejected"]),
                name="caption_review_decision_is_known",
            )
        ]
