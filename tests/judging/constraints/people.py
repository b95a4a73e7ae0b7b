"""Who takes part, and by which key."""

from datetime import timedelta
from functools import partial
from hashlib import sha256
from uuid import uuid4

from django.utils import timezone

from accounts.models import AccessToken, Identity, StandingChange, Throttle
from judging.models import Invitation
from tests.factories import NOW, MembershipFactory, ProjectFactory, UserFactory
from tests.judging.constraints.writes import More, Refused, again, change


def token(**values: object) -> AccessToken:
    usual = {"name": "a token", "digest": sha256(uuid4().bytes).hexdigest(), "scopes": ["read"]}
    return AccessToken.objects.create(**{"user": UserFactory(), **usual, **values})


def throttle(**values: object) -> Throttle:
    return Throttle.objects.create(**{"kind": "registration", "digest": "0" * 64, **values})


def invitation(**values: object) -> Invitation:
    later = timezone.now() + timedelta(days=14)
    digest = sha256(uuid4().bytes).hexdigest()
    return Invitation.objects.create(**{"project": ProjectFactory(), "digest": digest, "expires_at": later, **values})


def accept_and_revoke(row: Invitation) -> None:
    now = timezone.now()
    Invitation.objects.filter(pk=row.pk).update(accepted_by=UserFactory(), accepted_at=now, revoked_at=now)


def status_change() -> StandingChange:
    return StandingChange.objects.create(membership=MembershipFactory(), to_standing="qualified")


REFUSED: Refused = {
    "membership_one_role_per_person_and_project": again(
        lambda project, user: MembershipFactory(project=project, user=user, confirmed=False),
        project=ProjectFactory,
        user=lambda: MembershipFactory().user,
    ),
    "membership_number_once_per_project": again(MembershipFactory, project=ProjectFactory, number=5),
    "membership_number_for_annotators_only": change(MembershipFactory, role="lead", standing=""),
    "membership_role_is_known": change(MembershipFactory, role="owner", number=None, standing=""),
    "membership_standing_for_annotators_only": change(MembershipFactory, standing=""),
    "standing_change_is_one": change(status_change, from_standing="qualified"),
    "identity_email_of_one_account": lambda: (
        lambda: [Identity.objects.create(user=UserFactory(), email=email) for email in ("a@b.org", "A@b.org")]
    ),
    "identity_of_the_invited_has_an_email": lambda: lambda: Identity.objects.create(user=None, name="Somebody"),
    "invitation_is_kept_as_digest": change(invitation, digest="the secret itself"),
    "invitation_accepted_by_somebody": change(invitation, accepted_at=NOW),
    "invitation_mail_is_known": change(invitation, mail="lost"),
    "invitation_lasts": change(invitation, expires_at=NOW),
    "access_token_name_once_per_person": again(token, user=UserFactory),
    "access_token_is_kept_as_digest": change(token, digest="mj_the_token_itself"),
    "access_token_has_known_scopes": change(token, scopes=["read", "everything"]),
    "throttle_once_per_kind_and_digest": again(throttle, kind="registration"),
    "throttle_names_nobody": change(throttle, digest="some@example.org"),
}
MORE: More = {
    "a token may do something": ("access_token_has_known_scopes", change(token, scopes=[])),
    "an annotator has a number": ("membership_number_for_annotators_only", change(MembershipFactory, number=None)),
    "a lead has no standing": (
        "membership_standing_for_annotators_only",
        change(lambda: MembershipFactory(role="lead"), standing="qualified"),
    ),
    "an invitation is accepted or revoked, not both": (
        "invitation_accepted_by_somebody",
        lambda: partial(accept_and_revoke, invitation()),
    ),
    "standing changes do not change": ("append-only", change(status_change, reason="another")),
    "standing changes stay": ("append-only", lambda: status_change().delete),
}
TRIGGERS: set[str] = {"standing_change_is_append_only"}
