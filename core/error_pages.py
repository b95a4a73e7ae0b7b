"""The one place where named errors become answers, for people and for programs."""

import sys
from typing import NamedTuple

from django.core import exceptions
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseServerError, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.template import loader
from django.utils.deprecation import MiddlewareMixin

from core.exceptions import MomentJudgeError, StorageFull, disk_is_full
from core.refusals import refusal_log

DISK_FULL = "53100"  # PostgreSQL's code
RETRY_S = 10
UNREADABLE: list[tuple[type[Exception], int, str]] = [  # the first that fits
    (exceptions.RequestDataTooBig, 413, "This form is too large; nothing was stored."),
    (exceptions.TooManyFieldsSent, 400, "This form holds too many fields; nothing was stored."),
    (exceptions.TooManyFilesSent, 400, "No page takes files; nothing was stored."),
    (MultiPartParserError, 400, "This form cannot be read; nothing was stored."),
    (exceptions.BadRequest, 400, "This form cannot be read; nothing was stored."),
    (exceptions.SuspiciousOperation, 400, "This request cannot be answered; nothing was stored."),
]


class Outage(NamedTuple):
    status: int
    code: str
    message: str


DATABASE = Outage(
    503,
    "database_away",
    "The database does not answer just now. Nothing you sent was half stored; wait a minute, then try the same again.",
)
FULL_DISK = Outage(StorageFull.status, StorageFull.code, StorageFull.message)


def outage_of(error: BaseException | None) -> Outage | None:
    """Return the outage that this error shows; None for an error of another kind."""
    if isinstance(error, MomentJudgeError):
        return Outage(error.status, error.code, str(error)) if error.status >= 500 else None
    if isinstance(error, OSError):
        return FULL_DISK if disk_is_full(error) else None
    if isinstance(error, OperationalError):
        return FULL_DISK if getattr(error.__cause__, "sqlstate", None) == DISK_FULL else DATABASE
    return DATABASE if isinstance(error, InterfaceError) else None


def problem(request: HttpRequest, *, status: int, title: str, message: str, reason: str = "") -> HttpResponse:
    """A page, or for htmx the part that replaces the page's content; ``reason`` is for the log alone."""
    context = {"title": title, "message": message, "request_id": getattr(request, "request_id", "")}
    if getattr(request, "htmx", False):
        response = render(request, "problem.html#problem", context, status=status)
        response["HX-Retarget"], response["HX-Reswap"] = "main", "innerHTML"
    else:
        response = render(request, "problem.html", context, status=status)
    return refusal_log(request, response, f"{message} ({reason})" if reason else message)


class NamedErrorsMiddleware(MiddlewareMixin):
    """Answers a MomentJudgeError with its status and message; everything else stays a 500."""

    def process_request(self, request: HttpRequest) -> None:
        """A multipart form may name any codec of Python, and some of them (hex, zlib) are none of text."""
        if (request.encoding or "utf-8").lower() != "utf-8":
            raise exceptions.BadRequest("The request is not UTF-8.")

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Pages of a person are not kept by browsers: going back after logging out shows none of them."""
        failed = response.status_code >= 500  # then who asks may be what cannot be known
        if failed or (getattr(request, "user", None) and request.user.is_authenticated):
            response.setdefault("Cache-Control", "no-store")
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, MomentJudgeError):
            return problem(request, status=exception.status, title="This did not work", message=str(exception))
        return None


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    status, message = next((status, message) for kind, status, message in UNREADABLE if isinstance(exception, kind))
    return problem(request, status=status, title="This did not work", message=message, reason=str(exception))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, status=404, title="Not found", message="There is nothing here, or it is not yours to see.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = "Your role in this project does not open this page."
    return problem(request, status=403, title="Not for your role", message=message)


def locked_out(request: HttpRequest) -> HttpResponse:
    """Too many wrong passwords for this user name from this address."""
    minutes = 15
    message = (
        f"Too many wrong passwords for this user name. Wait {minutes} minutes, then try again;"
        " the right password is not taken before. If you forgot it, choose a new one or ask the lead of your project."
    )
    answer = problem(request, status=429, title="Wait a while", message=message)
    answer["Retry-After"] = str(60 * minutes)
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    """Asks nothing of anybody: whatever a page needs may be what broke."""
    if outage := outage_of(sys.exception()):
        if outage is DATABASE and (pool := getattr(connection, "pool", None)) is not None:
            pool.drain()  # connections that lie idle lead to the database as it was: each would fail another request
        return outage_answer(request, outage)
    page = loader.get_template("500.html").render({"request_id": getattr(request, "request_id", "")})
    return HttpResponseServerError(page)


def outage_answer(request: HttpRequest, outage: Outage) -> HttpResponse:
    """Answer with the outage, in words, without asking the database; for programs and for htmx in their form."""
    answer: HttpResponse
    if request.path.startswith("/api/"):
        answer = JsonResponse({"code": outage.code, "message": outage.message}, status=outage.status)
    else:
        context = {"message": outage.message, "request_id": getattr(request, "request_id", "")}
        is_part = request.headers.get("HX-Request") == "true"
        page = loader.get_template("away.html#problem" if is_part else "away.html").render(context)
        answer = HttpResponse(page, status=outage.status)
        if is_part:
            answer["HX-Retarget"], answer["HX-Reswap"] = "main", "innerHTML"
    answer["Retry-After"] = RETRY_S
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    message = "This page is older than your log-in. Load it again; nothing was stored."
    return problem(request, status=403, title="The page is too old", message=message, reason=reason)
