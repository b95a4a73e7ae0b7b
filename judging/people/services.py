"""The two ways into a project, invitation and self-registration; and what a lead makes of an annotator's status.

A link holds a secret of which only a digest is kept. A link that goes by e-mail gets its secret when the message is
written: a secret made any earlier would lie in the broker's queue, which is a file. The row says that it was sent once
the mail server has it: a worker that is killed before leaves it waiting, and another message with a new secret follows.
"""

import logging
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from accounts.models import Identity, Membership, Project, StatusChange, User
from accounts.rules import STEPS, roles_text
from accounts.services.identities import (
    NewAccount,
    account_create,
    account_led_or_refused,
    identity_erase,
    identity_forget,
    password_link,
)
from accounts.services.members import (
    invited_create,
    invited_forget,
    leads_besides,
    member_add,
    role_add,
    role_refusal,
    role_remove,
    status_change,
)
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable, swept
from core.sql import only_one
from judging.exceptions import InvitationGone, InvitationUnknown, NotPossibleNow
from judging.models import Invitation
from judging.work.services.assignments import assignment_return

logger = logging.getLogger(__name__)
MAILS = JobKind(
    "judging.tasks.invitation_mail",
    lambda: Invitation.objects.filter(
        mail=Invitation.Mail.WAITING,
        accepted_at=None,
        revoked_at=None,
        identity__isnull=False,
        expires_at__gt=timezone.now(),
    ),
    moved="created_at",
    lock="invitation mail",
)
DAYS = 14
FORGOTTEN_AFTER = timedelta(days=30)  # whom an expired invitation was for
JUST_NOW = timedelta(minutes=1)
USED = "This invitation was used already: it lets one person join, once. If that was you, log in."
UNKNOWN = "This is not the link of an invitation, or a newer one took its place. Copy the whole link from your message."
CLOSED = "This project does not take new annotators. Ask its lead for an invitation."
SUBJECT = "Your invitation to MomentJudge: {project}"


