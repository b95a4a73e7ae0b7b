"""Single sign-on by OpenID Connect: allauth's provider, which asks for nothing but who somebody is, and believes less.

allauth finds this module by its name. What it leaves out and is here: the nonce, the signature of the answer whatever
way it came, the issuer that the settings name, and that the identity at the provider is kept as a digest alone.
"""

from contextlib import suppress
from functools import cached_property, lru_cache
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, cast
from urllib.parse import urlsplit

import jwt
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import (
    is_reauthentication_required,
    raise_if_reauthentication_required,
)
from allauth.account.models import Login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.base import Provider
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from accounts.adapters import refused
from accounts.limits import BEGINNINGS_FROM, TOO_MANY_BEGINNINGS, Turns, address_block, digest_of
from accounts.models import User
from accounts.services.credentials import keyed_digests
from accounts.services.identities import provider_link, provider_unlink
from core.exceptions import NotPossible

SIGNED = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)] + ["EdDSA"]  # by a private key
REQUIRED = ["iss", "sub", "aud", "exp", "iat", "nonce"]
BROKEN = (OAuth2Error, RequestException, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
BUSY = "Many people are logging in by this provider just now. Wait half a minute, then try again."
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
LATE_S = 30  # of a provider's clock
CONFIGURATION_S = 300  # for which a provider's discovery document is used again
NOT_LINKED = (
    "No account here is linked with your log-in by {name}. Log in with your password, then link it under Account."
    " No account? Ask the lead of your project for an invitation."
)
TOO_LATE = "You confirmed your password too long ago. Link the log-in once more."


class ProviderClient(OpenIDConnectOAuth2Adapter):
    """Sends people to a provider and reads its answer; ``state`` is what the session holds of the question."""

    state: dict[str, Any]

    @cached_property
    def openid_config(self) -> dict[str, Any]:
        server_url = self.get_provider().app.settings["server_url"]
        key = f"provider {digest_of(server_url)}"
        config: dict[str, Any] = cache.get(key) or super().openid_config
        if str(config.get("issuer")).rstrip("/") != server_url.rstrip("/"):
            raise OAuth2Error(f"the provider says that it is {config.get('issuer')!r}")
        scheme = urlsplit(server_url).scheme
        if wrong := [name for name in ENDPOINTS if not str(config.get(name)).startswith((f"{scheme}://", "https://"))]:
            raise OAuth2Error(f"its {wrong[0]} is no {scheme} address")
        cache.set(key, config, CONFIGURATION_S)
        return config

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **values: Any) -> Any:
        """End the request here: allauth would save the whole account, and store it in sessions that wait."""
        try:
            claims = self._claims(app, values["response"]["id_token"])
        except (jwt.PyJWTError, KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("the answer is not good") from error
        finish = self._link if self.state.get("process") == "connect" else self._log_in
        raise ImmediateHttpResponse(finish(request, self.get_provider().extract_uid(claims)))

    def _link(self, request: HttpRequest, uid: str) -> HttpResponse:
        if is_reauthentication_required(request, app="allauth.socialaccount"):
            raise refused(request, TOO_LATE, "account")
        try:
            provider_link(user=cast(User, request.user), provider=self.provider_id, uid=uid)
        except NotPossible as reason:
            raise refused(request, str(reason), "account") from reason
        messages.success(request, f"Linked: {self.get_provider().name} lets you in from now on.")
        return redirect("account")

    def _log_in(self, request: HttpRequest, uid: str) -> HttpResponse:
        """Nobody gets an account by a provider, nor another's: neither a new one, nor by an e-mail address."""
        link = SocialAccount.objects.select_related("user").filter(provider=self.provider_id, uid=uid).first()
        if link is None:
            raise refused(request, NOT_LINKED.format(name=self.get_provider().name), "login")
        if request.user.is_authenticated:
            logout(request)
        record_authentication(request, link.user, "socialaccount", provider=link.provider, uid=uid)
        return perform_login(request, Login(user=link.user, redirect_url=self.state.get("next")))

    def _claims(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        name = jwt.get_unverified_header(id_token).get("kid")
        (key, *others) = [one for one in keys if one.key_id == name] if name else keys
        if others:
            raise OAuth2Error("several keys may have signed the answer")
        algorithm = jwt.get_unverified_header(id_token)["alg"]
        claims: dict[str, Any] = jwt.decode(
            id_token,
            key.key,
            algorithms=[algorithm] if algorithm in SIGNED else [],
            audience=app.client_id,
            issuer=self.openid_config["issuer"],
            leeway=LATE_S,
            options={"require": REQUIRED},
        )
        if not claims["sub"]:
            raise OAuth2Error("the answer names nobody")
        nonce = self.state.get("nonce", "")
        if not nonce or not compare_digest(str(claims["nonce"]), nonce):
            raise OAuth2Error("the answer is to another question")
        if claims.get("azp", app.client_id) != app.client_id:
            raise OAuth2Error("the answer is for another site")
        return claims


class OpenIDConnect(OpenIDConnectProvider):
    package = "accounts"
    oauth2_adapter_class = ProviderClient
    supports_token_authentication = False
    pkce_enabled_default = True

    def get_default_scope(self) -> list[str]:
        return ["openid"]  # neither the name nor the e-mail address

    def get_redirect_from_request_kwargs(self, request: HttpRequest) -> dict[str, Any]:
        """Nothing of the request but where it leads: scopes and parameters are not for whoever made the link."""
        process = "connect" if request.user.is_authenticated else "login"
        return Provider.get_redirect_from_request_kwargs(self, request) | {"process": process}

    def redirect(self, request: HttpRequest, process: str, **values: Any) -> HttpResponse:
        nonce = token_urlsafe(24)
        params = self.get_auth_params() | {"nonce": nonce}
        if process == "connect":  # whoever sat at this browser before may be logged in at the provider still
            params["prompt"] = "select_account"
        return super().redirect(request, process, **values, auth_params=params, nonce=nonce)

    def extract_uid(self, data: dict[str, Any]) -> str:
        """A digest under the site's key; the newest link made under a former key goes on under this one."""
        digests = keyed_digests("accounts.provider", f"{data['iss']} {data['sub']}")
        links = SocialAccount.objects.filter(provider=self.sub_id, uid__in=digests)
        with suppress(IntegrityError), transaction.atomic():  # where it is linked in this moment, the next time does it
            if digests[1:] and (newest := links.select_for_update().order_by("date_joined").last()):
                links.exclude(pk=newest.pk).delete()
                links.update(uid=digests[0])
        return digests[0]


@lru_cache
def turns_of(provider_id: str) -> Turns:
    """Return what lets a provider that hangs take no more threads of a process than two."""
    return Turns(2, wait_s=1, message=BUSY)


class CallbackView(OAuth2CallbackView):
    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        self.adapter.state, refusal = super()._get_state(request, provider)
        return self.adapter.state, refusal


def client_of(request: HttpRequest, provider_id: str) -> ProviderClient:
    if provider_id not in [app["provider_id"] for app in settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]]:
        raise Http404
    return ProviderClient(request, provider_id)


def failed(request: HttpRequest, provider: Any, error: Exception) -> HttpResponse:
    """Say that the provider is unavailable, or answers nonsense."""
    try:
        get_adapter().on_authentication_error(request, provider, exception=error)
    except ImmediateHttpResponse as refusal:
        return refusal.response
    raise error


@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider: to log in, or, for who is logged in and has just confirmed it, to link."""
    provider = client_of(request, provider_id).get_provider()
    if request.user.is_authenticated:
        raise_if_reauthentication_required(request, app="allauth.socialaccount")
    else:
        BEGINNINGS_FROM.try_or_refuse(address_block(request), TOO_MANY_BEGINNINGS)
    try:
        with turns_of(provider_id).take():
            return provider.redirect_from_request(request)
    except BROKEN as error:
        return failed(request, provider, error)


@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the provider sends the browser back to."""
    adapter = client_of(request, provider_id)
    try:
        with turns_of(provider_id).take():
            return CallbackView.adapter_view(adapter)(request)
    except BROKEN as error:
        return failed(request, adapter.get_provider(), error)


@login_required
@require_POST
def unlink(request: HttpRequest, provider_id: str) -> HttpResponse:
    """The provider opens the account no longer; who came in by it elsewhere is logged out."""
    raise_if_reauthentication_required(request, app="allauth.socialaccount")
    user, key = cast(User, request.user), request.session.session_key
    if not provider_unlink(user=user, provider=provider_id, session=key):
        raise Http404
    messages.success(request, "Unlinked. Wherever else you were logged in, you are no more.")
    return redirect("account")


provider_classes = [OpenIDConnect]
