"""Rounds in which people write queries for clips: who has which clip, what they drafted, what they wrote."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from annotation.models import Description, Video
from judging.collection.rules import LEAST_TOKENS, MOST_OVERLAP, SHARES, TYPE_LABELS, TYPES, Checks, Entry


class QueryType(models.TextChoices):
    """Says what a query is about, as TVR's files name it."""

    VIDEO = "v", "Video"
    SUBTITLE = "t", "Subtitle"
    BOTH = "vt", "Video and subtitle"


class WritingRound(models.Model):
    """One pass over the clips of a project in which writers mark moments and write a query for each.

    All but its state and its members stays as it was made: queries are known to follow one rule.
    """

    class State(models.TextChoices):
        OPEN = "open"
        PAUSED = "paused"  # no clip is handed out; what is open goes on
        CLOSED = "closed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="writing_rounds")
    name = models.CharField(max_length=100)
    share_v = models.PositiveSmallIntegerField(default=SHARES["v"], help_text="Of queries about the video; 0: none.")
    share_t = models.PositiveSmallIntegerField(default=SHARES["t"], help_text="Of queries about the subtitles.")
    share_vt = models.PositiveSmallIntegerField(default=SHARES["vt"], help_text="Of queries about both.")
    queries_per_clip = models.PositiveSmallIntegerField(default=5, help_text="Of all writers together.")
    queries_per_visit = models.PositiveSmallIntegerField(default=1, help_text="Of one writer, each for a moment.")
    least_tokens = models.PositiveSmallIntegerField(default=LEAST_TOKENS, help_text="Words and signs of a query.")
    most_overlap = models.FloatField(default=MOST_OVERLAP, help_text="Share of words from which a line is copied.")
    state = models.CharField(max_length=6, choices=State, default=State.OPEN)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="writing_round_name_once_per_project",
                violation_error_message="There is a round of this name.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "paused", "closed"]), name="writing_round_state_is_known"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="writing_round_has_a_name"),
            models.CheckConstraint(
                condition=Q(share_v__lte=100, share_t__lte=100, share_vt__lte=100)
                & (Q(share_v__gt=0) | Q(share_t__gt=0) | Q(share_vt__gt=0)),
                name="writing_round_asks_for_a_type",
                violation_error_message="Shares go from 0 to 100, and one type at least has more than 0.",
            ),
            models.CheckConstraint(
                condition=Q(queries_per_visit__gte=1, queries_per_visit__lte=F("queries_per_clip"))
                & Q(queries_per_clip__lte=50),
                name="writing_round_has_1_to_50_queries_per_clip",
                violation_error_message="A clip gets 1 to 50 queries, and one writer as many at the most.",
            ),
            models.CheckConstraint(
                condition=Q(least_tokens__range=(1, 50), most_overlap__gt=0, most_overlap__lte=1),
                name="writing_round_checks_are_possible",
                violation_error_message="A query has at least 1 to 50 words, and the overlap is above 0 and at most 1.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shares(self) -> dict[str, int]:
        return {"v": self.share_v, "t": self.share_t, "vt": self.share_vt}

    @property
    def types(self) -> tuple[str, ...]:
        """The types it asks for, in the order of TYPES."""
        return tuple(type_ for type_ in TYPES if self.shares[type_])

    @property
    def type_labels(self) -> list[str]:
        return [TYPE_LABELS[type_] for type_ in self.types]

    @property
    def checks(self) -> Checks:
        return Checks(self.types, self.least_tokens, self.most_overlap)


class WritingRoundMember(models.Model):
    """A writer who takes part in a round; a round without any is for all writers of the project."""

    round = models.ForeignKey(WritingRound, models.CASCADE, related_name="members")
    writer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["round", "writer"], name="writing_round_member_once"),
        ]


class WriterStop(models.Model):
    """A writer who gets no clip any more, by the policy or by a lead, until a lead lets them go on."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="writer_stops")
    writer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="writer_stops")
    reason = models.CharField(max_length=300)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", help_text="Empty: by the policy."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True, help_text="From then on, checks are counted anew.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "writer"], condition=Q(ended_at__isnull=True), name="writer_stop_once_at_a_time"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="writer_stop_says_why"),
        ]

    def __str__(self) -> str:
        return self.reason


class WritingClip(models.Model):
    """One clip of a round, a whole video, and how many queries it has by now."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"  # it has its queries
        EXHAUSTED = "exhausted"  # a writer found nothing more in it
        RETIRED = "retired"  # its video may not be shown any more

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    round = models.ForeignKey(WritingRound, models.PROTECT, related_name="clips")
    video = models.ForeignKey(Video, models.PROTECT, related_name="writing_clips")
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    n_queries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["round", "video"], name="writing_clip_once_per_round"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "done", "exhausted", "retired"]),
                name="writing_clip_state_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["round", "-n_queries", "id"], condition=Q(state="open"), name="writing_clip_to_be_taken"
            )
        ]

    def __str__(self) -> str:
        return f"clip {self.uuid}"


