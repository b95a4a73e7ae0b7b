"""What endpoints give. Annotators get nothing here that the judging page does not show them.

What endpoints take.
"""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.reverse import reverse

from accounts.models import Membership
from annotation.models import NamedQuerySet
from core.api.fields import ChoiceOfField, CountField, GradeField, KeyField, WordsField, YesNoField
from judging.models import Batch, BatchReview, Flag, OwnGrade, Pair
from judging.work.selectors.held import Held
from judging.work.services.judgments import WORDS, Answer


class ProjectGiven(serializers.ModelSerializer[Membership]):
    uuid = serializers.UUIDField(source="project.uuid")
    name = serializers.CharField(source="project.name")

    class Meta:
        model = Membership
        fields = ["uuid", "name", "role", "number"]


class PreviewsGiven(serializers.Serializer[Any]):
    """Addresses that open with the same token."""

    gif = serializers.URLField()
    mp4 = serializers.URLField(allow_null=True)


def previews(request: Any, preview: UUID, *, has_clip: bool) -> dict[str, str | None]:
    return {
        "gif": reverse("api:preview-gif", [preview], request=request),
        "mp4": reverse("api:preview-mp4", [preview], request=request) if has_clip else None,
    }


class PairGiven(serializers.Serializer[Any]):
    """A pair as its judge sees it; grade, comment and flag are their own."""

    uuid = serializers.UUIDField(source="card.uuid")
    position = serializers.IntegerField(help_text="Place in the order shown, from 1.")
    key = serializers.UUIDField(help_text="Goes with the next grade for this pair.")
    previews = serializers.SerializerMethodField()
    grade = serializers.IntegerField(source="card.grade", allow_null=True)
    comment = serializers.CharField(source="card.comment", allow_null=True)
    flag = serializers.ChoiceField(source="card.flag", choices=Flag.Reason.choices, allow_null=True)
    flag_comment = serializers.CharField(source="card.flag_comment", allow_null=True)
    withdrawn = serializers.BooleanField(source="card.withdrawn", help_text="Needs no grade any more.")

    @extend_schema_field(PreviewsGiven)
    def get_previews(self, pair: dict[str, Any]) -> dict[str, str | None]:
        return previews(self.context["request"], pair["card"].preview, has_clip=pair["card"].has_clip)


class LevelGiven(serializers.Serializer[Any]):
    grade = serializers.IntegerField()
    meaning = serializers.CharField()


