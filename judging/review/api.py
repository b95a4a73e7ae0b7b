"""Endpoints of leads and admins: how far the project is, and the lead's decisions. Admins may look, leads decide."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant, grant_by, person_of
from accounts.models import Membership
from annotation.models import NamedQuerySet
from core.api import ApiView, ChoiceOfField, Invalid, Pages, Problem, WordsField, YesNoField, body_of, paged
from judging.models import Batch, BatchReview, Pair
from judging.projects import services
from judging.projects.overview import overview_counts
from judging.projects.selectors import query_sets_with_counts
from judging.review.selectors import rows_of
from judging.review.services import batch_review
from judging.work.services import pairs

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


class ProgressOutput(serializers.Serializer[Any]):
    batches = BatchCounts()
    pairs = PairCounts()
    judgments = serializers.IntegerField()
    simulated = serializers.IntegerField(help_text="Judgments of simulated annotators.")
    at_work = serializers.IntegerField(help_text="Assignments that are open.")
    waiting = serializers.IntegerField(help_text="Batches that wait for the lead's review.")
    flagged = serializers.IntegerField(help_text="Undecided pairs with a flag.")
    second_rounds = serializers.IntegerField(help_text="Open batches in their second round.")


class BatchOutput(serializers.ModelSerializer[Batch]):
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


class NamedValues(serializers.Serializer[Any]):
    """Values in the order of the fields."""

    def to_representation(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.fields, values, strict=True))


class GradeOutput(NamedValues):
    annotator = serializers.IntegerField(help_text="Annotator number.")
    grade = serializers.IntegerField()
    round = serializers.IntegerField()


@extend_schema_serializer(component_name="WarningOutput")
class FlagOutput(NamedValues):
    annotator = serializers.IntegerField(help_text="Annotator number.")
    flag = serializers.CharField(allow_blank=True, help_text="What was said to be wrong; empty for a comment.")
    words = serializers.CharField(allow_blank=True)


class JudgedPairOutput(serializers.ModelSerializer[Pair]):
    """A pair as its lead sees it."""

    rank = serializers.IntegerField(source="candidate.rank")
    relevance = serializers.IntegerField(allow_null=True)

    class Meta:
        model = Pair
        fields = ["uuid", "rank", "state", "relevance", "reason"]


class BatchPairOutput(serializers.Serializer[Any]):
    pair = JudgedPairOutput()
    grades = GradeOutput(many=True, help_text="Final ones.")
    remarks = FlagOutput(source="comments", many=True)


class BatchWithPairsOutput(BatchOutput):
    pairs = serializers.SerializerMethodField(help_text="Best rank first.")

    class Meta(BatchOutput.Meta):
        fields = [*BatchOutput.Meta.fields, "pairs"]

    @extend_schema_field(BatchPairOutput(many=True))
    def get_pairs(self, batch: Batch) -> Any:
        return BatchPairOutput(rows_of([batch])[batch.pk], many=True).data


class ReviewOutput(serializers.ModelSerializer[BatchReview]):
    class Meta:
        model = BatchReview
        fields = ["decision", "suggestion", "reason", "decided_at"]


class QuerySetOutput(serializers.ModelSerializer[NamedQuerySet]):
    """From ``selectors.query_sets_with_counts``."""

    priority = serializers.SerializerMethodField()
    paused = serializers.BooleanField(source="is_paused")
    pilot = serializers.BooleanField(source="is_pilot")
    queries = serializers.IntegerField(source="size")
    batches = BatchCounts(source="*", read_only=True)

    class Meta:
        model = NamedQuerySet
        fields = ["uuid", "name", "priority", "paused", "pilot", "queries", "batches"]

    @extend_schema_field(serializers.ChoiceField(choices=[name.lower() for name in NamedQuerySet.Priority.names]))
    def get_priority(self, query_set: NamedQuerySet) -> str:
        return NamedQuerySet.Priority(query_set.priority).name.lower()


class Withdrawal(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, help_text="Kept with the pair.")


class Restoration(serializers.Serializer[Any]):
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class Review(serializers.Serializer[Any]):
    decision = ChoiceOfField(choices=BatchReview.Decision.choices)
    reason = WordsField(max_length=LONGEST_REASON, required=False, allow_blank=True)


class QuerySetChange(serializers.Serializer[Any]):
    """Changes to a query set; what is left out stays."""

    priority = ChoiceOfField(choices=list(PRIORITIES), required=False)
    paused = YesNoField(required=False)
    pilot = YesNoField(required=False, help_text="A try-out: neither released nor paid unless chosen.")


DECIDED = dict.fromkeys((403, 404, 409, 422), Problem)


class Progress(ApiView):
    @extend_schema(operation_id="progress", responses={200: ProgressOutput, 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """How many batches, pairs and judgments there are, and what waits."""
        project = grant_by(request, project_uuid, STAFF).project
        return Response(ProgressOutput(overview_counts(project)).data)


class Batches(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="batches",
        parameters=[OpenApiParameter("state", str, enum=Batch.State.values, description="Only batches of this state.")],
        responses={200: BatchOutput(many=True), 403: Problem, 422: Problem},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Batches, newest first."""
        project = grant_by(request, project_uuid, STAFF).project
        queryset = Batch.objects.filter(project=project).select_related("query", "review")
        if (state := request.query_params.get("state")) is not None:
            if state not in Batch.State.values:
                raise Invalid(f"state: Choose one of {', '.join(Batch.State.values)}.")
            queryset = queryset.filter(state=state)
        return paged(request, self, queryset, BatchOutput)


