"""Searches over settings for programs: ordering them, seeing their tables fill, cancelling, resuming, deleting."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, benchmark_runners, grant_by, person_of
from core.api import ApiView, Invalid, KeyField, Pages, body_of, paged
from core.api import Problem as REFUSED
from models_runner.experiments.api import ExperimentInput
from models_runner.models import SettingsSearch
from models_runner.tuning.forms import search_form_of
from models_runner.tuning.models import MOST_RUNS
from models_runner.tuning.rules import SETTINGS
from models_runner.tuning.selectors import search_granted, searches_of
from models_runner.tuning.services import (
    settings_search_cancel,
    settings_search_create,
    settings_search_delete,
    settings_search_resume,
)

SPACE_HELP = f"Choices or a range by setting, as text: {{'lr': '1e-5 to 1e-3'}}. Of {', '.join(SETTINGS)}."


class SettingsSearchOutput(serializers.ModelSerializer[SettingsSearch]):
    """A search; each trial has its settings, state, best NDCG@20,IoU>=0.5 on validation and the curve of bests."""

    release = serializers.IntegerField(source="release.version")
    candidates = serializers.UUIDField(source="candidates.uuid", default=None, allow_null=True)

    class Meta:
        model = SettingsSearch
        fields = [
            *("uuid", "name", "baseline", "top_n", "release", "candidates", "options", "space", "method", "n_runs"),
            *("seed", "stops_early", "state", "n_done", "trials", "device", "attempts", "error"),
            *("created_at", "started_at", "ended_at"),
        ]


class SettingsSearchInput(ExperimentInput):
    """Fields of the form of a benchmark run that all trainings share, and what is tried."""

    key = KeyField(required=False, help_text="Any UUID: sent again with it, a request is answered as the first time.")
    seeds = None  # type: ignore[assignment]  # so a field is left out
    labels = None  # type: ignore[assignment]
    space = serializers.DictField(child=serializers.CharField(max_length=300), help_text=SPACE_HELP)
    method = serializers.ChoiceField(
        SettingsSearch.Method.choices, required=False, help_text="random if left out; a grid needs choices."
    )
    n_runs = serializers.IntegerField(min_value=1, max_value=MOST_RUNS, required=False, help_text="20 if left out.")
    seed = serializers.IntegerField(min_value=0, required=False, help_text="1 if left out.")
    stops_early = serializers.BooleanField(required=False, help_text="True if left out.")


class SettingsSearches(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="settings_searches", responses={200: SettingsSearchOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Searches over settings, the newest first."""
        membership = grant_by(request, project_uuid, STAFF)
        return paged(request, self, searches_of(membership.project), SettingsSearchOutput)

    @extend_schema(
        operation_id="settings_search_start",
        request=SettingsSearchInput,
        responses={201: SettingsSearchOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Start a search over settings; for whoever may start a benchmark run. Ask until its state says done."""
        project = grant_by(request, project_uuid, benchmark_runners).project
        values: dict[str, Any] = body_of(request, SettingsSearchInput)
        if unknown := sorted(set(values["space"]) - set(SETTINGS)):
            raise Invalid(f"space: {unknown[0]} cannot be searched; {', '.join(SETTINGS)} can.")
        form = search_form_of(project, values)
        if not form.is_valid():
            raise Invalid(form.refusal)
        search = settings_search_create(actor=person_of(request), **form.values())
        return Response(SettingsSearchOutput(search).data, status=201)


class OneSettingsSearch(ApiView):
    @extend_schema(operation_id="settings_search", responses={200: SettingsSearchOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, search_uuid: UUID) -> Response:
        """One search over settings: how far it is, and its trials by number."""
        return Response(SettingsSearchOutput(search_granted(request._request, search_uuid, STAFF)).data)

    @extend_schema(
        operation_id="settings_search_delete", responses={204: None, **dict.fromkeys((403, 404, 409), REFUSED)}
    )
    def delete(self, request: Request, search_uuid: UUID) -> Response:
        """Delete a search over settings that has ended, with its files; for whoever may start one."""
        search = search_granted(request._request, search_uuid, benchmark_runners)
        settings_search_delete(search=search, actor=person_of(request))
        return Response(status=204)


CHANGED = {200: SettingsSearchOutput, **dict.fromkeys((403, 404, 409), REFUSED)}


class CancelSettingsSearch(ApiView):
    @extend_schema(operation_id="settings_search_cancel", request=None, responses=CHANGED)
    def post(self, request: Request, search_uuid: UUID) -> Response:
        """Cancel a search over settings: it ends within ten seconds, and can be resumed."""
        search = search_granted(request._request, search_uuid, benchmark_runners)
        row = settings_search_cancel(search=search, actor=person_of(request))
        return Response(SettingsSearchOutput(row).data)


class ResumeSettingsSearch(ApiView):
    @extend_schema(operation_id="settings_search_resume", request=None, responses=CHANGED)
    def post(self, request: Request, search_uuid: UUID) -> Response:
        """Have a search over settings go on that was cancelled or failed, or that has failed trials."""
        search = search_granted(request._request, search_uuid, benchmark_runners)
        row = settings_search_resume(search=search, actor=person_of(request))
        return Response(SettingsSearchOutput(row).data)
