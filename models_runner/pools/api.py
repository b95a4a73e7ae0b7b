"""Pools for programs: plan one from runs, see what it would add, open it or discard it."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant, grant_by, person_of
from annotation.models import Pooling, Query
from annotation.pools.rules import IOU_MIN, JOIN_IOU, RUN_DEPTH
from annotation.pools.services.new_moments import new_moments_of
from annotation.pools.services.poolings import pooling_discard
from core.api import (
    ApiView,
    ChoiceOfField,
    Invalid,
    KeyField,
    Nothing,
    Pages,
    Problem,
    YesNoField,
    body_of,
    form_values,
    paged,
)
from judging.studies.selectors import pool_report, pooled_progress
from judging.studies.services import pool_open_request
from models_runner.pools.forms import ALL, SET, SPLIT, PoolForm
from models_runner.pools.services import pool_request

POOLINGS = Pooling.objects.filter(seed=None)  # coverage studies have a page of their own


class PoolOutput(serializers.ModelSerializer[Pooling]):
    """A pool of runs; one that is ready waits to be opened or discarded."""

    query_set = serializers.UUIDField(source="query_set.uuid", default=None, allow_null=True)
    sources: Any = serializers.SlugRelatedField(slug_field="name", many=True, read_only=True)

    class Meta:
        model = Pooling
        fields = [
            *("uuid", "sources", "depth", "iou_min", "makes_moments", "most", "mixing", "split", "query_set"),
            *("state", "error", "created_at", "opened_at"),
        ]


class CountsOutput(serializers.Serializer[Any]):
    """Counts of what all runs returned within the depth, each moment once."""

    queries = serializers.IntegerField()
    spans = serializers.IntegerField()
    unmatched = serializers.IntegerField(help_text="Spans that overlap no moment of the corpus enough and become none.")
    new_moments = serializers.IntegerField(help_text="Moments made of spans, or to be made when the pool is opened.")
    without_preview = serializers.IntegerField()
    moments = serializers.IntegerField()
    in_similarity = serializers.IntegerField(help_text="Moments that were ranked by similarity already.")
    in_earlier_pools = serializers.IntegerField()
    new = serializers.IntegerField()
    surplus = serializers.IntegerField(help_text="New ones beyond the most that a query gets, which are not judged.")
    to_judge = serializers.IntegerField()
    batches = serializers.IntegerField()


class PoolProgressOutput(serializers.Serializer[Any]):
    pairs = serializers.IntegerField()
    decided = serializers.IntegerField()
    batches = serializers.IntegerField()
    batches_done = serializers.IntegerField(source="done")


class PoolWithReportOutput(PoolOutput):
    """``report`` is null until the runs are read; ``progress`` is null until the pool is opened."""

    report = CountsOutput(allow_null=True)
    progress = PoolProgressOutput(allow_null=True)

    class Meta(PoolOutput.Meta):
        fields = [*PoolOutput.Meta.fields, "report", "progress"]


class PoolInput(serializers.Serializer[Any]):
    runs = serializers.ListField(child=KeyField(), required=False, help_text="UUIDs of scored runs of the project.")
    features = serializers.ListField(
        child=KeyField(),
        required=False,
        help_text="UUIDs of features of videos; features of queries by the text half of their model are there, too.",
    )
    depth = serializers.IntegerField(required=False, help_text=f"So many of each run; {RUN_DEPTH} if left out.")
    iou_min = serializers.FloatField(
        required=False,
        help_text=f"Overlap from which a span stands for a moment; left out {IOU_MIN}, or {JOIN_IOU} to make some.",
    )
    makes_moments = YesNoField(required=False, help_text="Spans that fit no moment become moments when it is opened.")
    most = serializers.IntegerField(required=False, help_text="New candidates of a query at most; all if left out.")
    mixing = ChoiceOfField(
        Pooling.Mixing.values,
        required=False,
        help_text="Which go first: the best rank in any run, or one of each run in turn; rank if left out.",
    )
    split = ChoiceOfField([Query.Split.VAL.value, Query.Split.TEST.value], required=False)
    query_set = KeyField(required=False, help_text="Only queries of this set; or name a split, or neither for all.")


def report_given(pooling: Pooling) -> Response:
    """Answer with a pool, its report and its progress."""
    has_report = pooling.state in (Pooling.State.READY, Pooling.State.OPENING, Pooling.State.DONE)
    report = pool_report(pooling) if has_report else None
    counts: dict[str, int] | None = None
    if report:
        counts = {**report.union._asdict(), "to_judge": report.union.to_judge, "batches": report.batches}
        counts["new_moments"] = new_moments_of(pooling).count()
    pooling.report = counts  # type: ignore[attr-defined]
    pooling.progress = pooled_progress(pooling) if pooling.is_opened else None  # type: ignore[attr-defined]
    return Response(PoolWithReportOutput(pooling).data)


class Pools(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="pools", responses={200: PoolOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Pools of the project, newest first, discarded ones left out."""
        project = grant_by(request, project_uuid, STAFF).project
        rows = POOLINGS.filter(project=project).exclude(state=Pooling.State.DISCARDED)
        return paged(request, self, rows.select_related("query_set").prefetch_related("sources"), PoolOutput)

    @extend_schema(
        operation_id="pool_plan",
        request=PoolInput,
        responses={201: PoolOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Have a worker plan a pool from runs and features: ask until its state says ready, then open it."""
        project = grant_by(request, project_uuid, STAFF).project
        body = body_of(request, PoolInput)
        split, query_set = body.pop("split", None), body.pop("query_set", None)
        if split and query_set:
            raise Invalid("query_set: Name a split or a query set, not both.")
        which = f"{SPLIT}{split}" if split else f"{SET}{query_set}" if query_set else ALL
        sources = {name: [str(uuid) for uuid in body.pop(name, [])] for name in ("runs", "features")}
        form = PoolForm({"depth": RUN_DEPTH, **body, **sources, "which": which}, project=project)
        form_values(form)
        pooling = pool_request(
            project=project,
            runs=form.chosen(),
            features=form.pairs(),
            scope=form.scope(),
            actor=person_of(request),
        )
        return Response(PoolOutput(pooling).data, status=201)


class OnePool(ApiView):
    @extend_schema(operation_id="pool", responses={200: PoolWithReportOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, pooling_uuid: UUID) -> Response:
        """One pool: what it would add to be judged, or how far that is."""
        return report_given(pool_granted(request, pooling_uuid))


CHANGED: dict[int, Any] = {200: PoolWithReportOutput, **dict.fromkeys((403, 404, 409, 422), Problem)}


class OpenPool(ApiView):
    @extend_schema(operation_id="pool_open", request=Nothing, responses=CHANGED)
    def post(self, request: Request, pooling_uuid: UUID) -> Response:
        """Open a pool that is ready: its new pairs are judged. Opening it again changes nothing."""
        pooling = pool_granted(request, pooling_uuid)
        body_of(request, Nothing)
        pool_open_request(pooling=pooling, actor=person_of(request))
        pooling.refresh_from_db()
        return report_given(pooling)


class DiscardPool(ApiView):
    @extend_schema(operation_id="pool_discard", request=Nothing, responses=CHANGED)
    def post(self, request: Request, pooling_uuid: UUID) -> Response:
        """Discard a plan; nothing of it is judged."""
        pooling = pool_granted(request, pooling_uuid)
        body_of(request, Nothing)
        pooling_discard(pooling=pooling)
        pooling.refresh_from_db()
        return report_given(pooling)


def pool_granted(request: Request, pooling_uuid: UUID) -> Pooling:
    """Return a pool to leads and admins of its project."""
    rows = POOLINGS.select_related("project", "query_set").prefetch_related("sources")
    pooling = get_object_or_404(rows, uuid=pooling_uuid)
    grant(request, pooling.project, STAFF)
    return pooling
