"""Who is asking, by a token; and the page where people make and revoke theirs."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotation.exceptions import NotPossible
from annotation.models import AccessToken, User
from annotation.services.tokens import token_create, token_digest, token_revoke
from config.sessions import FIELDS

HOLDER = (
    f"SELECT {', '.join(f'person.{field}' for field in FIELDS)} FROM {AccessToken._meta.db_table} token"  # noqa: S608
    f" JOIN {User._meta.db_table} person ON person.id = token.user_id WHERE token.digest = %s"
)


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``. One statement finds the person by the token's digest."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        with connection.cursor() as cursor:
            cursor.execute(HOLDER, [token_digest(token.strip())])
            row = cursor.fetchone()
        person = User.from_db(connection.alias, FIELDS, row) if row else None
        if person is None or not person.is_active:
            raise AuthenticationFailed("This token is not known, or was revoked.")
        return person, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How TokenAuthentication is described."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The person's tokens; POST makes one and shows it, this once."""
    person = cast(User, request.user)
    made, error = "", ""
    if request.method == "POST":
        try:
            made = token_create(user=person, name=request.POST.get("name", ""))
        except NotPossible as refused:
            error = str(refused)
    context = {"tokens": person.access_tokens.all(), "made": made, "error": error}
    return render(request, "tokens.html", context, status=409 if error else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, token_uuid: UUID) -> HttpResponse:
    if not token_revoke(user=cast(User, request.user), uuid=token_uuid):
        raise Http404
    messages.success(request, "Revoked. Programs that used this token are refused from now on.")
    return redirect("tokens")
