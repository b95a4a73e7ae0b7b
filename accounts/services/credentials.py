"""Credentials besides the password: the second step of a log-in, and access tokens of the API.

The second step is a passkey, a code from the person's phone, or one of ten on paper. allauth.mfa holds them and knows
how to check a passkey and a code; what it leaves open is here: a code of the phone works once, whatever process is
asked, the phone's secret is encrypted, and codes on paper are kept as digests. Tokens are kept as digests, too.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from secrets import choice, token_urlsafe
from typing import Any
from uuid import UUID, uuid4

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.app_settings import TOTP_TOLERANCE
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.socialaccount.models import SocialAccount
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.db.models import Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.limits import CODES
from accounts.models import AccessToken, User
from accounts.sessions import sessions_end
from core.audit import audit_record
from core.exceptions import NotPossible
from core.texts import checked_name

Type = Authenticator.Type
PROOF = "password-proof"  # in the session: what the password was when it was given
RECOVERY_CODES = 10
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1
WRONG = "This code is not right. Codes change every 30 seconds and work once."
TOO_MANY = "Too many wrong codes."
CHANGED = "Your account changed a moment ago. Log in once more, then try again."
SECOND_STEP_IS_NEW = "Your account has a second step since a moment ago. Log in once more."
STAYS = "Your role requires a second step, so it cannot be turned off; whoever runs the site can reset it."
LONGEST_KEY_NAME, MOST_KEYS = 40, 10
PREFIX = "mj_"  # so that scanners for leaked secrets can know one
LONGEST_TOKEN_NAME = 100
MOST = 20  # tokens of a person
SCOPES = AccessToken.Scope.values
DAYS = 90  # of a token
LONGEST_DAYS = 3650


def second_steps(user: User) -> QuerySet[Authenticator]:
    """Return phone and passkeys of a person; not the codes on paper, which stand in for them."""
    return Authenticator.objects.filter(user=user, type__in=[Type.TOTP, Type.WEBAUTHN]).order_by("pk")


def phone_of(user: User) -> Authenticator | None:
    return second_steps(user).filter(type=Type.TOTP).first()


def passkeys_of(user: User) -> QuerySet[Authenticator]:
    return second_steps(user).filter(type=Type.WEBAUTHN)


def account_lock(user: User) -> User:
    """Lock the account until the transaction ends, before any row of it, and return it as it is now.

    Raises:
        NotPossible: it was erased, or got another password, since ``user`` was read.
    """
    account = User.objects.select_for_update().get(pk=user.pk)
    if not account.is_active or account.password != user.password:
        raise NotPossible(CHANGED)
    return account


def log_in_check(request: HttpRequest, user: User) -> None:
    """Look once more at what a log-in used, with the account locked.

    Raises:
        NotPossible: a second step or a link with a provider was removed meanwhile, or a second step was set up.
    """
    rows: QuerySet[Any]
    for record in get_authentication_records(request, user):
        if record["method"] == "mfa":
            rows = Authenticator.objects.filter(user=user, pk=record["id"])
        elif record["method"] == "socialaccount":
            rows = SocialAccount.objects.filter(user=user, provider=record["provider"], uid=record["uid"])
        else:
            continue
        if not rows.exists():
            raise NotPossible(CHANGED)
    if second_steps(user).exists() and not second_step_was_taken(request, user):
        raise NotPossible(SECOND_STEP_IS_NEW)


def second_step_was_taken(request: HttpRequest, user: User) -> bool:
    """Whether the log-in of this session took a second step."""
    return any(record["method"] == "mfa" for record in get_authentication_records(request, user))


def second_step_is_required(user: User) -> bool:
    """Whether a role of the person's is one that must log in with a second step."""
    roles = settings.TOTP_REQUIRED_FOR
    return bool(roles) and user.memberships.filter(roles__overlap=list(roles)).exists()


def token_stands(user: User, made_at: datetime) -> bool:
    """Whether a token counts: where a role requires the second step, one made since it was set up."""
    if not second_step_is_required(user):
        return True
    since = second_steps(user).aggregate(since=Min("created_at"))["since"]
    return since is not None and since <= made_at


def phone_begin(*, user: User) -> str:
    """Return a secret for a phone. Raises NotPossible where there is a phone in use."""
    if phone_of(user):
        raise NotPossible("You log in with codes already. Turn that off before you set up another phone.")
    return str(generate_totp_secret())


