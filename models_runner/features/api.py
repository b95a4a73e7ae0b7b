"""Features for programs: made, added, watched, cancelled, resumed, deleted."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import benchmark_runners, grant, grant_by, person_of
from core.api import ApiView, ChoiceOfField, Invalid, Nothing, Pages, WordsField, body_of, form_values, paged
from core.api import Problem as REFUSED
from models_runner.features import services
from models_runner.features.forms import EXTRACTIONS, ExtractionForm, FileForm
from models_runner.models import FeatureSet


class FindingOutput(serializers.Serializer[object]):
    """One thing that is wrong with a file; training fails on those that are fatal."""

    kind = serializers.CharField()
    trouble = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField(), help_text="The first of them.")
    detail = serializers.CharField()
    fatal = serializers.BooleanField()
    text = serializers.CharField()


class FeatureSetOutput(serializers.ModelSerializer[FeatureSet]):
    """``done`` and ``total`` count what ``step`` is at; ``fit`` says whether training can be done with it."""

    findings = FindingOutput(many=True)
    attributes = serializers.DictField(required=False, help_text="How the features were made, as the file says.")
    fit = serializers.BooleanField(source="is_fit")

    class Meta:
        model = FeatureSet
        fields = [
            *("uuid", "name", "kind", "extractor", "model", "made_by", "path", "width", "n_items", "checksum"),
            "attributes",
            *("state", "step", "done", "total", "error", "n_failed", "reasons", "findings", "fit"),
            *("created_at", "finished_at"),
        ]


class FeatureSetInput(serializers.Serializer[Any]):
    """Features to make; or, by the extractor ``file``, an official file to add."""

    kind = ChoiceOfField(FeatureSet.Kind.choices, help_text="Features of what.")
    extractor = ChoiceOfField(FeatureSet.Extractor.choices)
    model = WordsField(required=False, help_text="For extractors that take one: a name on the hub, or a folder.")
    path = WordsField(required=False, help_text="Of an official file on the server, absolute.")
    name = WordsField(required=False, help_text="One is made where it is left out.")


class FeatureSets(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="features",
        responses={200: FeatureSetOutput(many=True), 403: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Features of the project, newest first, and how far those at work are; for who may start benchmark runs."""
        project = grant_by(request, project_uuid, benchmark_runners).project
        return paged(request, self, FeatureSet.objects.filter(project=project), FeatureSetOutput)

    @extend_schema(
        operation_id="features_start",
        request=FeatureSetInput,
        responses={201: FeatureSetOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Have a worker make features, or check an official file: ask until its state says done."""
        project = grant_by(request, project_uuid, benchmark_runners).project
        body = body_of(request, FeatureSetInput)
        kind, extractor = body.pop("kind"), body.pop("extractor")
        start: Callable[..., FeatureSet] = services.feature_set_start
        if extractor == FeatureSet.Extractor.FILE:
            values, start = form_values(FileForm({"kind": kind, **body})), services.feature_set_register
        elif "path" in body:
            raise Invalid("path: Only official files have one; their extractor is 'file'.")
        elif (what := f"{kind} {extractor}") not in dict(EXTRACTIONS):
            raise Invalid(f"extractor: {extractor} makes no features of {FeatureSet.Kind(kind).label}.")
        else:
            values = form_values(ExtractionForm({"what": what, **body}, project=project))
        feature_set = start(project=project, actor=person_of(request), **values)
        return Response(FeatureSetOutput(feature_set).data, status=201)


class OneFeatureSet(ApiView):
    @extend_schema(operation_id="feature_set", responses={200: FeatureSetOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, set_uuid: UUID) -> Response:
        """One set of features: how far it is, and what is wrong with it."""
        return Response(FeatureSetOutput(features_granted(request, set_uuid)).data)

    @extend_schema(operation_id="features_delete", responses={204: None, **dict.fromkeys((403, 404, 409), REFUSED)})
    def delete(self, request: Request, set_uuid: UUID) -> Response:
        """Delete features that no training needs; their file goes too where it was made here."""
        services.feature_set_delete(feature_set=features_granted(request, set_uuid), actor=person_of(request))
        return Response(status=204)


CHANGED: dict[int, Any] = {200: FeatureSetOutput, **dict.fromkeys((403, 404, 409, 422), REFUSED)}


class CancelFeatures(ApiView):
    @extend_schema(operation_id="features_cancel", request=Nothing, responses=CHANGED)
    def post(self, request: Request, set_uuid: UUID) -> Response:
        """Stop making features; what is made stays, and they can be resumed."""
        return changed(request, set_uuid, services.feature_set_cancel)


class ResumeFeatures(ApiView):
    @extend_schema(operation_id="features_resume", request=Nothing, responses=CHANGED)
    def post(self, request: Request, set_uuid: UUID) -> Response:
        """Go on with features that were cancelled or failed."""
        return changed(request, set_uuid, services.feature_set_resume)


def features_granted(request: Request, set_uuid: UUID) -> FeatureSet:
    """Return features to whoever may start benchmark runs in their project."""
    feature_set = get_object_or_404(FeatureSet.objects.select_related("project"), uuid=set_uuid)
    grant(request, feature_set.project, benchmark_runners)
    return feature_set


def changed(request: Request, set_uuid: UUID, change: Callable[..., FeatureSet]) -> Response:
    """Carry out a change of features, and answer with them as they are then."""
    feature_set = features_granted(request, set_uuid)
    body_of(request, Nothing)
    return Response(FeatureSetOutput(change(feature_set=feature_set, actor=person_of(request))).data)
