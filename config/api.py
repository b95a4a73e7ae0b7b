"""The API as a whole: its routes, its description, and the one place where its refusals get their shape."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import include, path
from django.utils.deprecation import MiddlewareMixin
from drf_spectacular.views import SpectacularAPIView
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotation.exceptions import MomentJudgeError
from annotation.refusals import refusal_log
from judging.api import urls as judging_urls
from models_runner.api import urls as runs_urls

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
            said = JsonResponse({"code": code, "message": message})
            response.content, response["Content-Type"] = said.content, said["Content-Type"]
        return response


def docs(request: HttpRequest) -> HttpResponse:
    """The description of the API, to read and to try."""
    return render(request, "api_docs.html")


urlpatterns = [
    path("v1/", include(([*judging_urls.urlpatterns, *runs_urls.urlpatterns], "api"))),
    path("schema/", SpectacularAPIView.as_view(authentication_classes=[], permission_classes=[]), name="api-schema"),
    path("docs/", docs, name="api-docs"),
]