class OneBatch(ApiView):
    @extend_schema(operation_id="batch", responses={200: BatchWithPairsOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, batch_uuid: UUID) -> Response:
        """One batch with its pairs by rank, and the grades behind each."""
        batch = get_object_or_404(Batch.objects.select_related("project", "query", "review"), uuid=batch_uuid)
        grant(request, batch.project, STAFF)
        return Response(BatchWithPairsOutput(batch).data)


class ReviewBatch(ApiView):
    @extend_schema(operation_id="batch_review", request=Review, responses={200: ReviewOutput, **DECIDED})
    def post(self, request: Request, batch_uuid: UUID) -> Response:
        """Extend the query by a second batch, or close it. The same decision again changes nothing."""
        batch = get_object_or_404(Batch.objects.select_related("project"), uuid=batch_uuid)
        grant(request, batch.project, LEAD)
        body = body_of(request, Review)
        extend, reason = body["decision"] == "extend", body.get("reason", "")
        review = batch_review(batch=batch, extend=extend, lead=person_of(request), reason=reason)
        return Response(ReviewOutput(review).data)


class Withdraw(ApiView):
    @extend_schema(operation_id="pair_withdraw", request=Withdrawal, responses={200: JudgedPairOutput, **DECIDED})
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Take a pair out: nobody is asked for it any more, and releases leave it out."""
        return decided(request, pair_uuid, pairs.pair_withdraw, Withdrawal)


class Restore(ApiView):
    @extend_schema(operation_id="pair_restore", request=Restoration, responses={200: JudgedPairOutput, **DECIDED})
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Undo a withdrawal: the pair becomes what its grades say."""
        return decided(request, pair_uuid, pairs.pair_restore, Restoration)


def decided(
    request: Request, pair_uuid: UUID, service: Callable[..., None], shape: type[serializers.Serializer[Any]]
) -> Response:
    """Carry out a lead's decision about a pair, and answer with the pair as it is then."""
    pair = get_object_or_404(Pair.objects.select_related("batch__project"), uuid=pair_uuid)
    grant(request, pair.batch.project, LEAD)
    service(pair=pair, lead=person_of(request), **body_of(request, shape))
    return Response(JudgedPairOutput(Pair.objects.select_related("candidate").get(pk=pair.pk)).data)


class QuerySets(ApiView):
    @extend_schema(operation_id="query_sets", responses={200: QuerySetOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """The project's query sets, those that go first on top."""
        project = grant_by(request, project_uuid, STAFF).project
        return Response(QuerySetOutput(query_sets_with_counts(project), many=True).data)


class QuerySet(ApiView):
    @extend_schema(operation_id="query_set", responses={200: QuerySetOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, set_uuid: UUID) -> Response:
        """One query set."""
        return self._as_it_is(self._granted(request, set_uuid, STAFF))

    @extend_schema(operation_id="query_set_change", request=QuerySetChange, responses={200: QuerySetOutput, **DECIDED})
    def patch(self, request: Request, set_uuid: UUID) -> Response:
        """Put a set first or last, pause it, make it a pilot. Assigned batches are finished in any case."""
        query_set = self._granted(request, set_uuid, LEAD)
        body = body_of(request, QuerySetChange)
        priority = body.get("priority")
        services.query_set_change(
            query_set=query_set,
            actor=person_of(request),
            priority=None if priority is None else PRIORITIES[priority],
            is_paused=body.get("paused"),
            is_pilot=body.get("pilot"),
        )
        return self._as_it_is(query_set)

    def _granted(self, request: Request, set_uuid: UUID, roles: frozenset[Membership.Role]) -> NamedQuerySet:
        query_set = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
        grant(request, query_set.project, roles)
        return query_set

    def _as_it_is(self, query_set: NamedQuerySet) -> Response:
        return Response(QuerySetOutput(query_sets_with_counts(query_set.project).get(pk=query_set.pk)).data)
