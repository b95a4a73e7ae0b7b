"""The one place where named errors become answers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from annotation.exceptions import MomentJudgeError


def problem(request: HttpRequest, *, status: int, title: str, message: str) -> HttpResponse:
    """A page, or for htmx the part that replaces the page's content."""
    context = {"title": title, "message": message}
    if getattr(request, "htmx", False):
        response = render(request, "problem.html#problem", context, status=status)
        response["HX-Retarget"], response["HX-Reswap"] = "main", "innerHTML"
        return response
    return render(request, "problem.html", context, status=status)


class NamedErrorsMiddleware(MiddlewareMixin):
    """Answers a MomentJudgeError with its status and message; everything else stays a 500."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Pages of a person are not kept by browsers: going back after logging out shows none of them."""
        if getattr(request, "user", None) and request.user.is_authenticated:
            response.setdefault("Cache-Control", "no-store")
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, MomentJudgeError):
            return problem(request, status=exception.status, title="This did not work", message=str(exception))
        return None


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, status=404, title="Not found", message="There is nothing here, or it is not yours to see.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(
        request, status=403, title="Not for your role", message="Your role in this project does not open this page."
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    message = "This page is older than your log-in. Load it again; nothing was stored."
    return problem(request, status=403, title="The page is too old", message=message)
