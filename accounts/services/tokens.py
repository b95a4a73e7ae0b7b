"""Access tokens of the API: made, told once, revoked."""

from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import AccessToken, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.texts import checked_name

PREFIX = "mj_"  # so that scanners for leaked secrets can know one
LONGEST_NAME = 100
MOST = 20  # per person
SCOPES = AccessToken.Scope.values
DAYS = 90
LONGEST_DAYS = 3650


def token_digest(token: str) -> str:
    """What is kept of a token. It holds 256 random bits, so a plain hash cannot be turned back."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


@transaction.atomic
def token_create(*, user: User, name: str, scopes: Iterable[str] = tuple(SCOPES), days: int | None = DAYS) -> str:
    """A new token; what is returned is the only copy. Without ``days`` it does not end by itself.

    Raises:
        NotPossible: the name is empty, too long or taken, no scope or an unknown one is asked for, the days are none
            that can be, or the person has too many tokens.
    """
    name = checked_name(name)
    asked = [scope for scope in SCOPES if scope in set(scopes)]
    if not asked or set(scopes) - set(SCOPES):
        raise NotPossible("Say what the token may do: at least one of the scopes.")
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise NotPossible(f"A token ends after 1 to {LONGEST_DAYS} days, or not at all.")
    if len(name) > LONGEST_NAME:
        raise NotPossible(f"The name of a token has at most {LONGEST_NAME} characters.")
    held = User.objects.select_for_update().get(pk=user.pk).access_tokens
    if held.filter(name=name).exists():
        raise NotPossible(f"You have a token named {name!r} already.")
    if held.count() >= MOST:
        raise NotPossible(f"You have {MOST} tokens; revoke one that is not needed any more.")
    token = PREFIX + token_urlsafe(32)
    ends = timezone.now() + timedelta(days=days) if days is not None else None
    made = AccessToken.objects.create(user=user, name=name, digest=token_digest(token), scopes=asked, expires_at=ends)
    said = {"scopes": asked, "expires_at": ends}  # not its name: the audit is kept when an identity is not
    audit_record(project=None, actor=user, action="token.create", subject=made.uuid, **said)
    return token


@transaction.atomic
def token_revoke(*, user: User, uuid: UUID) -> bool:
    """From now on the token opens nothing; False when the person has no such token."""
    held = user.access_tokens.select_for_update().filter(uuid=uuid).first()
    if held is None:
        return False
    audit_record(project=None, actor=user, action="token.revoke", subject=held.uuid)
    held.delete()
    return True


@transaction.atomic
def tokens_revoke(*, user: User) -> int:
    """None of the person's tokens opens anything from now on."""
    ended, _ = user.access_tokens.all().delete()
    if ended:
        audit_record(project=None, actor=user, action="token.revoke", subject=user.uuid, tokens=ended)
    return ended
