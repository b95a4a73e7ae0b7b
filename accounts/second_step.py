"""The second step of a log-in: asking for the code, and the page where people set it up, renew it, turn it off."""

import time
from datetime import timedelta
from typing import Any, cast

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp import login as device_remember
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from accounts.services import credentials
from accounts.services.throttles import Limit, throttle_forget, throttle_or_refuse
from core.exceptions import NotPossible
from core.refusals import refusal_log

WAITING = "second-step"  # in the session: who gave the right password and owes the code
WAITS_S = 600
BEGUN = "second-step-begun"  # in the session that gave the password: the phone whose secret it may show
BACKEND = "accounts.sessions.AccountBackend"
PASSWORDS = Limit("password asked", 6, timedelta(minutes=15))
TOO_MANY_PASSWORDS = "Too many wrong passwords."
NOT_YOURS = "This is not your password."
FREE = {  # what people who have to set it up may open before they did
    *("login", "login-code", "logout", "account", "password-change", "password-forgotten", "password-choose"),
    *("totp", "totp-begin", "totp-codes", "totp-off", "session-end", "sessions-end"),
    *("healthz", "readyz", "help", "api-schema", "api-docs"),
}
REQUIRED = "Your role asks for a second step when you log in. Set it up first; then everything opens."


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=40,
        widget=forms.TextInput(
            {"autocomplete": "one-time-code", "autofocus": True, "autocapitalize": "none", "spellcheck": "false"}
        ),
    )


