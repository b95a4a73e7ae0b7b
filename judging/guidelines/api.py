"""The policy of a project for programs: the one in force, and a new version of it."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant_by, person_of
from core.api import ApiView, Problem, body_of, form_values
from core.exceptions import NotPossible
from judging.guidelines.forms import PolicyForm
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import policy_in_force
from judging.guidelines.services import policy_publish
from judging.models import Policy


class PolicyOutput(serializers.ModelSerializer[Policy]):
    """Every value that is in force."""

    class Meta:
        model = Policy
        fields = ["version", *POLICY_VALUES]


class PolicyInput(serializers.ModelSerializer[Policy]):
    """Values to change; what is left out stays."""

    version = serializers.IntegerField(help_text="The version that you looked at.")

    class Meta:
        model = Policy
        fields = ["version", *POLICY_VALUES]
        extra_kwargs: dict[str, dict[str, Any]] = {name: {"required": False} for name in POLICY_VALUES}


class ProjectPolicy(ApiView):
    @extend_schema(operation_id="policy", responses={200: PolicyOutput, 403: Problem, 409: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """The policy in force."""
        project = grant_by(request, project_uuid, STAFF).project
        if not project.policies.exists():
            raise NotPossible("This project has no policy yet.")
        return Response(PolicyOutput(policy_in_force(project.pk)).data)

    @extend_schema(
        operation_id="policy_publish",
        request=PolicyInput,
        responses={200: PolicyOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Put a new version in force; judgments keep the one they were given under. Where nothing differs, none."""
        project = grant_by(request, project_uuid, LEAD).project
        in_force = policy_in_force(project.pk)
        current = {name: getattr(in_force, name) for name in POLICY_VALUES}
        form = PolicyForm(current | body_of(request, PolicyInput), instance=Policy(project=project))
        values = form_values(form)
        seen_version = values.pop("version")
        policy = policy_publish(project=project, actor=person_of(request), seen_version=seen_version, **values)
        return Response(PolicyOutput(policy).data)