def secret_digest(secret: str) -> str:
    """Digest a secret for storage. It holds 256 random bits, so a plain hash cannot be turned back."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


@transaction.atomic
def invitation_create(
    *,
    project: Project,
    actor: User,
    role: str,
    email: str = "",
    name: str = "",
    days: int = DAYS,
    qualifies: bool = False,
) -> tuple[Invitation, str]:
    """An invitation, and the path of its link; the path is empty where the link goes by e-mail. ``qualifies``: the
    annotator judges without training and exam, by the actor's word.

    Raises:
        NotPossible: the address has an invitation that is open, or its owner a role in the project that this one does
            not join; or ``qualifies`` is set for another role.
    """
    if qualifies and role != Role.ANNOTATOR:
        raise NotPossible("Only annotators are qualified.")
    Project.objects.select_for_update().get(pk=project.pk)
    now = timezone.now()
    invited = _invited(project, role, email.strip(), name.strip(), now) if email.strip() else None
    invitation = Invitation(project=project, role=role, qualifies=qualifies, identity=invited, created_by=actor)
    path = _link_new(invitation, mail=bool(invited), days=days)
    facts = {"role": role, "mailed": bool(invited), **({"qualifies": True} if qualifies else {})}
    audit_record(project=project, actor=actor, action="invitation.create", subject=invitation.uuid, **facts)
    return invitation, path


def _link_new(row: Invitation, *, mail: bool, days: int) -> str:
    """Give the invitation a new secret and a new term; return its path, empty where it goes by e-mail."""
    secret = token_urlsafe(32)
    row.digest, row.expires_at = secret_digest(secret), timezone.now() + timedelta(days=days)
    row.mail = Invitation.Mail.WAITING if mail else Invitation.Mail.NONE
    row.save()
    if mail:
        MAILS.send(row.pk)
    return "" if mail else invitation_path(secret)


def _invited(project: Project, role: str, email: str, name: str, now: datetime) -> Identity:
    member = project.memberships.filter(user__identity__email__iexact=email).select_related("user", "project").first()
    if member and (refusal := role_refusal(member, role)):
        raise NotPossible(refusal)
    row = project.invitations.filter(identity__email__iexact=email, accepted_at=None, revoked_at=None)
    if row.filter(expires_at__gt=now).exists():
        raise NotPossible("This address has an invitation that is open. Send it again, or revoke it first.")
    return invited_create(name=name, email=email)


def invitation_path(secret: str) -> str:
    return reverse("judging:invitation", args=[secret])


def invitation_find(*, secret: str, now: datetime | None = None, lock: bool = False) -> Invitation:
    """The open invitation of this secret.

    Raises:
        InvitationUnknown: there is none, or it got another secret.
        InvitationGone: it has expired, was used, or was revoked.
    """
    rows = Invitation.objects.select_for_update(of=("self",)) if lock else Invitation.objects.all()
    invitation = rows.select_related("project").filter(digest=secret_digest(secret)).first()
    if invitation is None:
        raise InvitationUnknown(UNKNOWN)
    if invitation.accepted_at is not None:
        raise InvitationGone(USED)
    if invitation.revoked_at is not None:
        raise InvitationGone("This invitation was taken back. Ask the person who invited you.")
    if not invitation.is_open_at(now or timezone.now()):
        raise InvitationGone("This invitation has expired. Ask the person who invited you for a new link.")
    return invitation


@transaction.atomic
def invitation_accept(*, secret: str, person: User | NewAccount) -> Membership:
    """Take up the invitation, as an account that exists or as a new one. It works once.

    Raises:
        InvitationUnknown, InvitationGone: see ``invitation_find``.
        NotPossible: the person has a role in the project that this one does not join, or grades; or the new account's
            user name or address is taken.
    """
    now = timezone.now()
    row = invitation_find(secret=secret, now=now, lock=True)
    user = account_create(person) if isinstance(person, NewAccount) else person
    member = role_add(project=row.project, user=user, role=row.role, actor=user)
    invited = row.identity
    row.accepted_by, row.accepted_at, row.identity = user, now, None
    row.save(update_fields=["accepted_by", "accepted_at", "identity"])
    if invited:
        invited.delete()  # the person has said themselves who they are
    audit_record(project=row.project, actor=user, action="invitation.accept", subject=row.uuid, number=member.number)
    logger.info("invitation %s of project %s accepted", row.pk, row.project_id)
    leads = row.project.memberships.filter(roles__contains=[Role.LEAD], user__is_active=True)
    if row.qualifies and row.created_by and leads.filter(user=row.created_by).exists():
        member = annotator_qualify(membership=member, actor=row.created_by, reason="Qualified by the invitation.")
    return member


def invitation_accepted_just_now(*, secret: str, username: str) -> Membership | None:
    """Return the membership just made, with its account, by a form that is sent twice: its answer may be lost."""
    invitation = Invitation.objects.select_related("accepted_by").filter(digest=secret_digest(secret)).first()
    if invitation is None or invitation.accepted_by is None or invitation.accepted_at is None:
        return None
    is_new = invitation.accepted_by.created_at >= invitation.accepted_at > timezone.now() - JUST_NOW
    if not is_new or invitation.accepted_by.username != username:
        return None
    return Membership.objects.select_related("user", "project").get(
        project=invitation.project_id, user=invitation.accepted_by
    )


@transaction.atomic
def invitation_revoke(*, invitation: Invitation, actor: User) -> None:
    """The link opens nothing from now on, and whom it was for is forgotten. Repeating it changes nothing. Raises
    NotPossibleNow where somebody has used it."""
    row = _unused_or_refused(invitation)
    if row.revoked_at is not None:
        return
    row.revoked_at = timezone.now()
    row.save(update_fields=["revoked_at"])
    invited_forget(Identity.objects.filter(invitations=row))
    audit_record(project=row.project, actor=actor, action="invitation.revoke", subject=row.uuid)


@transaction.atomic
def invitation_renew(*, invitation: Invitation, actor: User, mail: bool = False, days: int = DAYS) -> str:
    """A new secret and a new term; the old link opens nothing. Returns the path, empty where it goes by e-mail. Raises
    NotPossibleNow where somebody has used it, it was revoked, or there is no address to send it to."""
    row = _unused_or_refused(invitation)
    if row.revoked_at is not None:
        raise NotPossibleNow("This invitation was revoked. Make another.")
    if mail and row.identity is None:
        raise NotPossibleNow("This invitation has no e-mail address. Make a new link, and pass it on.")
    audit_record(project=row.project, actor=actor, action="invitation.renew", subject=row.uuid, mailed=mail)
    return _link_new(row, mail=mail, days=days)


def _unused_or_refused(invitation: Invitation) -> Invitation:
    row = Invitation.objects.select_for_update(of=("self",)).select_related("project").get(pk=invitation.pk)
    if row.accepted_at is not None:
        raise NotPossibleNow("This invitation was used already.")
    return row


@durable(MAILS.task, autoretry_for=())
def invitation_mail(*, invitation_id: int) -> bool:
    """Send the link to whom it is for, if that still waits to be done and nobody is at it; False when it does not."""
    with only_one(MAILS.lock, invitation_id) as alone:
        return alone and _mail(invitation_id)


def _mail(invitation_id: int) -> bool:
    secret = token_urlsafe(32)
    waiting = MAILS.rows().filter(pk=invitation_id)
    waiting.update(digest=secret_digest(secret))  # before it is sent: the link is good as soon as somebody reads it
    mine = Invitation.objects.filter(pk=invitation_id, digest=secret_digest(secret))
    row = mine.select_related("project", "identity").first()
    if row is None or row.identity is None:
        return False  # not to be sent, or renewed or revoked at this instant
    context = {"project": row.project.name, "role": row.get_role_display().lower()}
    context |= {"until": f"{row.expires_at:%d %B %Y, %H:%M}", "link": settings.SITE_URL + invitation_path(secret)}
    text = render_to_string("judging/people/invitation.txt", context)
    try:
        send_mail(SUBJECT.format(project=row.project.name), text, None, [row.identity.email])
    except Exception as error:  # what it says may hold the address, so it goes no further
        mine.update(mail=Invitation.Mail.FAILED)
        logger.warning("invitation %s could not be sent: %s", row.pk, type(error).__name__)
        return False
    mine.update(mail=Invitation.Mail.SENT)
    logger.info("invitation %s sent", row.pk)
    return True


@swept
def invitations_sweep(now: datetime) -> None:
    """Forget whom old invitations were for."""
    old = Q(invitations__isnull=True) | Q(invitations__expires_at__lte=now - FORGOTTEN_AFTER)
    invited_forget(Identity.objects.filter(old))


@transaction.atomic
def registration_switch(*, project: Project, actor: User, is_open: bool) -> None:
    """Let anybody with the project's address join it as an annotator, or not any more."""
    others = Project.objects.filter(pk=project.pk, registration_is_open=not is_open)
    if others.update(registration_is_open=is_open):
        action = "registration.open" if is_open else "registration.close"
        audit_record(project=project, actor=actor, action=action, subject=project.uuid)


