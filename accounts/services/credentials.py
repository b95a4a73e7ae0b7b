"""Credentials besides the password: the second step of a log-in, and access tokens of the API.

The second step is a code from the person's phone, or one of ten on paper. Tokens and recovery codes are kept as
digests; the secret of the phone has to be kept as it is.
"""

from base64 import b32encode
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import choice, token_urlsafe
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import AccessToken, User
from accounts.services.throttles import CODES, throttle_forget, throttle_or_refuse
from accounts.sessions import sessions_end
from core.audit import audit_record
from core.exceptions import NotPossible
from core.texts import checked_name

RECOVERY_CODES = 10
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1
WRONG = "This code is not right. Codes change every 30 seconds and work once."
TOO_MANY = "Too many wrong codes."
PREFIX = "mj_"  # so that scanners for leaked secrets can know one
LONGEST_TOKEN_NAME = 100
MOST = 20  # tokens of a person
SCOPES = AccessToken.Scope.values
DAYS = 90  # of a token
LONGEST_DAYS = 3650


def totp_device(user: User) -> TOTPDevice | None:
    """The phone of a person who logs in with a code."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return device


def totp_is_required(user: User) -> bool:
    """Whether a role of the person's is one that must log in with a code."""
    roles = settings.TOTP_REQUIRED_FOR
    return bool(roles) and user.memberships.filter(role__in=roles).exists()


def token_stands(user: User, made_at: datetime) -> bool:
    """Whether a token counts: where a role requires codes, one made since the phone was set up."""
    if not totp_is_required(user):
        return True
    device = totp_device(user)
    return device is not None and device.created_at <= made_at


@transaction.atomic
def totp_begin(*, user: User) -> TOTPDevice:
    """A phone to set up, with a secret of its own; one begun before is forgotten.

    Raises:
        NotPossible: there is a phone in use.
    """
    _without_phone(user)
    TOTPDevice.objects.filter(user=user, confirmed=False).delete()
    device: TOTPDevice = TOTPDevice.objects.create(user=user, confirmed=False, name="phone")
    return device


def totp_begun(user: User) -> TOTPDevice | None:
    """The phone that is being set up."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=False).first()
    return device


def totp_secret(device: TOTPDevice) -> str:
    """As people type it: base32 in groups of four."""
    text = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def totp_confirm(*, user: User, code: str, session: str | None) -> list[str]:
    """The phone shows right codes: from now on logging in asks for one. Returns the recovery codes, this once.

    Every other session of the person ends.

    Raises:
        NotPossible: the code is wrong, or no phone is being set up.
        TooOften: too many were.
    """
    throttle_or_refuse(CODES, str(user.uuid), TOO_MANY)
    with transaction.atomic():
        _without_phone(user)
        device = totp_begun(user)
        if device is None:
            raise NotPossible("No phone is being set up. Begin with your password.")
        if not device.verify_token(code_of(code)):
            raise NotPossible(WRONG)
        device.confirmed, device.created_at = True, timezone.now()
        device.save(update_fields=["confirmed", "created_at"])
        codes = _recovery_codes(user)
        audit_record(project=None, actor=user, action="totp.confirm", subject=user.uuid)
        sessions_end(user=user, actor=user, but=session)
    throttle_forget(CODES, str(user.uuid))
    return codes


def totp_verify(*, user: User, code: str) -> Device:
    """The device whose code this is; a recovery code is used up by it.

    Raises:
        NotPossible: the code is wrong.
        TooOften: too many were.
    """
    throttle_or_refuse(CODES, str(user.uuid), TOO_MANY)
    with transaction.atomic():
        for device in _devices(user):
            token = code_of(code) if isinstance(device, TOTPDevice) else recovery_digest(user, code)
            if device.verify_token(token):
                if isinstance(device, StaticDevice):
                    audit_record(project=None, actor=user, action="totp.recover", subject=user.uuid)
                throttle_forget(CODES, str(user.uuid))
                return device
    raise NotPossible(WRONG)


@transaction.atomic
def totp_renew_codes(*, user: User) -> list[str]:
    """Ten new recovery codes; the old ones are void."""
    if totp_device(user) is None:
        raise NotPossible("You do not log in with codes.")
    audit_record(project=None, actor=user, action="totp.codes", subject=user.uuid)
    return _recovery_codes(user)


@transaction.atomic
def totp_off(*, user: User, session: str | None) -> None:
    """Logging in takes the password alone again; every other session, that began with a code, ends.

    Raises:
        NotPossible: a role of the person's requires codes.
    """
    if totp_is_required(user):
        raise NotPossible(
            "Your role requires codes, so they cannot be turned off; whoever runs the site can reset them."
        )
    if totp_forget(user=user):
        audit_record(project=None, actor=user, action="totp.off", subject=user.uuid)
        sessions_end(user=user, actor=user, but=session)


@transaction.atomic
def totp_reset(*, user: User, actor: User | None) -> bool:
    """Somebody lost phone and paper: codes are off and every session ends; False when there were none."""
    if not totp_forget(user=user):
        return False
    ended = sessions_end(user=user, actor=actor)
    audit_record(project=None, actor=actor, action="totp.reset", subject=user.uuid, sessions=ended)
    return True


def totp_forget(*, user: User) -> bool:
    """Delete phone and recovery codes; whether there was a phone in use."""
    had_device = totp_device(user) is not None
    TOTPDevice.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()
    return had_device


def codes_left(user: User) -> int:
    return StaticToken.objects.filter(device__user=user).count()  # type: ignore[no-any-return]


def _without_phone(user: User) -> None:
    User.objects.select_for_update().get(pk=user.pk)
    if totp_device(user):
        raise NotPossible("You log in with codes already. Turn that off before you set up another phone.")


def code_of(text: str) -> str:
    """Six digits as typed, with spaces; nothing else is a code. (int() would take ``+1_2`` and ``١``.)"""
    digits = "".join(text.split())
    return digits if digits.isascii() and digits.isdigit() and len(digits) == 6 else ""


def recovery_digest(user: User, code: str) -> str:
    plain = "".join(char for char in code.casefold() if char.isalnum())
    return salted_hmac("accounts.totp", f"{user.uuid} {plain}", algorithm="sha256").hexdigest()[:16]


def _devices(user: User) -> list[Device]:
    phones = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=True)
    papers = StaticDevice.objects.select_for_update().filter(user=user, confirmed=True)
    return [*phones, *papers]


def _recovery_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    paper = StaticDevice.objects.create(user=user, name="recovery codes", confirmed=True)
    codes = ["-".join("".join(choice(LETTERS) for _ in range(5)) for _ in range(3)) for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create([StaticToken(device=paper, token=recovery_digest(user, code)) for code in codes])
    return codes


# Tokens


def token_digest(token: str) -> str:
    """Return the digest stored for a token, which holds 256 random bits: a plain hash cannot be turned back."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