class PasswordForm(forms.Form):
    password = forms.CharField(
        max_length=4096,
        strip=False,
        label="Your password",
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class SecondStepMiddleware(MiddlewareMixin):
    """Whose role requires the second step gets nothing of a session that began without it.

    Programs come without a session; accounts.tokens looks at when their token was made.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not settings.TOTP_REQUIRED_FOR or _is_free(request) or not _owes_code(request):
            return None
        if request.path.startswith("/api/"):
            answer = JsonResponse({"code": "totp_required", "message": REQUIRED}, status=403)
            return refusal_log(request, answer, REQUIRED)
        if getattr(request, "htmx", False):
            return HttpResponseClientRedirect(reverse("totp"))
        messages.info(request, REQUIRED)
        return redirect("totp")


def _is_free(request: HttpRequest) -> bool:
    scheme = str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")[0].lower()
    is_program = request.path.startswith("/api/") and scheme == "bearer"
    return is_program or (request.resolver_match is not None and request.resolver_match.view_name in FREE)


def _owes_code(request: HttpRequest) -> bool:
    if not request.user.is_authenticated or DEVICE_ID_SESSION_KEY in request.session:
        return False
    return credentials.totp_is_required(request.user)


def code_ask(request: HttpRequest, user: User, then: str) -> HttpResponse:
    """The password was right; nobody is logged in before the code is, too."""
    request.session.cycle_key()
    waiting_login = {
        "user": user.pk,
        "proof": user.get_session_auth_hash(),
        "until": time.time() + WAITS_S,
        "then": then,
    }
    request.session[WAITING] = waiting_login
    return redirect("login-code")


@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def login_code(request: HttpRequest) -> HttpResponse:
    """Where the log-in asks for the code."""
    user = _waiting(request)
    if user is None:
        request.session.pop(WAITING, None)
        messages.info(request, "Log in with your password first.")
        return redirect("login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device = credentials.totp_verify(user=user, code=form.cleaned_data["code"])
        except NotPossible as refused:
            form.add_error("code", str(refused))
        else:
            then = request.session.pop(WAITING)["then"]
            login(request, user, backend=BACKEND)
            device_remember(request, device)
            return redirect(then)
    return render(request, "accounts/login_code.html", {"form": form}, status=422 if form.errors else 200)


def _waiting(request: HttpRequest) -> User | None:
    waiting_login = request.session.get(WAITING)
    if not waiting_login or waiting_login["until"] < time.time():
        return None
    user = User.objects.filter(pk=waiting_login["user"], is_active=True).first()
    return user if user and user.get_session_auth_hash() == waiting_login["proof"] else None


@login_required
@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """Whether logging in asks for a code; setting it up: POST confirms the phone by a first code."""
    form = CodeForm(request.POST or None)
    if request.method == "POST" and _begun(request) is None:
        return redirect("totp")
    if request.method == "POST" and form.is_valid():
        user = cast(User, request.user)
        try:
            codes = credentials.totp_confirm(
                user=user, code=form.cleaned_data["code"], session=request.session.session_key
            )
        except NotPossible as refused:
            form.add_error("code", str(refused))
        else:
            del request.session[BEGUN]
            device_remember(request, credentials.totp_device(user))
            return _show(request, codes=codes)
    return _show(request, form=form, status=422 if form.errors else 200)


@login_required
@sensitive_post_parameters("password")
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """A new secret, for whoever knows the password; the browser that asked for it alone is shown it."""
    form = check_password_form(request)
    if form.errors:
        return _show(request, begin_form=form, status=422)
    request.session[BEGUN] = credentials.totp_begin(user=cast(User, request.user)).pk
    return redirect("totp")


def _begun(request: HttpRequest) -> TOTPDevice | None:
    device = credentials.totp_begun(cast(User, request.user))
    return device if device and device.pk == request.session.get(BEGUN) else None


@login_required
@sensitive_post_parameters("password")
@require_POST
def codes_renew(request: HttpRequest) -> HttpResponse:
    """Ten new recovery codes, shown this once."""
    form = check_password_form(request)
    if form.errors:
        return _show(request, codes_form=form, status=422)
    return _show(request, codes=credentials.totp_renew_codes(user=cast(User, request.user)))


@login_required
@sensitive_post_parameters("password")
@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    form = check_password_form(request)
    if form.errors:
        return _show(request, off_form=form, status=422)
    credentials.totp_off(user=cast(User, request.user), session=request.session.session_key)
    request.session.pop(DEVICE_ID_SESSION_KEY, None)
    messages.success(request, "Turned off. Logging in takes your password alone.")
    return redirect("account")


def check_password_form(request: HttpRequest) -> PasswordForm:
    """The form, with an error unless the password is the person's; wrong ones are counted."""
    form = PasswordForm(request.POST)
    if form.is_valid() and not password_is_right(request, form.cleaned_data["password"]):
        form.add_error("password", NOT_YOURS)
    return form


def password_is_right(request: HttpRequest, password: str) -> bool:
    """Whether it is the password of who is logged in; TooOften where it was wrong too often of late."""
    user = cast(User, request.user)
    throttle_or_refuse(PASSWORDS, str(user.uuid), TOO_MANY_PASSWORDS)
    is_right = user.check_password(password)
    if is_right:
        throttle_forget(PASSWORDS, str(user.uuid))
        session_keep(request, user)
    return is_right


def session_keep(request: HttpRequest, user: User) -> None:
    """A hash that was made at another price is made anew when the password is checked; that logs nobody out here."""
    if user.get_session_auth_hash() != request.session.get(HASH_SESSION_KEY):
        update_session_auth_hash(request, user)


def _show(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    user = cast(User, request.user)
    device = credentials.totp_device(user)
    begun = None if device else _begun(request)
    context = {"device": device, "begun": begun, "codes_left": credentials.codes_left(user), "form": CodeForm()}
    context |= {f"{name}_form": PasswordForm(auto_id=f"{name}_%s") for name in ("begin", "codes", "off")}
    context |= {"is_required": credentials.totp_is_required(user)}
    if begun:
        context |= {"secret": credentials.totp_secret(begun), "picture": picture_of(begun.config_url)}
    answer = render(request, "accounts/second_step.html", context | more, status=status)
    answer["Cache-Control"] = "no-store"
    return answer


def picture_of(text: str) -> str:
    """A QR code as an SVG element without style, which the content security policy would drop.

    It has no size but a view box: in a narrow place it is made smaller, not cut off.
    """
    return str(
        segno.make(text, error="m").svg_inline(
            scale=5, border=4, dark="#000", light="#fff", title="The secret as a QR code", svgclass="qr", omitsize=True
        )
    )
