"""Features, to be found by programs; they are made on their page or in the shell."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import benchmark_runners, grant_by
from core.api import ApiView, Pages, paged
from core.api import Problem as REFUSED
from models_runner.models import FeatureSet


class FindingGiven(serializers.Serializer[object]):
    """One thing that is wrong with a file; training fails on those that are fatal."""

    kind = serializers.CharField()
    trouble = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField(), help_text="The first of them.")
    detail = serializers.CharField()
    fatal = serializers.BooleanField()
    text = serializers.CharField()


class FeatureSetGiven(serializers.ModelSerializer[FeatureSet]):
    """``done`` and ``total`` count what ``step`` is at; ``fit`` says whether training can be done with it."""

    findings = FindingGiven(many=True)
    fit = serializers.BooleanField(source="is_fit")

    class Meta:
        model = FeatureSet
        fields = [
            *("uuid", "name", "kind", "extractor", "model", "made_by", "path", "width", "n_items", "checksum"),
            *("state", "step", "done", "total", "error", "n_failed", "reasons", "findings", "fit"),
            *("created_at", "finished_at"),
        ]


class FeatureSets(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="features",
        responses={200: FeatureSetGiven(many=True), 403: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Features of the project, newest first, and how far those at work are; for who may start benchmark runs."""
        project = grant_by(request, project_uuid, benchmark_runners).project
        return paged(request, self, FeatureSet.objects.filter(project=project), FeatureSetGiven)
