"""Who is asking, by a token; and the page where people make and revoke theirs."""

from itertools import chain
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from accounts.models import AccessToken, User
from accounts.second_step import PasswordForm, check_password_form
from accounts.services.credentials import DAYS, SCOPES, token_create, token_digest, token_revoke, token_stands
from accounts.sessions import FIELDS
from core.exceptions import NotPossible

PERSON = ", ".join(f"person.{field}" for field in FIELDS)
HOLDER = (
    "SELECT token.id, token.scopes, token.expires_at <= now(),"  # noqa: S608  # nosec B608 - constants
    " coalesce(token.used_at < now() - interval '10 minutes', true), token.created_at,"
    f" {PERSON} FROM {AccessToken._meta.db_table} token"
    f" JOIN {User._meta.db_table} person ON person.id = token.user_id WHERE token.digest = %s"
)
USED = f"UPDATE {AccessToken._meta.db_table} SET used_at = now() WHERE id = %s"  # noqa: S608  # nosec B608 - constants
ENDS = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("", "never")]


class Scopes(frozenset[str]):
    """Scopes of the token of a request: ``request.auth``. A session has none and allows all that its person may."""


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``. One statement finds the person by the token's digest.

    Another writes down that the token was used, every ten minutes at most.
    """

    def authenticate(self, request: Request) -> tuple[User, Scopes] | None:
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        with connection.cursor() as cursor:
            cursor.execute(HOLDER, [token_digest(token.strip())])
            row = cursor.fetchone()
            person = User.from_db(connection.alias, FIELDS, row[5:]) if row else None
            if person is None or not person.is_active:
                raise AuthenticationFailed("This token is not known, or was revoked.")
            token_id, scopes, has_ended, is_long_ago, made_at, *_ = row
            if has_ended:
                raise AuthenticationFailed("This token has expired. Make another one.")
            if not token_stands(person, made_at):
                raise SecondStepMissing()
            if is_long_ago:
                cursor.execute(USED, [token_id])
        return person, Scopes(scopes)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SecondStepMissing(APIException):
    """A role of the token's owner requires the second step, and the token is older than theirs."""

    status_code = 403
    default_code = "totp_required"
    default_detail = "Your role asks for a second step when you log in. Set it up, then make another token."


class ScopeMissing(APIException):
    """The token is good, but not for this."""

    status_code = 403
    default_code = "scope_missing"


class InScope(BasePermission):
    """A token does what its scopes say: ``read`` opens what only looks; who writes names its scope in ``writes``."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = scope_needed(view, str(request.method))
        if isinstance(request.auth, Scopes) and needed not in request.auth:
            raise ScopeMissing(f"This token lacks the scope {needed!r}. Make one that has it.")
        return True


def scope_needed(view: Any, method: str) -> str:
    return "read" if method in SAFE_METHODS else str(getattr(view, "writes", "manage"))


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How TokenAuthentication is described."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        scopes = "; ".join(f"`{label.replace(':', '`:', 1).lower()}" for label in AccessToken.Scope.labels)
        return {"type": "http", "scheme": "bearer", "description": f"A token with the operation's scope. {scopes}."}


@login_required
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The person's tokens; POST makes one for whoever knows the password, and shows it, this once."""
    person = cast(User, request.user)
    new_token, error, password_form = "", "", PasswordForm()
    if request.method == "POST":
        password_form = check_password_form(request)
    if request.method == "POST" and not password_form.errors:
        try:
            new_token = token_create(user=person, **_token_options(request.POST))
        except NotPossible as refused:
            error = str(refused)
    context = {"tokens": person.access_tokens.all(), "made": new_token, "error": error}
    context |= {"scopes": AccessToken.Scope.choices, "usual": _usual_scopes(person), "ends": ENDS}
    context |= {"password_form": password_form, "name": "" if new_token else request.POST.get("name", "")}
    return render(
        request, "accounts/tokens.html", context, status=422 if password_form.errors else 409 if error else 200
    )


def _token_options(form: QueryDict) -> dict[str, Any]:
    days = form.get("days", str(DAYS))
    if days and not (days.isascii() and days.isdigit() and len(days) < 6):
        raise NotPossible("Say in how many days the token ends.")
    scopes = form.getlist("scope") or ([] if "days" in form else SCOPES)
    return {"name": form.get("name", ""), "scopes": scopes, "days": int(days) if days else None}


def _usual_scopes(person: User) -> set[str]:
    """Return the usual scopes of people with these roles; to manage is never ticked beforehand."""
    usual = {"annotator": "judge", "participant": "upload"}
    roles = chain.from_iterable(person.memberships.values_list("roles", flat=True))
    return {"read"} | {usual[role] for role in roles if role in usual}


@login_required
@require_POST
def revoke(request: HttpRequest, token_uuid: UUID) -> HttpResponse:
    if not token_revoke(user=cast(User, request.user), uuid=token_uuid):
        raise Http404
    messages.success(request, "Revoked. Programs that used this token are refused from now on.")
    return redirect("tokens")
