"""Endpoints of leads and admins: how far the project is, and the lead's decisions. Admins may look, leads decide."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant, grant_by, person_of
from accounts.models import Membership
from annotation.models import NamedQuerySet
from core.api import ApiView, Invalid, Pages, Problem, body_of, paged
from judging.models import Batch, Pair
from judging.projects import services
from judging.projects.overview import overview_counts
from judging.projects.selectors import query_sets_with_counts
from judging.review import serializers
from judging.review.selectors import batch_rows
from judging.work.services import batches, pairs

REFUSED = Problem
DECIDED = {403: REFUSED, 404: REFUSED, 409: REFUSED, 422: REFUSED}


class Progress(ApiView):
    @extend_schema(operation_id="progress", responses={200: serializers.ProgressGiven, 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """How many batches, pairs and judgments there are, and what waits."""
        project = grant_by(request, project_uuid, STAFF).project
        return Response(serializers.ProgressGiven(overview_counts(project)).data)


class Batches(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="batches",
        parameters=[
            OpenApiParameter("state", str, enum=Batch.State.values, description="Only batches of this state."),
            OpenApiParameter("cursor", str, description="As in ``next`` of the page before."),
        ],
        responses={200: serializers.BatchGiven(many=True), 403: REFUSED, 422: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Batches, newest first."""
        project = grant_by(request, project_uuid, STAFF).project
        found = Batch.objects.filter(project=project).select_related("query", "review")
        if (state := request.query_params.get("state")) is not None:
            if state not in Batch.State.values:
                raise Invalid(f"state: Choose one of {', '.join(Batch.State.values)}.")
            found = found.filter(state=state)
        return paged(request, self, found, serializers.BatchGiven)


class OneBatch(ApiView):
    @extend_schema(operation_id="batch", responses={200: serializers.BatchWithPairsGiven, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, batch_uuid: UUID) -> Response:
        """One batch with its pairs by rank, and the grades behind each."""
        batch = get_object_or_404(Batch.objects.select_related("project", "query", "review"), uuid=batch_uuid)
        grant(request, batch.project, STAFF)
        rows = batch_rows(batch)
        return Response(serializers.BatchWithPairsGiven(batch, context={"request": request, "rows": rows}).data)


class Review(ApiView):
    @extend_schema(
        operation_id="batch_review", request=serializers.Review, responses={200: serializers.ReviewGiven, **DECIDED}
    )
    def post(self, request: Request, batch_uuid: UUID) -> Response:
        """Extend the query by a second batch, or close it. The same decision again changes nothing."""
        batch = get_object_or_404(Batch.objects.select_related("project"), uuid=batch_uuid)
        grant(request, batch.project, LEAD)
        body = body_of(request, serializers.Review)
        extend = body["decision"] == "extend"
        review = batches.batch_review(
            batch=batch, extend=extend, lead=person_of(request), reason=body.get("reason", "")
        )
        return Response(serializers.ReviewGiven(review).data)


class Withdraw(ApiView):
    @extend_schema(
        operation_id="pair_withdraw",
        request=serializers.Withdrawal,
        responses={200: serializers.JudgedPairGiven, **DECIDED},
    )
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Take a pair out: nobody is asked for it any more, and releases leave it out."""
        pair = pair_of_lead(request, pair_uuid)
        body = body_of(request, serializers.Withdrawal)
        pairs.pair_withdraw(pair=pair, lead=person_of(request), **body)
        return pair_as_it_is(pair)


class Restore(ApiView):
    @extend_schema(
        operation_id="pair_restore",
        request=serializers.Restoration,
        responses={200: serializers.JudgedPairGiven, **DECIDED},
    )
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Undo a withdrawal: the pair becomes what its grades say."""
        pair = pair_of_lead(request, pair_uuid)
        body = body_of(request, serializers.Restoration)
        pairs.pair_restore(pair=pair, lead=person_of(request), **body)
        return pair_as_it_is(pair)


def pair_of_lead(request: Request, pair_uuid: UUID) -> Pair:
    pair = get_object_or_404(Pair.objects.select_related("batch__project"), uuid=pair_uuid)
    grant(request, pair.batch.project, LEAD)
    return pair


def pair_as_it_is(pair: Pair) -> Response:
    return Response(serializers.JudgedPairGiven(Pair.objects.select_related("candidate").get(pk=pair.pk)).data)


class QuerySets(ApiView):
    @extend_schema(operation_id="query_sets", responses={200: serializers.QuerySetGiven(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """The project's query sets, those that go first on top."""
        project = grant_by(request, project_uuid, STAFF).project
        return Response(serializers.QuerySetGiven(query_sets_with_counts(project), many=True).data)


class QuerySet(ApiView):
    @extend_schema(operation_id="query_set", responses={200: serializers.QuerySetGiven, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, set_uuid: UUID) -> Response:
        """One query set."""
        return self._as_it_is(self._granted(request, set_uuid, STAFF))

    @extend_schema(
        operation_id="query_set_change",
        request=serializers.QuerySetChange,
        responses={200: serializers.QuerySetGiven, **DECIDED},
    )
    def patch(self, request: Request, set_uuid: UUID) -> Response:
        """Put a set first or last, pause it, make it a pilot. Batches in somebody's hands are finished in any case."""
        held = self._granted(request, set_uuid, LEAD)
        body = body_of(request, serializers.QuerySetChange)
        priority = body.get("priority")
        services.query_set_change(
            query_set=held,
            actor=person_of(request),
            priority=None if priority is None else serializers.PRIORITIES[priority],
            is_paused=body.get("paused"),
            is_pilot=body.get("pilot"),
        )
        return self._as_it_is(held)

    def _granted(self, request: Request, set_uuid: UUID, roles: frozenset[Membership.Role]) -> NamedQuerySet:
        held = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
        grant(request, held.project, roles)
        return held

    def _as_it_is(self, query_set: NamedQuerySet) -> Response:
        return Response(serializers.QuerySetGiven(query_sets_with_counts(query_set.project).get(pk=query_set.pk)).data)