@transaction.atomic
def token_create(*, user: User, name: str, scopes: Iterable[str] = tuple(SCOPES), days: int | None = DAYS) -> str:
    """Make a token and return its only copy. Without ``days`` it does not end by itself.

    Raises:
        NotPossible: the name is empty, too long or taken, no scope or an unknown one is asked for, the days are none
            that can be, or the person has too many tokens.
    """
    name = checked_name(name)
    token_scopes = [scope for scope in SCOPES if scope in set(scopes)]
    if not token_scopes or set(scopes) - set(SCOPES):
        raise NotPossible("Say what the token may do: at least one of the scopes.")
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise NotPossible(f"A token ends after 1 to {LONGEST_DAYS} days, or not at all.")
    if len(name) > LONGEST_TOKEN_NAME:
        raise NotPossible(f"The name of a token has at most {LONGEST_TOKEN_NAME} characters.")
    tokens = User.objects.select_for_update().get(pk=user.pk).access_tokens
    if tokens.filter(name=name).exists():
        raise NotPossible(f"You have a token named {name!r} already.")
    if tokens.count() >= MOST:
        raise NotPossible(f"You have {MOST} tokens; revoke one that is not needed any more.")
    token = PREFIX + token_urlsafe(32)
    ends = timezone.now() + timedelta(days=days) if days is not None else None
    row = AccessToken.objects.create(
        user=user, name=name, digest=token_digest(token), scopes=token_scopes, expires_at=ends
    )
    payload = {"scopes": token_scopes, "expires_at": ends}  # not its name: the audit is kept when an identity is not
    audit_record(project=None, actor=user, action="token.create", subject=row.uuid, **payload)
    return token


@transaction.atomic
def token_revoke(*, user: User, uuid: UUID) -> bool:
    """From now on the token opens nothing; False when the person has no such token."""
    row = user.access_tokens.select_for_update().filter(uuid=uuid).first()
    if row is None:
        return False
    audit_record(project=None, actor=user, action="token.revoke", subject=row.uuid)
    row.delete()
    return True


@transaction.atomic
def tokens_revoke(*, user: User) -> int:
    """None of the person's tokens opens anything from now on."""
    ended, _ = user.access_tokens.all().delete()
    if ended:
        audit_record(project=None, actor=user, action="token.revoke", subject=user.uuid, tokens=ended)
    return ended