class AssignmentGiven(serializers.Serializer[Any]):
    query = serializers.CharField()
    levels = LevelGiven(many=True)
    lease_ends_at = serializers.DateTimeField()
    pairs = PairGiven(many=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")
    next = serializers.UUIDField(allow_null=True, help_text="The first of them.")


def pair_shown(held: Held, index: int) -> dict[str, Any]:
    card = held.cards[index]
    return {"card": card, "position": index + 1, "key": held.key_of(card)}


def assignment(held: Held) -> dict[str, Any]:
    index = held.next_index()
    return {
        "query": held.query,
        "levels": [{"grade": grade, "meaning": meaning} for grade, meaning in enumerate(held.levels)],
        "lease_ends_at": held.expires_at,
        "pairs": [pair_shown(held, index) for index in range(len(held.cards))],
        "left": len(held.cards) - held.answered,
        "next": None if index is None else held.cards[index].uuid,
    }


class AnswerGiven(serializers.Serializer[Any]):
    """The pair as it is stored now, and the one to show next: null when all are answered."""

    pair = PairGiven()
    next = PairGiven(allow_null=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")


def answer(given: Answer, pair: UUID) -> dict[str, Any]:
    held = given.held
    return {
        "pair": pair_shown(held, held.index_of(pair)),
        "next": None if given.index is None else pair_shown(held, given.index),
        "left": len(held.cards) - held.answered,
    }


class LeaseGiven(serializers.Serializer[Any]):
    lease_ends_at = serializers.DateTimeField()


class FinishedGiven(serializers.Serializer[Any]):
    finished = serializers.BooleanField(help_text="False: nothing was held, as after an earlier request.")


class ReturnedGiven(serializers.Serializer[Any]):
    returned = serializers.BooleanField(help_text="False: nothing was held, as after an earlier request.")


class OwnJudgmentGiven(serializers.ModelSerializer[OwnGrade]):
    """A final grade of one's own; never how the pair was settled."""

    pair = serializers.UUIDField(source="pair.uuid")
    query = serializers.CharField(source="pair.batch.query.text")
    given_at = serializers.DateTimeField(source="created_at")
    previews = serializers.SerializerMethodField()

    class Meta:
        model = OwnGrade
        fields = ["pair", "query", "grade", "comment", "given_at", "previews"]

    @extend_schema_field(PreviewsGiven)
    def get_previews(self, judgment: OwnGrade) -> dict[str, str | None]:
        moment = judgment.pair.candidate.moment
        return previews(self.context["request"], moment.preview_uuid, has_clip=bool(moment.preview_clip))


class BatchCounts(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    done = serializers.IntegerField()


class PairCounts(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    escalated = serializers.IntegerField()
    settled = serializers.IntegerField()
    dropped = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


class ProgressGiven(serializers.Serializer[Any]):
    batches = BatchCounts()
    pairs = PairCounts()
    judgments = serializers.IntegerField()
    simulated = serializers.IntegerField(help_text="Judgments of simulated annotators.")
    at_work = serializers.IntegerField(help_text="Assignments that are open.")
    waiting = serializers.IntegerField(help_text="Batches that wait for the lead's review.")
    flagged = serializers.IntegerField(help_text="Undecided pairs with a flag.")
    second_rounds = serializers.IntegerField(help_text="Open batches in their second round.")


class BatchGiven(serializers.ModelSerializer[Batch]):
    query = serializers.CharField(source="query.text")
    query_number = serializers.IntegerField(source="query.number", help_text="query_id in released files.")
    pilot = serializers.BooleanField(source="is_pilot", help_text="Neither released nor paid unless chosen.")
    decision = serializers.ChoiceField(
        source="review.decision", choices=BatchReview.Decision.choices, allow_null=True, default=None
    )

    class Meta:
        model = Batch
        fields = [
            *("uuid", "query", "query_number", "number", "round", "state"),
            *("pilot", "created_at", "done_at", "decision"),
        ]


class GradeGiven(serializers.Serializer[Any]):
    annotator = serializers.IntegerField(help_text="Annotator number.")
    grade = serializers.IntegerField()
    round = serializers.IntegerField()


class RemarkGiven(serializers.Serializer[Any]):
    annotator = serializers.IntegerField(help_text="Annotator number.")
    flag = serializers.CharField(allow_blank=True, help_text="What was said to be wrong; empty for a comment.")
    words = serializers.CharField(allow_blank=True)


class JudgedPairGiven(serializers.ModelSerializer[Pair]):
    """A pair as its lead sees it."""

    rank = serializers.IntegerField(source="candidate.rank")
    relevance = serializers.IntegerField(allow_null=True)

    class Meta:
        model = Pair
        fields = ["uuid", "rank", "state", "relevance", "reason"]


class BatchPairGiven(serializers.Serializer[Any]):
    pair = JudgedPairGiven()
    grades = GradeGiven(many=True, help_text="Final ones.")
    remarks = RemarkGiven(many=True)


class BatchWithPairsGiven(BatchGiven):
    pairs = serializers.SerializerMethodField(help_text="Best rank first.")

    class Meta(BatchGiven.Meta):
        fields = [*BatchGiven.Meta.fields, "pairs"]

    @extend_schema_field(BatchPairGiven(many=True))
    def get_pairs(self, batch: Batch) -> Any:
        return BatchPairGiven([batch_pair(row) for row in self.context["rows"]], many=True).data


def batch_pair(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ``selectors.batch_rows`` with names instead of places."""
    return {
        "pair": row["pair"],
        "grades": [{"annotator": who, "grade": grade, "round": number} for who, grade, number in row["grades"]],
        "remarks": [{"annotator": who, "flag": flag, "words": words} for who, flag, words in row["said"]],
    }


class ReviewGiven(serializers.ModelSerializer[BatchReview]):
    class Meta:
        model = BatchReview
        fields = ["decision", "suggestion", "reason", "decided_at"]


class QuerySetGiven(serializers.ModelSerializer[NamedQuerySet]):
    """From ``selectors.query_sets_with_counts``."""

    priority = serializers.SerializerMethodField()
    paused = serializers.BooleanField(source="is_paused")
    pilot = serializers.BooleanField(source="is_pilot")
    queries = serializers.IntegerField(source="size")
    batches = serializers.SerializerMethodField()

    class Meta:
        model = NamedQuerySet
        fields = ["uuid", "name", "priority", "paused", "pilot", "queries", "batches"]

    @extend_schema_field(serializers.ChoiceField(choices=[name.lower() for name in NamedQuerySet.Priority.names]))
    def get_priority(self, query_set: NamedQuerySet) -> str:
        return NamedQuerySet.Priority(query_set.priority).name.lower()

    @extend_schema_field(BatchCounts)
    def get_batches(self, query_set: Any) -> dict[str, int]:
        return {"open": query_set.open, "done": query_set.done}


LONGEST_REASON = 1000
PRIORITIES = {priority.name.lower(): priority.value for priority in NamedQuerySet.Priority}


class Nothing(serializers.Serializer[Any]):
    """No field at all."""


class Grade(serializers.Serializer[Any]):
    grade = GradeField()
    key = KeyField(help_text="The key of the pair as it was read; a request may be sent again with the same key.")
    comment = WordsField(
        max_length=WORDS,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Replaces the comment there is; left out or null leaves it.",
    )
    active_ms = CountField(
        required=False,
        allow_null=True,
        help_text="Milliseconds that the pair was before the annotator; left out, the time since the last answer.",
    )


class FlagRaised(serializers.Serializer[Any]):
    reason = ChoiceOfField(choices=Flag.Reason.choices)
    comment = WordsField(max_length=WORDS, required=False, allow_blank=True)
    key = KeyField(required=False, help_text="The key of the pair as it was read, so that a repeat is known as one.")


class Withdrawal(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, help_text="Kept with the pair.")


class Restoration(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class Review(serializers.Serializer[Any]):
    decision = ChoiceOfField(choices=BatchReview.Decision.choices)
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class QuerySetChange(serializers.Serializer[Any]):
    """What is left out stays."""

    priority = ChoiceOfField(choices=list(PRIORITIES), required=False)
    paused = YesNoField(required=False)
    pilot = YesNoField(required=False, help_text="A try-out: neither released nor paid unless chosen.")
