"""Messages of a site that names no mail server."""

from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class NoMail(BaseEmailBackend):
    """Refuses: a message in a log reaches nobody, and the link in it would open an account to who reads the log."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        raise OSError("EMAIL_HOST is not set: no message is sent")
