"""Messages: to workers, once the rows they need are committed; and e-mail on a site that names no mail server."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from celery import current_app
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

UNAVAILABLE_S = 30.0  # a missing broker is not asked again for so long: each try costs seconds
_unavailable_until = 0.0
_aside: ThreadPoolExecutor | None = None
logger = logging.getLogger(__name__)


def send_aside() -> None:
    """Let one thread of this process send, in order: who waits for a page never waits for the broker."""
    global _aside  # noqa: PLW0603
    _aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="messages")


def send_on_commit(task: str, *args: Any, expires_s: float | None = None) -> None:
    """Send ``task`` (its full name) after commit; a broker that is unavailable costs only time, a sweep finds the work.

    After ``expires_s`` seconds no worker takes it any more.
    """
    transaction.on_commit(partial(_hand_over, task, args, expires_s))


def send_now(task: str, *args: Any) -> bool:
    """Send ``task``, which no sweep would find; whether the broker took it."""
    return _send(task, args)


def _hand_over(task: str, args: tuple[Any, ...], expires_s: float | None) -> None:
    if _aside is None or current_app.conf.task_always_eager:
        _send(task, args, expires_s)
        return
    try:  # with the context that log lines name
        _aside.submit(copy_context().run, _send_or_log, task, args, expires_s)
    except RuntimeError:  # this process ends, and answers its last request
        _send_or_log(task, args, expires_s)


def _send_or_log(task: str, args: tuple[Any, ...], expires_s: float | None) -> None:
    try:
        _send(task, args, expires_s)
    except Exception:
        logger.exception("%s%s was not sent", task, args)


def _send(task: str, args: tuple[Any, ...], expires_s: float | None = None) -> bool:
    if current_app.conf.task_always_eager:
        current_app.tasks[task].apply(args)
        return True
    global _unavailable_until  # noqa: PLW0603
    if time.monotonic() < _unavailable_until:
        return False
    try:
        current_app.send_task(task, args, ignore_result=True, expires=expires_s)
    except (OperationalError, OSError, RedisError) as error:  # RedisError: its disk is full, so it refuses
        _unavailable_until = time.monotonic() + UNAVAILABLE_S
        logger.warning("the broker is away (%s); %s%s and what follows is left to the sweeps", error, task, args)
        return False
    return True


class NoMail(BaseEmailBackend):
    """Refuses: a message in a log reaches nobody, and the link in it would open an account to who reads the log."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        raise OSError("EMAIL_HOST is not set: no message is sent")
