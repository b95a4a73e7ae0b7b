"""The API as a whole: its routes, its description, and the one place where its refusals get their shape."""

from functools import cache
from hashlib import sha256
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import include, path
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import force_bytes
from django.views.decorators.http import conditional_page
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotation import api_urls as corpora_urls
from core.exceptions import MomentJudgeError
from core.refusals import refusal_log
from judging import api_urls as judging_urls
from models_runner import api_urls as runs_urls

FORMS = {kind.format: kind for kind in (OpenApiYamlRenderer, OpenApiJsonRenderer)}  # of the description
NOT_HERE = "There is nothing here, or it is not yours to see."
OUTSIDE = {  # refusals made before or outside of an endpoint
    400: ("bad_request", "This request cannot be read; nothing was stored."),
    403: ("permission_denied", "This request is not allowed; nothing was stored."),
    404: ("not_found", NOT_HERE),
    413: ("too_large", "This request is too large; nothing was stored."),
    500: ("server_error", "The server failed, and wrote down why. What was sent was not stored."),
}


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal as ``{"code", "message"}`` with its status, logged once. What has no name stays a 500."""
    if isinstance(error, MomentJudgeError):
        return _refused(context, Response(status=error.status), error.code, str(error))
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, Http404):
        return _refused(context, response, "not_found", NOT_HERE)
    if isinstance(error, PermissionDenied):
        return _refused(context, response, "permission_denied", "Your role in this project does not do this.")
    assert isinstance(error, exceptions.APIException)
    return _refused(context, response, str(error.get_codes()), str(error.detail))


def _refused(context: dict[str, Any], response: Response, code: str, message: str) -> Response:
    response.data = {"code": code, "message": message}
    refusal_log(context["request"]._request, response, f"{code}: {message}")
    return response


class ApiProblemsMiddleware(MiddlewareMixin):
    """Answers that are no page: below /api/, what Django or a middleware refuses is JSON too."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        kind = response.headers.get("Content-Type", "")
        if request.path.startswith("/api/") and response.status_code in OUTSIDE and kind.startswith("text/html"):
            code, message = OUTSIDE[response.status_code]
            json_response = JsonResponse({"code": code, "message": message})
            response.content, response["Content-Type"] = json_response.content, json_response["Content-Type"]
        return response


class SchemaView(SpectacularAPIView):
    """The OpenAPI file, as YAML or JSON: the same for whoever asks, and however, until a new release."""

    authentication_classes = permission_classes = ()
    schema = None

    def get(self, request: Request) -> HttpResponse:
        body, etag = _written(request.accepted_renderer.format)
        answer = HttpResponse(body, content_type=f"{request.accepted_renderer.media_type}; charset=utf-8")
        answer["Content-Disposition"] = f'inline; filename="MomentJudge.{request.accepted_renderer.format}"'
        answer["ETag"], answer["Cache-Control"] = etag, "public, no-cache"  # kept, and requested again by its ETag
        return answer


@cache
def _written(form: str) -> tuple[bytes, str]:
    """The file in one of its forms, and its ETag; it takes a third of a second, so a process does it once."""
    body = force_bytes(FORMS[form]().render(_described(), renderer_context={}))
    return body, f'"{sha256(body).hexdigest()[:32]}"'


@cache
def _described() -> dict[str, Any]:
    described: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return described


def docs(request: HttpRequest) -> HttpResponse:
    """The description of the API, to read and to try."""
    return render(request, "api_docs.html")


urlpatterns = [
    path("v1/", include(([*judging_urls.urlpatterns, *corpora_urls.urlpatterns, *runs_urls.urlpatterns], "api"))),
    path("schema/", conditional_page(SchemaView.as_view()), name="api-schema"),
    path("docs/", docs, name="api-docs"),
]
