"""What the endpoints of leads and admins take and answer."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import NamedQuerySet
from core.api import ChoiceOfField, WordsField, YesNoField
from judging.models import Batch, BatchReview, Pair

LONGEST_REASON = 1000
PRIORITIES = {priority.name.lower(): priority.value for priority in NamedQuerySet.Priority}


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
