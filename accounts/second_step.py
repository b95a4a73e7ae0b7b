"""The second step of a log-in: asking for the code or the passkey, and the page where people set it up, renew it, turn
it off. allauth checks, and holds the log-in that waits."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from uuid import UUID

from allauth.account.internal.flows.login import (
    AUTHENTICATION_METHODS_SESSION_KEY,
    get_authentication_records,
    perform_login,
    record_authentication,
)
from allauth.account.internal.flows.reauthentication import (
    raise_if_reauthentication_required,
    reauthenticate_by_password,
)
from allauth.account.internal.stagekit import clear_login
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import BaseReauthenticateView, ReauthenticateView
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal import auth as webauthn
from allauth.mfa.webauthn.views import AddWebAuthnView, LoginWebAuthnView, ReauthenticateWebAuthnView
from cryptography.exceptions import InvalidSignature
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.adapters import AccountAdapter, no_passkeys, passkeys_or_refuse
from accounts.limits import BEGINNINGS_FROM, CODES, TOO_MANY_BEGINNINGS, address_block
from accounts.middleware import BEFORE_ALLAUTH
from accounts.models import User
from accounts.services import credentials
from core.exceptions import NotPossible

BEGUN = "second-step-begun"  # in the session that gave the password: the phone's secret, encrypted
NOT_YOURS = "This is not your password."
REMOVED = "This second step was removed a moment ago. Log in once more."
TOO_LATE = "You have begun too long ago to set up a phone. Begin once more."
CODE_ATTRS = {"autocomplete": "one-time-code", "autofocus": True, "autocapitalize": "none", "spellcheck": "false"}


class CodeForm(AuthenticateForm):
    code = forms.CharField(max_length=40, widget=forms.TextInput(CODE_ATTRS))

    def clean_code(self) -> str:
        code = str(self.cleaned_data["code"])
        try:
            self.authenticator = credentials.second_step_check(user=self.user, code=code)
        except NotPossible as refused:
            raise forms.ValidationError(str(refused)) from refused
        return code


class PhoneForm(forms.Form):
    code = CodeForm.base_fields["code"]


class PasswordForm(forms.Form):
    password = forms.CharField(
        max_length=4096,
        strip=False,
        label="Your password",
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class ConfirmForm(PasswordForm):
    def __init__(self, *args: Any, user: User, **values: Any) -> None:
        super().__init__(*args, **values)
        self.user = user

    def clean_password(self) -> str:
        if not AccountAdapter().reauthenticate(self.user, self.cleaned_data["password"]):
            raise forms.ValidationError(NOT_YOURS)
        return str(self.cleaned_data["password"])


class KeyForm(AddWebAuthnForm):
    passwordless = None
    name = forms.CharField(max_length=credentials.LONGEST_KEY_NAME, required=False)

    def clean(self) -> dict[str, Any]:
        with answer_checked():
            return super().clean()


class PasskeyAnswer:
    """A form for the answer of a passkey; where it is known whose, wrong ones count as wrong codes do."""

    user: User | None

    def clean_credential(self) -> Any:
        if self.user:
            CODES.try_or_refuse(str(self.user.uuid), credentials.TOO_MANY)
        with answer_checked():
            self.authenticator = super().clean_credential()  # type: ignore[misc]
        if self.user:
            CODES.forget(str(self.user.uuid))
        return self.authenticator


class KeyLogInForm(PasskeyAnswer, LoginWebAuthnForm):
    pass


class KeyCodeForm(PasskeyAnswer, AuthenticateWebAuthnForm):
    pass


class KeyConfirmForm(PasskeyAnswer, ReauthenticateWebAuthnForm):
    pass


@contextmanager
def answer_checked() -> Iterator[None]:
    """Refuse an answer that no browser gives: the library fails at it with whatever it meets."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, InvalidSignature) as error:
        raise get_adapter().validation_error("incorrect_code") from error