def phone_confirm(*, user: User, secret: str, code: str, session: str | None) -> list[str]:
    """The phone shows right codes: from now on logging in asks for one. Returns the recovery codes, this once.

    Every other session of the person ends.

    Raises:
        NotPossible: the code is wrong, or there is a phone already.
        TooOften: too many were.
    """
    CODES.try_or_refuse(str(user.uuid), TOO_MANY)
    with transaction.atomic():
        account_lock(user)
        phone_begin(user=user)
        clock = _clock_at(secret, code)
        if clock is None:
            raise NotPossible(WRONG)
        codes = _codes_of_the_first(user)
        Authenticator.objects.create(user=user, type=Type.TOTP, data={"secret": encrypt(secret)} | clock)
        _changed(user, action="totp.confirm", session=session)
    CODES.forget(str(user.uuid))
    return codes


@transaction.atomic
def passkey_add(*, user: User, name: str, credential: dict[str, Any], session: str | None) -> list[str]:
    """Store a passkey that has been checked; returns the recovery codes, where there were none, this once.

    Raises:
        NotPossible: the name is empty or too long, or the person has too many.
    """
    name = checked_name(name)
    account_lock(user)
    if len(name) > LONGEST_KEY_NAME:
        raise NotPossible(f"The name of a passkey has at most {LONGEST_KEY_NAME} characters.")
    if passkeys_of(user).count() >= MOST_KEYS:
        raise NotPossible(f"You have {MOST_KEYS} passkeys; remove one that is not needed any more.")
    codes = _codes_of_the_first(user)
    data = {"uuid": str(uuid4()), "name": name, "credential": credential}
    Authenticator.objects.create(user=user, type=Type.WEBAUTHN, data=data)
    _changed(user, action="passkey.add", session=session)
    return codes


@transaction.atomic
def second_step_remove(*, user: User, session: str | None, passkey: UUID | None = None) -> bool:
    """Remove a passkey, or without one the phone; every other session ends. Whether there was such a thing.

    Raises:
        NotPossible: it is the last, and a role of the person's requires one.
    """
    account_lock(user)
    which = {"data__uuid": str(passkey)} if passkey else {"type": Type.TOTP}
    row = second_steps(user).filter(**which).first()
    if row is None:
        return False
    is_last = not second_steps(user).exclude(pk=row.pk).exists()
    if is_last and second_step_is_required(user):
        raise NotPossible(STAYS)
    row.delete()
    if is_last:
        second_step_forget(user=user)
    if passkey:
        _changed(user, action="passkey.remove", session=session)
    else:
        _changed(user, action="totp.off", session=session)
    return True


def second_step_check(*, user: User, code: str) -> Authenticator:
    """The phone whose code this is, or the paper; neither takes it again.

    Raises:
        NotPossible: the code is wrong.
        TooOften: too many were.
    """
    CODES.try_or_refuse(str(user.uuid), TOO_MANY)
    with transaction.atomic():
        account_lock(user)
        rows = Authenticator.objects.select_for_update().filter(user=user).exclude(type=Type.WEBAUTHN)
        for row in rows.order_by("type"):  # paper first: the phone's secret may be under a key that is lost
            if _use(row, user, code):
                row.save(update_fields=["data"])
                CODES.forget(str(user.uuid))
                return row
    raise NotPossible(WRONG)


def _use(row: Authenticator, user: User, code: str) -> bool:
    """Whether the code is of this phone or paper; it is used up in ``row.data``, which is locked and not saved yet."""
    if row.type == Type.TOTP:
        secret = decrypt(row.data["secret"])
        clock = _clock_at(secret, code, row.data["drift"])
        if clock is None or clock["counter"] <= row.data["counter"]:
            return False
        row.data |= clock | {"secret": encrypt(secret)}  # under the key of now
        return True
    digests = [digest for digest in recovery_digests(user, code) if digest in row.data["digests"]]
    if not digests:
        return False
    row.data["digests"].remove(digests[0])
    audit_record(project=None, actor=user, action="totp.recover", subject=user.uuid)
    return True


def _clock_at(secret: str, code: str, drift: int = 0) -> dict[str, int] | None:
    """Return the half minute whose code this is, of those near now, and how many the phone's clock is ahead of ours."""
    for step, now in enumerate(yield_hotp_counters_from_time(), start=drift - TOTP_TOLERANCE):
        counter = now + drift
        if compare_digest(format_hotp_value(hotp_value(secret, counter)), code_of(code)):
            return {"counter": counter, "drift": step}
    return None