@transaction.atomic
def registration_join(*, project_uuid: UUID, person: User | NewAccount) -> Membership:
    """Become an annotator of a project that takes whoever comes.

    Raises:
        InvitationUnknown: there is no such project, or it takes nobody.
        NotPossible: the person has a role in it; or the new account's user name or address is taken.
    """
    project = Project.objects.select_for_update().filter(uuid=project_uuid, registration_is_open=True).first()
    if project is None:
        raise InvitationUnknown(CLOSED)
    user = account_create(person) if isinstance(person, NewAccount) else person
    member = member_add(project=project, user=user, roles=[Role.ANNOTATOR], actor=user)
    audit_record(project=project, actor=user, action="registration.join", subject=user.uuid, number=member.number)
    return member


Role, Status = Membership.Role, Membership.Status
REASON_REQUIRED = "Say why: the reason is kept with the change."
ERASED = "Name and account were erased; nobody can log in as this annotator any more."


@transaction.atomic
def annotator_suspend(*, membership: Membership, actor: User, reason: str) -> Membership:
    """No batch is handed to them until they are back; what they hold goes to others at once."""
    return _taken_off(membership, Status.SUSPENDED, actor, _reason_text(reason))


@transaction.atomic
def annotator_leave(*, membership: Membership, actor: User, reason: str = "") -> Membership:
    """They leave the project; grades, hours and number stay, what they hold goes to others at once."""
    return _taken_off(membership, Status.LEFT, actor, reason.strip())


