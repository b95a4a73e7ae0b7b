"""Searching for programs: ranked moments for typed words, and why."""

from typing import Any, cast
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant_by
from core.api import ApiView, Invalid, form_values
from core.api import Problem as REFUSED
from models_runner.search.forms import DEFAULT_MOMENTS, LONGEST_QUERY, MOST_MOMENTS, SearchForm
from models_runner.search.selectors import Shown, searchable, shown_hits
from models_runner.search.services import search_ask


class ReasonOutput(serializers.Serializer[Any]):
    """Scores of the video, and of each of its clips the probability that the moment starts and ends there."""

    video_score = serializers.FloatField(source="score")
    seen = serializers.FloatField(help_text="By what is seen.")
    heard = serializers.FloatField(help_text="By what is heard.")
    start = serializers.ListField(child=serializers.FloatField())
    end = serializers.ListField(child=serializers.FloatField())


class HitOutput(serializers.Serializer[Any]):
    """A moment; ``folded`` counts the worse ones that overlap it by half or more."""

    rank = serializers.IntegerField()
    video = serializers.CharField(source="hit.video")
    start_s = serializers.FloatField(source="hit.start_s")
    end_s = serializers.FloatField()
    score = serializers.FloatField(source="hit.score")
    folded = serializers.IntegerField(source="hit.folded")
    preview = serializers.SerializerMethodField(help_text="Of an annotated moment that it overlaps by 0.3 or more.")
    why = ReasonOutput()

    def get_preview(self, hit_view: Shown) -> UUID | None:
        return hit_view.seen.preview if hit_view.seen else None


class SearchOutput(serializers.Serializer[Any]):
    """Best first."""

    q = serializers.CharField()
    training = serializers.UUIDField(source="training.uuid")
    ms = serializers.FloatField(help_text="From asking the search worker to having its answer.")
    searched = serializers.IntegerField(source="answer.searched", help_text="Videos in the index.")
    clip_s = serializers.FloatField(source="answer.clip_s", help_text="Seconds of a clip.")
    hits = HitOutput(many=True)


class Search(ApiView):
    @extend_schema(
        operation_id="search",
        parameters=[
            OpenApiParameter("q", str, required=True, description=f"The query, of {LONGEST_QUERY} characters at most."),
            OpenApiParameter("training", UUID, description="A finished one; the newest if it is left out."),
            OpenApiParameter("limit", int, description=f"1 to {MOST_MOMENTS} moments; else {DEFAULT_MOMENTS}."),
            OpenApiParameter("every", bool, description="Give also moments that overlap a better one."),
        ],
        responses={200: SearchOutput, **dict.fromkeys((403, 409, 422, 503), REFUSED)},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Moments for a query, ranked by a trained checkpoint; 503 while it is being loaded: ask again."""
        project = grant_by(request, project_uuid, STAFF).project
        form_data = _parameters(request, project)
        result = search_ask(**form_data)
        answer, hits = result.answer, shown_hits(project, result.answer)
        return Response(SearchOutput({**form_data, "ms": result.ms, "answer": answer, "hits": hits}).data)


def _parameters(request: Request, project: Any) -> dict[str, Any]:
    query = cast(QueryDict, request.query_params).dict()
    if unknown := query.keys() - SearchForm.base_fields.keys():
        raise Invalid(f"There is no parameter {min(unknown)[:40]!r} here.")
    if "training" not in query and (newest := searchable(project).first()):
        query["training"] = str(newest.uuid)
    return form_values(SearchForm(query, project=project))
