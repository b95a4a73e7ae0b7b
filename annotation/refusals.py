"""What is refused is logged once, with its reason."""

import logging

from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response

logger = logging.getLogger(__name__)


def refusal_log(request: HttpRequest, response: HttpResponse, reason: str) -> HttpResponse:
    """Log status, path and reason in the place of Django's own line, which does not know why."""
    words = (response.status_code, request.method, request.path, reason)
    log_response("%s %s %s: %s", *words, response=response, request=request, logger=logger)
    return response
