"""Who somebody is: their account, name and e-mail; and how to be forgotten.

Nothing here reaches the audit but which of these was touched: the audit is kept when an identity is not.
"""

import logging
from functools import partial
from secrets import token_urlsafe
from typing import Any, NamedTuple
from uuid import uuid4

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.dispatch import Signal
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.limits import MAILS_FROM, MAILS_TO, once
from accounts.models import Identity, Membership, Project, User
from accounts.services.credentials import account_lock, second_step_forget
from accounts.sessions import sessions_end
from core.audit import audit_record
from core.exceptions import Busy, NotPossible
from core.jobs import durable
from core.messages import send_now

logger = logging.getLogger(__name__)
ERASED = "erased-"  # how the user name of a forgotten account begins
identity_forgotten = Signal()  # with `user`, in the transaction: other apps drop what they hold of them
NO_MAIL = "This site sends no e-mail. Ask the lead of your project for a link to a new password."
NOBODY = 0  # no account's; the broker is asked all the same, so that its answer tells nothing of the address
RESET_TASK = "accounts.tasks.password_link_mail"
CHANGED_TASK = "accounts.tasks.email_changed_mail"
NAME_TAKEN = "This user name is taken. Choose another."
OTHERS = "This log-in is linked with another account."
EMAIL_TAKEN = "This e-mail address belongs to another account. Log in with that one, or use another address."
RESET_SUBJECT = "MomentJudge: a new password"
RESET_WORDS = """Somebody, probably you, asked for a new password for your MomentJudge account {username}.

Choose it here within a day:
{link}

If it was not you, nothing needs to be done; your password stays as it is.
"""
CHANGED_SUBJECT = "MomentJudge: your e-mail address was changed"
CHANGED_WORDS = """The e-mail address of your MomentJudge account is no longer this one. Nothing more is sent here.

If it was not you, tell the lead of your project at once.
"""


class NewAccount(NamedTuple):
    """Details given by somebody who has no account."""

    username: str
    password: str
    name: str
    email: str = ""


@transaction.atomic
def account_create(new: NewAccount) -> User:
    """Create an account with its identity; NotPossible where its user name or e-mail address is another's."""
    if User.objects.filter(username__iexact=User.normalize_username(new.username)).exists():
        raise NotPossible(NAME_TAKEN)
    try:
        with transaction.atomic():
            user = User.objects.create_user(new.username, new.password)
    except IntegrityError as error:  # somebody was faster
        raise NotPossible(NAME_TAKEN) from error
    identity_set(user=user, name=new.name, email=new.email)
    return user


@transaction.atomic
def identity_set(*, user: User, name: str, email: str) -> Identity:
    """Set name and e-mail address, which may be empty; NotPossible where the address is another account's."""
    account_lock(user)
    values = {"name": name.strip(), "email": email.strip()}
    old_identity = Identity.objects.filter(user=user).first()
    changed = sorted(field for field, value in values.items() if value != getattr(old_identity, field, ""))
    try:
        with transaction.atomic():
            identity, _ = Identity.objects.update_or_create(user=user, defaults=values)
    except IntegrityError as error:
        raise NotPossible(EMAIL_TAKEN) from error
    if old_identity and old_identity.email and "email" in changed and settings.EMAIL_HOST:
        transaction.on_commit(partial(_notify_former_address, old_identity.email))
    if changed:
        audit_record(project=None, actor=user, action="identity.set", subject=user.uuid, changed=", ".join(changed))
    return identity


@transaction.atomic
def identity_erase(*, user: User, actor: User, project: Project) -> None:
    """Forget who an annotator is: nobody can log in as them again. Numbers, judgments and pay stay.

    Repeating it changes nothing.

    Raises:
        NotPossible: the actor does not lead every project that the person has a role in.
    """
    account_led_or_refused(user=user, lead=actor)
    identity_forget(user=user, actor=actor, project=project)


@transaction.atomic
def identity_forget(*, user: User, actor: User | None, project: Project | None, reason: str = "") -> None:
    """As ``identity_erase``, of anybody, by whom the site itself listens to: its commands and its retention."""
    account = User.objects.select_for_update().get(pk=user.pk)
    if not account.is_active and account.username.startswith(ERASED):
        return
    for identity in Identity.objects.filter(user=account):
        if identity.email:  # an invitation may wait under the same address
            Identity.objects.filter(user=None, email__iexact=identity.email).delete()
        identity.delete()
    account.username = f"{ERASED}{token_urlsafe(16)}"
    account.set_unusable_password()
    account.is_active = False  # ends every session: see accounts.sessions
    account.last_login = None
    account.save()
    tokens, _ = account.access_tokens.all().delete()
    account.browser_sessions.all().delete()
    second_step_forget(user=account)
    for table in (SocialAccount, EmailAddress):
        table.objects.filter(user=account).delete()
    identity_forgotten.send(sender=User, user=account)
    facts: dict[str, object] = {"tokens": tokens, **({"reason": reason} if reason else {})}
    audit_record(project=project, actor=actor, action="identity.erase", subject=account.uuid, **facts)
    logger.info("identity of account %s erased", account.pk)


