"""Who takes part, and by which key."""

from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from uuid import uuid4

from django.utils import timezone

from accounts.models import AccessToken, CacheEntry, Identity, Membership, StatusChange
from judging.models import Invitation
from tests.factories import (
    NOW,
    GoldGradeFactory,
    JudgmentFactory,
    MembershipFactory,
    ProjectFactory,
    UserFactory,
)
from tests.judging.constraints.writes import More, Refused, Write, adding, again, change, deletion, maker


def digest() -> str:
    return sha256(uuid4().bytes).hexdigest()


def in_two_weeks() -> datetime:
    return timezone.now() + timedelta(days=14)


token = maker(AccessToken, user=UserFactory, name="a token", digest=digest, scopes=["read"])
tries = maker(CacheEntry, cache_key=f":1:tries:{'0' * 64}", value="", expires="2030-01-01T00:00Z")
invitation = maker(Invitation, project=ProjectFactory, digest=digest, expires_at=in_two_weeks)
status_change = maker(StatusChange, membership=MembershipFactory, to_status="qualified")
leading = partial(MembershipFactory, role="lead")


def judge(**values: object) -> Membership:
    """Make an annotator who has judged a pair."""
    return JudgmentFactory().annotator.memberships.get()  # type: ignore[no-any-return]


def gold_judge(**values: object) -> Membership:
    return GoldGradeFactory().annotator.memberships.get()  # type: ignore[no-any-return]


def judge_come_back() -> Write:
    """Remove the membership of an annotator who has judged, and write one of a lead for the same account."""
    member = judge()
    user, project = member.user, member.project
    member.delete()
    return lambda: MembershipFactory(user=user, project=project, role="lead")


def accept_and_revoke(row: Invitation) -> None:
    now = timezone.now()
    Invitation.objects.filter(pk=row.pk).update(accepted_by=UserFactory(), accepted_at=now, revoked_at=now)


REFUSED: Refused = {
    "membership_once_per_person_and_project": again(
        lambda project, user: MembershipFactory(project=project, user=user, confirmed=False),
        project=ProjectFactory,
        user=lambda: MembershipFactory().user,
    ),
    "membership_number_once_per_project": again(MembershipFactory, project=ProjectFactory, number=5),
    "membership_number_for_annotators_only": change(MembershipFactory, roles=["lead"], status=""),
    "membership_roles_are_known": change(MembershipFactory, roles=["lead,admin"], number=None, status=""),
    "membership_roles_each_once_and_in_order": change(leading, roles=["admin", "lead"]),
    "membership_annotator_and_participant_stand_alone": change(leading, roles=["lead", "participant"]),
    "membership_status_for_annotators_only": change(MembershipFactory, status=""),
    "status_change_is_one": change(status_change, from_status="qualified"),
    "identity_email_of_one_account": lambda: (
        lambda: [Identity.objects.create(user=UserFactory(), email=email) for email in ("a@b.org", "A@b.org")]
    ),
    "identity_of_the_invited_has_an_email": adding(Identity.objects.create, user=None, name="Somebody"),
    "invitation_is_kept_as_digest": change(invitation, digest="the secret itself"),
    "invitation_accepted_by_somebody": change(invitation, accepted_at=NOW),
    "invitation_mail_is_known": change(invitation, mail="lost"),
    "invitation_qualifies_annotators": change(invitation, qualifies=True, role="lead"),
    "invitation_lasts": change(invitation, expires_at=NOW),
    "access_token_name_once_per_person": again(token, user=UserFactory),
    "access_token_is_kept_as_digest": change(token, digest="mj_the_token_itself"),
    "access_token_has_known_scopes": change(token, scopes=["read", "everything"]),
    "cache_entry_names_nobody": change(tries, cache_key=":1:tries:some@example.org"),
}
MORE: More = {
    "access_token_has_known_scopes": {"a token may do something": change(token, scopes=[])},
    "membership_number_for_annotators_only": {"an annotator has a number": change(MembershipFactory, number=None)},
    "membership_status_for_annotators_only": {"a lead has no status": change(leading, status="qualified")},
    "membership_roles_are_known": {"a member has a role": change(leading, roles=[])},
    "membership_roles_each_once_and_in_order": {"a role is theirs once": change(leading, roles=["lead", "lead"])},
    "membership_annotator_and_participant_stand_alone": {
        "an annotator does not lead": change(leading, roles=["annotator", "lead"])
    },
    "has grades in project": {
        "who has judged becomes no lead": change(judge, roles=["lead"], number=None, status=""),
        "who has graded a gold pair becomes no admin": change(gold_judge, roles=["admin"], number=None, status=""),
        "who has judged comes back as no lead": judge_come_back,
    },
    "invitation_accepted_by_somebody": {
        "an invitation is accepted or revoked, not both": lambda: partial(accept_and_revoke, invitation())
    },
    "append-only": {
        "status changes do not change": change(status_change, reason="another"),
        "status changes stay": deletion(status_change),
    },
}
TRIGGERS = {"status_change_is_append_only", "membership_of_staff_has_no_grades"}
