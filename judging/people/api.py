"""Invitations for programs of leads: who is invited, a new link, one that is sent again, one that is revoked."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, grant, grant_by, person_of
from accounts.models import Membership
from core.api import (
    ApiView,
    ChoiceOfField,
    CountField,
    Pages,
    Problem,
    WordsField,
    YesNoField,
    body_of,
    form_values,
    paged,
)
from judging.models import Invitation
from judging.people.forms import InviteForm
from judging.people.services import invitation_create, invitation_renew, invitation_revoke


class InvitationOutput(serializers.ModelSerializer[Invitation]):
    """An invitation that nobody has used; ``mail`` is empty where its link is passed on by hand."""

    email = serializers.CharField(source="identity.email", default="")
    name = serializers.CharField(source="identity.name", default="")

    class Meta:
        model = Invitation
        fields = ["uuid", "role", "qualifies", "email", "name", "mail", "created_at", "expires_at"]


class InvitationLinkOutput(InvitationOutput):
    """The link is shown this once; it is empty where it goes by e-mail."""

    link = serializers.SerializerMethodField()

    class Meta(InvitationOutput.Meta):
        fields = [*InvitationOutput.Meta.fields, "link"]

    def get_link(self, invitation: Invitation) -> str:
        path = self.context["path"]
        return str(self.context["request"].build_absolute_uri(path)) if path else ""


class InvitationInput(serializers.Serializer[Any]):
    role = ChoiceOfField(Membership.Role.choices, required=False, help_text="annotator if it is left out.")
    qualifies = YesNoField(required=False, help_text="The annotator judges without training and exam, by your word.")
    email = WordsField(required=False, help_text="Sends the link there; left out, the answer holds it.")
    name = WordsField(required=False)
    days = CountField(required=False, help_text="How long the link opens the project: 1 to 365, else 14.")


class RenewalInput(serializers.Serializer[Any]):
    mail = YesNoField(required=False, help_text="Send the new link by e-mail.")


def link_given(request: Request, invitation: Invitation, path: str, *, status: int) -> Response:
    context = {"request": request, "path": path}
    return Response(InvitationLinkOutput(invitation, context=context).data, status=status)


class Invitations(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="invitations", responses={200: InvitationOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Invitations that nobody has used or revoked, newest first, expired ones too."""
        project = grant_by(request, project_uuid, LEAD).project
        unused = project.invitations.filter(accepted_at=None, revoked_at=None).select_related("identity")
        return paged(request, self, unused, InvitationOutput)

    @extend_schema(
        operation_id="invitation_create",
        request=InvitationInput,
        responses={201: InvitationLinkOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Invite one person. The link is in the answer, this once, unless it goes by e-mail."""
        project = grant_by(request, project_uuid, LEAD).project
        body = body_of(request, InvitationInput)
        qualifies = body.pop("qualifies", False)
        values = form_values(InviteForm({"role": Membership.Role.ANNOTATOR, "days": 14, **body}))
        invitation, path = invitation_create(project=project, actor=person_of(request), qualifies=qualifies, **values)
        return link_given(request, invitation, path, status=201)


class OneInvitation(ApiView):
    @extend_schema(operation_id="invitation_revoke", responses={204: None, **dict.fromkeys((403, 404, 409), Problem)})
    def delete(self, request: Request, invitation_uuid: UUID) -> Response:
        """Revoke an invitation: its link opens nothing any more."""
        invitation_revoke(invitation=invitation_granted(request, invitation_uuid), actor=person_of(request))
        return Response(status=204)


class RenewInvitation(ApiView):
    @extend_schema(
        operation_id="invitation_renew",
        request=RenewalInput,
        responses={200: InvitationLinkOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def post(self, request: Request, invitation_uuid: UUID) -> Response:
        """Make a new link with a new term; the one before it opens nothing."""
        invitation = invitation_granted(request, invitation_uuid)
        mail = body_of(request, RenewalInput).get("mail", False)
        path = invitation_renew(invitation=invitation, actor=person_of(request), mail=mail)
        invitation.refresh_from_db()
        return link_given(request, invitation, path, status=200)


def invitation_granted(request: Request, invitation_uuid: UUID) -> Invitation:
    """Return an invitation to the lead of its project."""
    invitation = get_object_or_404(Invitation.objects.select_related("project", "identity"), uuid=invitation_uuid)
    grant(request, invitation.project, LEAD)
    return invitation