class LogInCode(AuthenticateView):
    """Where the log-in asks for the code, or for the passkey."""

    template_name = "accounts/login_code.html"
    form_class = CodeForm
    webauthn_form_class = KeyCodeForm

    def _build_forms(self) -> Any:
        user = self.stage.login.user
        if not user.is_active or user.get_session_auth_hash() != self.request.session.get(credentials.PROOF):
            raise ImmediateHttpResponse(self.stage.abort())
        return super()._build_forms()

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context = super().get_context_data(**values)
        user = self.stage.login.user
        has_passkey, reason = credentials.passkeys_of(user).exists(), no_passkeys(self.request)
        context |= {"phone": credentials.phone_of(user), "no_passkeys": reason if has_passkey else ""}
        use_passkey = has_passkey and not reason
        return context | {"options": options(context["js_data"]["request_options"]) if use_passkey else ""}

    def form_valid(self, form: Any) -> HttpResponse:
        use_record(self.request, form.authenticator)
        return cast(HttpResponse, self.stage.exit())

    def form_invalid(self, form: Any) -> HttpResponse:
        answer = super().form_invalid(form)
        answer.status_code = 422
        return answer


def use_record(request: HttpRequest, authenticator: Authenticator, **how: bool) -> None:
    """Remember in the session that this was used. Raises NotPossible where it was removed since it was checked."""
    if not Authenticator.objects.filter(pk=authenticator.pk).update(last_used_at=timezone.now()):
        raise NotPossible(REMOVED)
    record_authentication(request, authenticator.user, "mfa", id=authenticator.pk, type=authenticator.type, **how)


class PasskeyLogIn(LoginWebAuthnView):
    """Logging in by a passkey alone, which asks its person for a finger or a PIN: it is both steps."""

    form_class = KeyLogInForm

    def get(self, request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        """Say what to ask the browser for; people are sent to the log-in."""
        if not request.accepts("application/json") or request.accepts("text/html"):
            return redirect("login")
        BEGINNINGS_FROM.try_or_refuse(address_block(request), TOO_MANY_BEGINNINGS)  # a session is stored for each
        return JsonResponse(dict(webauthn.begin_authentication()))

    def _redirect_to_pending_stage(self, request: HttpRequest, stage: Any) -> None:
        """Forget a log-in that waits for its second step, and the challenge that it sent to a passkey."""
        clear_login(request)
        webauthn.clear_state()

    def form_valid(self, form: Any) -> HttpResponse:
        login = Login(user=form.authenticator.user, redirect_url=get_next_redirect_url(self.request))
        use_record(self.request, form.authenticator, passwordless=True)
        return perform_login(self.request, login)


class Confirm(ReauthenticateView):
    """Who is logged in says once more who they are, before what would let others keep the account."""

    template_name = "accounts/confirm.html"
    form_class = ConfirmForm

    def get_form_class(self) -> Any:
        return self.form_class

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)

    def form_valid(self, form: Any) -> HttpResponse:
        session_keep(self.request, cast(User, self.request.user))
        return super().form_valid(form)


class ConfirmByPasskey(ReauthenticateWebAuthnView):
    template_name = "accounts/confirm_passkey.html"
    form_class = KeyConfirmForm

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        context = super().get_context_data(**values)
        return context | {"options": options(context["js_data"]["request_options"])}

    def form_valid(self, form: Any) -> HttpResponse:
        use_record(self.request, form.authenticator, reauthenticated=True)
        return BaseReauthenticateView.form_valid(self, form)

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


class PasskeyAdd(AddWebAuthnView):
    """A new passkey, which logs in by itself and is the second step of a password."""

    template_name = "accounts/passkey_add.html"
    form_class = KeyForm

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        passkeys_or_refuse(self.request)
        context = super(AddWebAuthnView, self).get_context_data(**values)
        return context | {"options": options(webauthn.begin_registration(self.request.user, True))}

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)

    def form_valid(self, form: Any) -> HttpResponse:
        user, key = cast(User, self.request.user), self.request.session.session_key
        codes = credentials.passkey_add(user=user, session=key, **form.cleaned_data)
        record_authentication(self.request, user, "mfa", type="webauthn")
        messages.success(self.request, "Your passkey is set up. Wherever else you were logged in, you are no more.")
        return _show(self.request, codes=codes) if codes else redirect("totp")


def options(requested: Any) -> str:
    return json.dumps(dict(requested))


@login_required
@require_POST
def passkey_remove(request: HttpRequest, passkey_uuid: UUID) -> HttpResponse:
    if not credentials.passkeys_of(cast(User, request.user)).filter(data__uuid=str(passkey_uuid)).exists():
        raise Http404
    raise_if_reauthentication_required(request, app="allauth.mfa")
    return _remove(request, "Removed. This passkey opens nothing any more.", passkey=passkey_uuid)


