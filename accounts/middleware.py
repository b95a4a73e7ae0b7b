"""Who may go on with a request: with a second step where the role requires one, and with the password once more before
what would let others keep the account."""

from typing import Any, cast

from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.account.utils import get_next_redirect_url
from allauth.core.exceptions import ReauthenticationRequired
from allauth.core.internal.urlkit import script_aware_resolve
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRedirect

from accounts.adapters import AccountAdapter
from accounts.models import User
from accounts.services import credentials
from core.refusals import refusal_log

BEFORE_ALLAUTH = "otp_device_id"  # in sessions of 0.1.0 that began with a code
RESUMED = {"openid_connect_login", "provider-unlink", "passkey-remove"}  # goes on once its person has confirmed
FREE = {  # what people who have to set it up may open before they did
    *("login", "login-code", "logout", "account", "password-change", "password-forgotten", "password-choose"),
    *("totp", "totp-begin", "totp-codes", "totp-off", "session-end", "sessions-end"),
    *("passkey-login", "passkey-add", "passkey-remove", "account_reauthenticate", "mfa_reauthenticate_webauthn"),
    *("openid_connect_login", "openid_connect_callback", "provider-unlink"),
    *("healthz", "readyz", "help", "api-schema", "api-docs"),
}
REQUIRED = "Your role asks for a second step when you log in. Set it up first; then everything opens."


class SecondStepMiddleware(MiddlewareMixin):
    """Whose role requires the second step gets nothing of a session that began without it.

    Programs come without a session; accounts.tokens looks at when their token was made. Besides, it asks who it is
    before allauth does, which would store the whole request meanwhile: with address, browser and cookies.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not settings.TOTP_REQUIRED_FOR or _is_free(request) or not _owes_it(request):
            return None
        if request.path.startswith("/api/"):
            answer = JsonResponse({"code": "totp_required", "message": REQUIRED}, status=403)
            return refusal_log(request, answer, REQUIRED)
        if getattr(request, "htmx", False):
            return HttpResponseClientRedirect(reverse("totp"))
        messages.info(request, REQUIRED)
        return redirect("totp")

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, ReauthenticationRequired):
            return None
        if request.resolver_match and request.resolver_match.view_name in RESUMED:
            request.session[STATE_SESSION_KEY] = {"callback": f"{__name__}.resume", "state": request.path}
        methods = AccountAdapter().get_reauthentication_methods(cast(User, request.user))
        page = methods[0]["url"] if methods else reverse("login")
        return redirect(f"{page}?{urlencode({'next': request.path})}")


def resume(request: HttpRequest, path: str) -> HttpResponse | None:
    """Carry out what waited for this confirmation; nothing where it was for something else."""
    if get_next_redirect_url(request) != path:
        return None
    view, args, values = script_aware_resolve(path)
    return cast(HttpResponse, view(request, *args, **values))


def _is_free(request: HttpRequest) -> bool:
    scheme = str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")[0].lower()
    is_program = request.path.startswith("/api/") and scheme == "bearer"
    return is_program or (request.resolver_match is not None and request.resolver_match.view_name in FREE)


def _owes_it(request: HttpRequest) -> bool:
    if not request.user.is_authenticated or BEFORE_ALLAUTH in request.session:
        return False
    if credentials.second_step_was_taken(request, request.user):
        return False
    is_required = getattr(request.session, "second_step_is_required", None)  # read with the session
    return credentials.second_step_is_required(request.user) if is_required is None else is_required
