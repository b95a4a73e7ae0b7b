"""What is refused is logged once, with its reason."""

import logging
import re

from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response

logger = logging.getLogger(__name__)
SECRETS = re.compile(r"(/invitations/|/password/choose/)[^/\s]+(/[^/\s]+)?")


def refusal_log(request: HttpRequest, response: HttpResponse, reason: str) -> HttpResponse:
    """Log status, path and reason in the place of Django's own line, which does not know why."""
    words = (response.status_code, request.method, without_secrets(request.path), reason)
    log_response("%s %s %s: %s", *words, response=response, request=request, logger=logger)
    return response


class WithoutSecrets(logging.Filter):
    """Lets every line through, less what opens something: Django writes the paths of refused and failed requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if (told := without_secrets(said)) != said:
            record.msg, record.args = told, None
        return True


def without_secrets(text: str) -> str:
    """A path, or a line that holds one, as it may be written down: what opens something is left out."""
    return SECRETS.sub(r"\1[secret]", text)