@transaction.atomic
def annotator_reinstate(*, membership: Membership, actor: User, reason: str) -> Membership:
    """Back to where they were before they were suspended or left. Raises NotPossibleNow where they are on their way, or
    were forgotten."""
    if not membership.user.is_active:
        raise NotPossibleNow(ERASED)
    if membership.status in STEPS:
        raise NotPossibleNow(f"{membership.label.capitalize()} is {membership.status} and needs no way back.")
    return status_change(membership=membership, to=status_before(membership), actor=actor, reason=_reason_text(reason))


@transaction.atomic
def annotator_qualify(*, membership: Membership, actor: User, reason: str) -> Membership:
    """Qualified by the lead's word, whatever is left of training and exam."""
    if not membership.user.is_active:
        raise NotPossibleNow(ERASED)
    return status_change(membership=membership, to=Status.QUALIFIED, actor=actor, reason=_reason_text(reason))


@transaction.atomic
def annotator_erase(*, membership: Membership, actor: User) -> None:
    """Forget who they are, and mark them as gone everywhere; numbers, judgments and pay stay."""
    account_led_or_refused(user=membership.user, lead=actor)
    for row in membership.user.memberships.select_related("user", "project").order_by("project"):
        if row.status != Status.LEFT:
            annotator_leave(membership=row, actor=actor, reason="Name and account erased.")
    identity_erase(user=membership.user, actor=actor, project=membership.project)


@transaction.atomic
def person_forget(*, user: User, actor: User | None, reason: str) -> None:
    """As ``annotator_erase``, of anybody of whatever roles; for the site's commands and its retention. Raises
    NotPossibleNow where they are the only lead of a project."""
    for row in user.memberships.select_related("user", "project").order_by("project"):
        if user.is_active and row.is_lead and not leads_besides(row):
            raise NotPossibleNow(f"Nobody else leads {row.project.name!r}. Give it another lead first.")
        if row.is_annotator and row.status != Status.LEFT:
            _taken_off(row, Status.LEFT, actor, reason)
    identity_forget(user=user, actor=actor, project=None, reason=reason)


@transaction.atomic
def annotator_password_link(*, membership: Membership, actor: User) -> str:
    """The path of a page where the annotator chooses a new password; whoever has it can, so it is for them alone.

    Raises:
        NotPossible: the account is not the lead's to touch.
        NotPossibleNow: it was erased, or is a program's.
    """
    account_led_or_refused(user=membership.user, lead=actor)
    if not membership.user.is_active or membership.user.is_simulated:
        raise NotPossibleNow("Nobody logs in with this account.")
    project, user, number = membership.project, membership.user, membership.number
    audit_record(project=project, actor=actor, action="annotator.password-link", subject=user.uuid, number=number)
    return password_link(user)


@transaction.atomic
def staff_role_change(*, membership: Membership, role: str, is_theirs: bool, actor: User) -> Membership:
    """Give somebody else one more of the roles that combine, or take one. Raises NotPossible where it is the actor's
    own, none of these, their only role, or the last lead's."""
    if membership.user_id == actor.pk:
        raise NotPossible("Your own roles are changed by another lead.")
    if role not in Membership.COMBINABLE:
        raise NotPossible(f"Only {roles_text(Membership.COMBINABLE)} are roles that somebody can have beside another.")
    if is_theirs:
        return role_add(project=membership.project, user=membership.user, role=role, actor=actor)
    return role_remove(membership=membership, role=role, actor=actor)


ACTIONS: dict[str, Any] = {
    "suspend": annotator_suspend,
    "reinstate": annotator_reinstate,
    "qualify": annotator_qualify,
    "leave": annotator_leave,
}


def status_before(membership: Membership) -> str:
    """The last step of the way itself."""
    if membership.status in STEPS:
        return membership.status
    change = StatusChange.objects.filter(membership=membership, from_status__in=STEPS).last()
    return change.from_status if change else Status.CANDIDATE


def _taken_off(membership: Membership, to: str, actor: User | None, reason: str) -> Membership:
    changed = status_change(membership=membership, to=to, actor=actor, reason=reason)
    assignment_return(project=membership.project, annotator=membership.user)
    return changed


def _reason_text(reason: str) -> str:
    """Raises NotPossibleNow when there is no reason."""
    if not reason.strip():
        raise NotPossibleNow(REASON_REQUIRED)
    return reason.strip()