@transaction.atomic
def provider_link(*, user: User, provider: str, uid: str) -> None:
    """Let whoever is ``uid`` at the provider log in as the person.

    Raises:
        NotPossible: they log in as somebody else already, or the account changed meanwhile.
    """
    account_lock(user)
    link, is_new = SocialAccount.objects.get_or_create(provider=provider, uid=uid, defaults={"user": user})
    if link.user_id != user.pk:
        raise NotPossible(OTHERS)
    if is_new:
        audit_record(project=None, actor=user, action="provider.link", subject=user.uuid, provider=provider)


@transaction.atomic
def provider_unlink(*, user: User, provider: str, session: str | None) -> bool:
    """Let nobody log in by the provider any more, and end every other session; whether there was a link.

    Raises:
        NotPossible: the person has no password to log in with.
    """
    if not account_lock(user).has_usable_password():
        raise NotPossible("Set a password first: without one nothing would let you in any more.")
    if not SocialAccount.objects.filter(user=user, provider=provider).delete()[0]:
        return False
    audit_record(project=None, actor=user, action="provider.unlink", subject=user.uuid, provider=provider)
    sessions_end(user=user, actor=user, but=session)
    return True


def account_led_or_refused(*, user: User, lead: User) -> None:
    """An account is one for all projects, so only who leads all of them may touch it, and never another lead's.

    Raises:
        NotPossible: the person leads or administers a project, or is an annotator where ``lead`` does not lead.
    """
    if user.memberships.filter(roles__overlap=Membership.STAFF).exists():
        raise NotPossible("This person leads or administers another project; nobody else can change their account.")
    led = lead.memberships.filter(roles__contains=["lead"]).values("project")
    if user.memberships.exclude(project__in=led).exists():
        raise NotPossible("This person also works in a project that you do not lead; its lead must take part in this.")


class PasswordLinks(PasswordResetTokenGenerator):
    """Django's links to new passwords, which end with the e-mail address, too, that they may have been sent to."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        identity = getattr(user, "identity", None)
        return f"{super()._make_hash_value(user, timestamp)}{identity.email if identity else ''}"


password_links = PasswordLinks()


def password_link(user: User) -> str:
    """The path of a page where the person chooses a new password, once, within a day."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("password-choose", args=[uid, password_links.make_token(user)])


def password_reset_request(*, email: str, address: str) -> None:
    """Send whoever has this address a link to a new password; nobody learns here whether somebody has.

    Nor does anybody learn that an address was written to often enough for now.

    Raises:
        NotPossible: this site sends no messages.
        TooOften: whoever asks (``address``) has asked too often.
        Busy: the broker is away, whoever asks.
    """
    if not settings.EMAIL_HOST:
        raise NotPossible(NO_MAIL)
    MAILS_FROM.try_or_refuse(address, "Too many links to new passwords were asked for from here.")
    if not MAILS_TO.try_once(email.strip()):
        return
    user_ids = [user.pk for user in _accounts_of(email)] or [NOBODY]
    if not all(send_now(RESET_TASK, pk, uuid4().hex) for pk in user_ids):
        MAILS_FROM.take_back(address)
        MAILS_TO.take_back(email.strip())
        raise Busy("No message can be sent just now. Try again in some minutes; this try does not count.")


@durable(RESET_TASK, autoretry_for=())
def password_link_mail(*, user_id: int, request: str = "") -> None:
    """Write the message, once for each ``request``; one whose worker was killed is written when it is repeated."""
    user = User.objects.filter(pk=user_id, is_active=True).select_related("identity").first()
    if user is None or not getattr(user, "identity", None) or not user.identity.email:
        return
    words = RESET_WORDS.format(username=user.username, link=settings.SITE_URL + password_link(user))
    with once(request or uuid4().hex) as is_due:
        if is_due:
            send_mail(RESET_SUBJECT, words, None, [user.identity.email])


def _notify_former_address(email: str) -> None:
    """No row holds the address any more, so no sweep would find it: without a broker the message is written here."""
    request = uuid4().hex
    if send_now(CHANGED_TASK, email, request):
        return
    try:
        email_changed_mail(email=email, request=request)
    except OSError as error:
        logger.error("who changed their e-mail address was not told at the former one: %s", error)


@durable(CHANGED_TASK, autoretry_for=())
def email_changed_mail(*, email: str, request: str) -> None:
    """Tell the address that an account had, as above."""
    with once(request) as is_due:
        if is_due:
            send_mail(CHANGED_SUBJECT, CHANGED_WORDS, None, [email])


def _accounts_of(email: str) -> QuerySet[User]:
    if not email:
        return User.objects.none()
    return User.objects.filter(identity__email__iexact=email, is_active=True, is_simulated=False)