class ClipAssignment(models.Model):
    """A clip in the hands of one writer until its lease ends, with what they drafted for it."""

    class State(models.TextChoices):
        OPEN = "open"
        FINISHED = "finished"  # its queries are written
        EXHAUSTED = "exhausted"  # by the writer's word there is nothing more in the clip
        RETURNED = "returned"
        LAPSED = "lapsed"  # its writer may have the clip again, while nobody else has it
        SENT_BACK = "sent_back"  # a checker rejected a query, and its writer may write it anew

    ENDED = (State.FINISHED, State.EXHAUSTED, State.RETURNED, State.SENT_BACK)

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="clip_assignments")
    clip = models.ForeignKey(WritingClip, models.PROTECT, related_name="assignments")
    writer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="clip_assignments")
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    type_requested = models.CharField(max_length=2, choices=QueryType, help_text="What the round needs most.")
    n_queries = models.PositiveSmallIntegerField(default=0, help_text="Written under it; rejected ones do not count.")
    n_sent_back = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Rejected queries whose place in the clip is kept for its writer."
    )
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    draft_text = models.CharField(max_length=2000, blank=True)
    draft_type = models.CharField(max_length=2, choices=QueryType, blank=True)
    draft_start_s = models.FloatField(null=True)
    draft_end_s = models.FloatField(null=True)
    draft_version = models.PositiveIntegerField(default=0, help_text="Of a page that is older, nothing is saved.")
    writing_since = models.DateTimeField(null=True, help_text="When it was opened, or its last query submitted.")
    empty_ms = models.PositiveIntegerField(null=True, help_text="Active time that ended without a query.")
    empty_at = models.DateTimeField(null=True, help_text="When that time ended.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["clip", "writer"], name="clip_assignment_once_per_clip_and_writer"),
            models.UniqueConstraint(
                fields=["clip"], condition=Q(state="open"), name="clip_assignment_open_once_per_clip"
            ),
            models.UniqueConstraint(
                fields=["project", "writer"], condition=Q(state="open"), name="clip_assignment_open_once_per_writer"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "finished", "exhausted", "returned", "lapsed", "sent_back"]),
                name="clip_assignment_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(state="sent_back", n_sent_back__gte=1, n_sent_back__lte=F("n_queries"))
                | (~Q(state="sent_back") & Q(n_sent_back=0)),
                name="clip_assignment_sent_back_has_queries",
            ),
            models.CheckConstraint(
                condition=Q(state="open", ended_at__isnull=True) | (~Q(state="open") & Q(ended_at__isnull=False)),
                name="clip_assignment_ended_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(type_requested__in=["v", "t", "vt"], draft_type__in=["", "v", "t", "vt"]),
                name="clip_assignment_types_are_known",
            ),
            models.CheckConstraint(
                condition=Q(empty_ms__isnull=True, empty_at__isnull=True)
                | Q(empty_ms__isnull=False, empty_at__isnull=False),
                name="clip_assignment_empty_time_has_its_day",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "expires_at"], condition=Q(state="open"), name="clip_assignment_by_lease")
        ]

    def __str__(self) -> str:
        return f"assignment {self.uuid}"

    @property
    def has_draft(self) -> bool:
        return bool(self.draft_text) or self.draft_start_s is not None or self.draft_end_s is not None


class WrittenQuery(models.Model):
    """A query that a writer submitted for a moment of a clip; its span and words, as they were submitted.

    An accepted one is a description of the corpus.
    """

    class State(models.TextChoices):
        WAITING = "waiting"  # to be checked
        ACCEPTED = "accepted"
        SENT_BACK = "sent_back", "sent back"  # rejected; its writer may write another one for the clip
        REJECTED = "rejected"  # its place in the clip is somebody else's

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    assignment = models.ForeignKey(ClipAssignment, models.PROTECT, related_name="queries")
    clip = models.ForeignKey(WritingClip, models.PROTECT, related_name="queries")
    writer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="written_queries")
    key = models.UUIDField(unique=True, help_text="Of the form: sent twice, it is one query.")
    text = models.CharField(max_length=500)
    type = models.CharField(max_length=2, choices=QueryType)
    start_s = models.FloatField()
    end_s = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING, db_default=State.WAITING.value)
    description = models.OneToOneField(
        Description, models.PROTECT, null=True, related_name="written_query", help_text="Of an accepted query."
    )
    checker = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", help_text="Who looks at it now."
    )
    checker_until = models.DateTimeField(null=True)
    checker_since = models.DateTimeField(null=True, help_text="When the checker who looks at it got it.")
    active_ms = models.PositiveIntegerField(null=True, help_text="How long its clip was before its writer for it.")

    class Meta:
        verbose_name_plural = "written queries"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="written_query_has_words"),
            models.CheckConstraint(condition=Q(type__in=["v", "t", "vt"]), name="written_query_type_is_known"),
            models.CheckConstraint(
                condition=Q(start_s__gte=0, start_s__lt=F("end_s")), name="written_query_starts_before_end"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "sent_back", "rejected"], description__isnull=True)
                | Q(state="accepted", description__isnull=False),
                name="written_query_accepted_is_described",
            ),
            models.CheckConstraint(
                condition=Q(checker__isnull=True, checker_until__isnull=True)
                | Q(checker__isnull=False, checker_until__isnull=False, state="waiting"),
                name="written_query_looked_at_waits",
            ),
        ]
        indexes = [models.Index(fields=["id"], condition=Q(state="waiting"), name="written_query_waiting")]

    def __str__(self) -> str:
        return self.text

    @property
    def is_anew(self) -> bool:
        """Whether its writer has written another query in its place after it was sent back."""
        return self.state == self.State.SENT_BACK and self.assignment.state == ClipAssignment.State.FINISHED

    @property
    def entry(self) -> Entry:
        return Entry(self.text, self.type, self.start_s, self.end_s)
