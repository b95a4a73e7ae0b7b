"""Captions for programs: have them rewritten, and how far that is."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant_by, person_of
from accounts.models import Project
from annotation.captions.selectors import captions_report
from annotation.captions.services.rewriting import rewriting_start
from annotation.models import Caption, Rewriting
from core.api import ApiView, ChoiceOfField, Problem, body_of
from core.models import Job

PROVIDERS = [Caption.Provider.RULES.value, Caption.Provider.OPENAI.value]


class RewritingOutput(serializers.ModelSerializer[Rewriting]):
    """An order to rewrite a corpus; ``error`` says why it failed, or what it waits for until ``next_try_at``."""

    state = serializers.SerializerMethodField()

    class Meta:
        model = Rewriting
        fields = ["uuid", "provider", "model", "state", "started_at", "finished_at", "next_try_at", "error"]

    @extend_schema_field(serializers.ChoiceField(Job.State.choices))
    def get_state(self, rewriting: Rewriting) -> str:
        if rewriting.finished_at is None:
            return Job.State.WAITING if rewriting.next_try_at else Job.State.RUNNING
        return Job.State.FAILED if rewriting.error else Job.State.DONE


class CaptionsOutput(serializers.Serializer[Any]):
    """Counts of the corpus's descriptions and of the captions made of them."""

    descriptions = serializers.IntegerField()
    unwritten = serializers.IntegerField(help_text="Descriptions that are not rewritten yet.")
    rewritten = serializers.IntegerField()
    accepted = serializers.IntegerField(help_text="By the checks alone.")
    waiting = serializers.IntegerField(help_text="For a person, on the page Captions.")
    accepted_by_people = serializers.IntegerField()
    edited = serializers.IntegerField()
    rejected = serializers.IntegerField()
    rewriting = RewritingOutput(allow_null=True, help_text="The newest; null where nobody has requested one.")


class RewritingInput(serializers.Serializer[Any]):
    provider = ChoiceOfField(PROVIDERS, help_text="Rules of this site, or the chat API that it is set up with.")


def captions_of(project: Project) -> dict[str, Any]:
    """Return the counts of the project's corpus, and its newest rewriting."""
    report = captions_report(project.dataset.corpus_id)
    newest = Rewriting.objects.filter(corpus=project.dataset.corpus_id).order_by("-pk").first()
    data: dict[str, Any] = CaptionsOutput({**asdict(report), "unwritten": report.left, "rewriting": newest}).data
    return data


class Captions(ApiView):
    @extend_schema(operation_id="captions", responses={200: CaptionsOutput, 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """How far the captions of the corpus are."""
        return Response(captions_of(grant_by(request, project_uuid, STAFF).project))


class Rewrite(ApiView):
    @extend_schema(
        operation_id="captions_rewrite",
        request=RewritingInput,
        responses={202: CaptionsOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Have a worker rewrite what is left: ask for the captions until the rewriting's state says done."""
        project = grant_by(request, project_uuid, STAFF).project
        provider = body_of(request, RewritingInput)["provider"]
        rewriting_start(corpus=project.dataset.corpus, provider=provider, actor=person_of(request), project=project)
        return Response(captions_of(project), status=202)