@transaction.atomic
def recovery_codes_renew(*, user: User) -> list[str]:
    """Ten new recovery codes; the old ones are void."""
    account_lock(user)
    if not second_steps(user).exists():
        raise NotPossible("You log in without a second step.")
    audit_record(project=None, actor=user, action="totp.codes", subject=user.uuid)
    return _recovery_codes(user)


@transaction.atomic
def second_step_reset(*, user: User, actor: User | None) -> bool:
    """Somebody lost phone, passkeys and paper: all are off and every session ends; False when there were none."""
    User.objects.select_for_update().get(pk=user.pk)
    if not second_step_forget(user=user):
        return False
    ended = sessions_end(user=user, actor=actor)
    audit_record(project=None, actor=actor, action="totp.reset", subject=user.uuid, sessions=ended)
    return True


def second_step_forget(*, user: User) -> bool:
    """Delete phone, passkeys and recovery codes; whether there were any."""
    return bool(Authenticator.objects.filter(user=user).delete()[0])


def codes_left(user: User) -> int:
    paper = Authenticator.objects.filter(user=user, type=Type.RECOVERY_CODES).first()
    return len(paper.data["digests"]) if paper else 0


def code_of(text: str) -> str:
    """Six digits as typed, with spaces; nothing else is a code. (int() would take ``+1_2`` and ``١``.)"""
    digits = "".join(text.split())
    return digits if digits.isascii() and digits.isdigit() and len(digits) == 6 else ""


def recovery_digests(user: User, code: str) -> list[str]:
    """Return what is stored of a recovery code: under the site's key, then under its former ones."""
    plain = "".join(char for char in code.casefold() if char.isalnum())
    return [digest[:16] for digest in keyed_digests("accounts.totp", f"{user.uuid} {plain}")]


def _codes_of_the_first(user: User) -> list[str]:
    return [] if second_steps(user).exists() else _recovery_codes(user)


def _recovery_codes(user: User) -> list[str]:
    codes = ["-".join("".join(choice(LETTERS) for _ in range(5)) for _ in range(3)) for _ in range(RECOVERY_CODES)]
    data = {"digests": [recovery_digests(user, code)[0] for code in codes]}
    paper = {"data": data, "created_at": timezone.now(), "last_used_at": None}
    Authenticator.objects.update_or_create(user=user, type=Type.RECOVERY_CODES, defaults=paper)
    return codes


def _changed(user: User, *, action: str, session: str | None) -> None:
    audit_record(project=None, actor=user, action=action, subject=user.uuid)
    sessions_end(user=user, actor=user, but=session)


def encrypt(text: str) -> str:
    """Encrypt what has to be known again, under the site's key."""
    return _fernet(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).encrypt(text.encode()).decode()


def decrypt(text: str, *, within_s: int | None = None) -> str:
    """Undo ``encrypt``.

    Raises:
        NotPossible: that was done under a key that the site no longer knows, or longer ago than ``within_s`` seconds.
    """
    try:
        return _fernet(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS).decrypt(text, within_s).decode()
    except InvalidToken:
        raise NotPossible(
            "The site has another key since you set up your phone, so its codes cannot be checked."
            " Ask whoever runs the site to reset the second step."
        ) from None


def keyed_digests(salt: str, text: str) -> list[str]:
    """Return the digest of a text under the site's key, in hexadecimal, then under each of its former keys."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [salted_hmac(salt, text, secret=key, algorithm="sha256").hexdigest() for key in keys]


@lru_cache(maxsize=4)
def _fernet(*keys: str) -> MultiFernet:
    digests = (salted_hmac("accounts.secrets", "", secret=key, algorithm="sha256").digest() for key in keys)
    return MultiFernet([Fernet(urlsafe_b64encode(digest)) for digest in digests])


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
    tokens = account_lock(user).access_tokens
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
    User.objects.select_for_update().get(pk=user.pk)
    row = user.access_tokens.filter(uuid=uuid).first()
    if row is None:
        return False
    audit_record(project=None, actor=user, action="token.revoke", subject=row.uuid)
    row.delete()
    return True


@transaction.atomic
def tokens_revoke(*, user: User) -> int:
    """None of the person's tokens opens anything from now on."""
    User.objects.select_for_update().get(pk=user.pk)
    ended, _ = user.access_tokens.all().delete()
    if ended:
        audit_record(project=None, actor=user, action="token.revoke", subject=user.uuid, tokens=ended)
    return ended