def _remove(request: HttpRequest, words: str, *, passkey: UUID | None = None) -> HttpResponse:
    user = cast(User, request.user)
    if not credentials.second_step_remove(user=user, session=request.session.session_key, passkey=passkey):
        raise Http404
    if not credentials.second_steps(user).exists():
        request.session.pop(BEFORE_ALLAUTH, None)
        records = get_authentication_records(request, user)
        request.session[AUTHENTICATION_METHODS_SESSION_KEY] = [one for one in records if one["method"] != "mfa"]
    messages.success(request, words)
    return redirect("totp" if passkey else "account")


@login_required
@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """Whether logging in asks for a second step; setting it up: POST confirms the phone by a first code."""
    form, secret = PhoneForm(request.POST or None), secret_begun(request)
    if request.method == "POST" and not secret:
        messages.error(request, TOO_LATE)
        return redirect("totp")
    if request.method == "POST" and form.is_valid():
        user, key = cast(User, request.user), request.session.session_key
        try:
            code = form.cleaned_data["code"]
            codes = credentials.phone_confirm(user=user, secret=secret, code=code, session=key)
        except NotPossible as refused:
            form.add_error("code", str(refused))
        else:
            del request.session[BEGUN]
            record_authentication(request, user, "mfa", type="totp")
            return _show(request, codes=codes) if codes else redirect("totp")
    return _show(request, form=form, status=422 if form.errors else 200)


def secret_begun(request: HttpRequest) -> str:
    """Return the secret of the phone that this session sets up; empty where there is none, or the password is old."""
    try:
        return credentials.decrypt(request.session[BEGUN], within_s=settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)
    except (KeyError, NotPossible):
        request.session.pop(BEGUN, None)
        return ""


@login_required
@sensitive_post_parameters("password")
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """A new secret, for whoever knows the password; the browser that asked for it alone is shown it."""
    form = check_password_form(request)
    if form.errors:
        return _show(request, begin_form=form, status=422)
    request.session[BEGUN] = credentials.encrypt(credentials.phone_begin(user=cast(User, request.user)))
    return redirect("totp")


@login_required
@sensitive_post_parameters("password")
@require_POST
def codes_renew(request: HttpRequest) -> HttpResponse:
    """Ten new recovery codes, shown this once."""
    form = check_password_form(request)
    if form.errors:
        return _show(request, codes_form=form, status=422)
    return _show(request, codes=credentials.recovery_codes_renew(user=cast(User, request.user)))


@login_required
@sensitive_post_parameters("password")
@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    form = check_password_form(request)
    if form.errors:
        return _show(request, off_form=form, status=422)
    return _remove(request, "Turned off. Logging in asks for no code any more.")


def check_password_form(request: HttpRequest) -> PasswordForm:
    """The form, with an error unless the password is the person's; wrong ones are counted."""
    form = PasswordForm(request.POST)
    if form.is_valid() and not password_is_right(request, form.cleaned_data["password"]):
        form.add_error("password", NOT_YOURS)
    return form


def password_is_right(request: HttpRequest, password: str) -> bool:
    """Whether it is the password of who is logged in; TooOften where it was wrong too often of late."""
    user = cast(User, request.user)
    is_right = AccountAdapter().reauthenticate(user, password)
    if is_right:
        session_keep(request, user)
        reauthenticate_by_password(request)
    return is_right


def session_keep(request: HttpRequest, user: User) -> None:
    """A hash that was made at another price is made anew when the password is checked; that logs nobody out here."""
    if user.get_session_auth_hash() != request.session.get(HASH_SESSION_KEY):
        update_session_auth_hash(request, user)


def _show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    user = cast(User, request.user)
    phone = credentials.phone_of(user)
    secret = "" if phone else secret_begun(request)
    context = {"phone": phone, "passkeys": credentials.passkeys_of(user), "no_passkeys": no_passkeys(request)}
    context |= {"codes_left": credentials.codes_left(user), "form": PhoneForm()}
    context |= {f"{name}_form": PasswordForm(auto_id=f"{name}_%s") for name in ("begin", "codes", "off")}
    context |= {"is_required": credentials.second_step_is_required(user)}
    if secret:
        adapter, typed = get_adapter(), secret.rstrip("=")
        context["picture"] = adapter.build_totp_svg(adapter.build_totp_url(user, secret))
        context["secret"] = " ".join(typed[at : at + 4] for at in range(0, len(typed), 4))
    answer = render(request, "accounts/second_step.html", context | more, status=status)
    answer["Cache-Control"] = "no-store"
    return answer
