"""Tell django-allauth how this site has it: limits, secrets, and that it keeps no address, no e-mail and no name."""

import logging
from ipaddress import ip_address
from typing import Any

import segno
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.internal.stagekit import clear_login
from allauth.account.models import Login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import redirect
from django.urls import reverse

from accounts.limits import (
    LOGINS_TO,
    PASSWORDS,
    address_block,
    logins_from,
    logins_to_from,
    tries_of,
)
from accounts.models import User
from accounts.services import credentials
from core.error_pages import locked_out
from core.exceptions import NotPossible

logger = logging.getLogger(__name__)
NAME = "MomentJudge"
TOO_MANY_FROM = "Too many wrong log-ins came from your network address."
TOO_MANY_TO = (
    "Too many wrong passwords for this user name, from many places. A link to a new password lets you in at once:"
    " ask for one, or ask the lead of your project."
)
NO_ANSWER = "Logging in by {name} did not work: try again, or log in with your password."


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # people join by an invitation, or where a project takes whoever comes

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"]

    def is_ajax(self, request: HttpRequest) -> bool:
        return False  # pages are pages, whoever asks

    def add_message(
        self, request: HttpRequest, level: int, *args: Any, message: str | None = None, **more: Any
    ) -> None:
        """Say only what has words of ours: those of the library's templates are of other pages."""
        if message:
            messages.add_message(request, level, message)

    def pre_authenticate(self, request: HttpRequest, **fields: Any) -> None:
        """Every try counts until it went well: by where it comes from, by name and address, and by the name alone.

        The address is first: one that has none left stores nothing for each name that it invents.
        """
        name, address = tries_of(fields["username"]), address_block(request)
        self._both = (logins_to_from(), f"{name} {address}")
        self._others = [(logins_from(), address), (LOGINS_TO, name)]
        logins_from().try_or_refuse(address, TOO_MANY_FROM)
        both, who = self._both
        if not both.try_once(who):
            logins_from().take_back(address)
            raise ImmediateHttpResponse(locked_out(request))
        LOGINS_TO.try_or_refuse(name, TOO_MANY_TO)
        self._is_counted = True

    def authenticate(self, request: HttpRequest, **fields: Any) -> User | None:
        self._is_counted = False
        try:
            user: User | None = super().authenticate(request, **fields)
        except Exception:  # nothing was checked, as when too many passwords wait to be
            for limit, whose in (self._both, *self._others) if self._is_counted else ():
                limit.take_back(whose)
            raise
        both, who = self._both
        if user is not None:
            both.forget(who)
            for limit, whose in self._others:
                limit.take_back(whose)
        elif both.is_used_up(who):
            raise ImmediateHttpResponse(locked_out(request))
        return user

    def reauthenticate(self, user: User, password: str) -> bool:
        """Whether it is the password of who is logged in. Raises TooOften where it was wrong too often of late."""
        PASSWORDS.try_or_refuse(str(user.uuid), "Too many wrong passwords.")
        try:
            is_right = user.check_password(password)
        except Exception:  # nothing was checked
            PASSWORDS.take_back(str(user.uuid))
            raise
        if is_right:
            PASSWORDS.forget(str(user.uuid))
        return is_right

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        methods = [("password", "account_reauthenticate", user.is_authenticated and user.has_usable_password())]
        has_passkey = user.is_authenticated and credentials.passkeys_of(user).exists()
        methods += [("passkey", "mfa_reauthenticate_webauthn", has_passkey)]
        return [{"id": name, "description": name, "url": reverse(page)} for name, page, there in methods if there]

    def pre_login(self, request: HttpRequest, user: User, **more: Any) -> HttpResponse | None:
        request.session.cycle_key()
        request.session[credentials.PROOF] = user.get_session_auth_hash()  # a password changed meanwhile ends the wait
        return super().pre_login(request, user, **more)

    def log_in(self, request: HttpRequest, user: User, redirect_url: str | None) -> HttpResponse:
        """Log in who gave the right password; where they have a second step, ask for it."""
        return perform_password_login(request, {}, Login(user=user, redirect_url=redirect_url))

    @transaction.atomic
    def login(self, request: HttpRequest, user: User) -> None:
        """Store the session, or have the log-in begin again where what it was checked against is no longer so.

        Whoever changes that later locks the account, too, and ends this session with the others.
        """
        try:
            account = credentials.account_lock(user)
            credentials.log_in_check(request, account)
        except NotPossible as reason:
            clear_login(request)
            raise refused(request, str(reason), "login") from reason
        super().login(request, account)
        request.session.save()

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        messages.error(request, "This account is no longer in use.")
        return redirect("login")


class SecondStepAdapter(DefaultMFAAdapter):
    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": "This passkey was not accepted. Try again."}

    def encrypt(self, text: str) -> str:
        return credentials.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return credentials.decrypt(encrypted_text)

    def get_totp_issuer(self) -> str:
        return NAME

    def _get_site_name(self) -> str:
        return NAME

    def _get_user_identifier(self, user: User) -> str:
        return user.username

    def generate_authenticator_name(self, user: User, type: Any) -> str:
        return f"Passkey {credentials.passkeys_of(user).count() + 1}"

    def build_totp_svg(self, url: str) -> str:
        """A QR code as an SVG element without style, which the content security policy would drop.

        It has no size but a view box: in a narrow place it is made smaller, not cut off.
        """
        form = {"scale": 5, "border": 4, "dark": "#000", "light": "#fff", "svgclass": "qr", "omitsize": True}
        return str(segno.make(url, error="m").svg_inline(title="The secret as a QR code", **form))


class ProviderAdapter(DefaultSocialAccountAdapter):
    def on_authentication_error(self, request: HttpRequest, provider: Any, exception: Any = None, **more: Any) -> None:
        page = "account" if request.user.is_authenticated else "login"
        raise refused(request, NO_ANSWER.format(name=provider.name), page, reason=type(exception).__name__)


def refused(request: HttpRequest, words: str, page: str, *, reason: str = "") -> ImmediateHttpResponse:
    """Return an exception that ends the request at this page, which shows ``words``; ``reason`` is for the log."""
    logger.warning("refused: %s%s", words, f" ({reason})" if reason else "")
    messages.error(request, words)
    return ImmediateHttpResponse(redirect(page))


def no_passkeys(request: HttpRequest) -> str:
    """Why browsers make no passkey for this address; empty where they do."""
    host, _ = split_domain_port(request.get_host())
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        is_local = host == "localhost" or host.endswith(".localhost")
        if request.is_secure() or is_local:
            return ""
        return "Browsers make passkeys only for sites whose address begins with https://, or for localhost."
    return (
        "Browsers make passkeys for names, not for numbers: open this site by its name"
        f" (on this machine http://localhost:{request.get_port()})."
    )


def passkeys_or_refuse(request: HttpRequest) -> None:
    if reason := no_passkeys(request):
        raise NotPossible(reason)
