"""Waking a task once the rows it needs are committed."""

import logging
from functools import partial
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def send_on_commit(task: str, *args: Any) -> None:
    """Send ``task`` (its full name) after commit; a broker that is away costs only time, a sweep finds the work."""
    transaction.on_commit(partial(_send, task, args))


def _send(task: str, args: tuple[Any, ...]) -> None:
    if current_app.conf.task_always_eager:
        current_app.tasks[task].apply(args)
        return
    try:
        current_app.send_task(task, args)
    except (OperationalError, OSError) as error:
        logger.warning("%s%s not sent (%s); the next sweep does it", task, args, error)
