"""What a task inherits from the request that sent it, what is counted of it, and that its worker lives.

Celery's signals call all of it: no task and no sender knows.
"""

import time
from contextvars import Token
from typing import Any

from celery import signals
from structlog.contextvars import bind_contextvars, get_contextvars, reset_contextvars

from config.metrics import tasks

INHERITED = ("request_id", "member", "project")
FIELD = "momentjudge"  # of a message's headers
_begun: dict[str, tuple[float, dict[str, Token[Any]]]] = {}
_worker: dict[str, Any] = {"host": "", "queues": [], "told_at": float("-inf")}


@signals.before_task_publish.connect
def message_sign(headers: dict[str, Any] | None = None, **more: Any) -> None:
    """A message says in which request it was sent."""
    context = get_contextvars()
    if headers is not None and (said := {name: context[name] for name in INHERITED if name in context}):
        headers[FIELD] = said


@signals.task_prerun.connect
def task_begin(task_id: str, task: Any, **more: Any) -> None:
    said = task.request.get(FIELD) or {}
    inherited = {name: str(said[name])[:100] for name in INHERITED if name in said}
    _begun[task_id] = time.monotonic(), dict(bind_contextvars(task_id=task_id, task=task.name, **inherited))


@signals.task_postrun.connect
def task_end(task_id: str, task: Any, state: str | None = None, **more: Any) -> None:
    began, tokens = _begun.pop(task_id, (time.monotonic(), {}))
    reset_contextvars(**tokens)
    if not task.request.get("is_eager"):
        outcome = {"FAILURE": tasks.FAILURES, "RETRY": tasks.RETRIES}.get(state or "", tasks.RUNS)
        tasks.task_count(task.name, seconds=time.monotonic() - began, outcome=outcome)


@signals.worker_ready.connect
def worker_begin(sender: Any, **more: Any) -> None:
    consumer = getattr(sender, "task_consumer", None)
    _worker.update(host=sender.hostname, queues=[queue.name for queue in getattr(consumer, "queues", [])])
    tasks.worker_note(_worker["host"], _worker["queues"])


@signals.heartbeat_sent.connect
def worker_live(**more: Any) -> None:
    """Every two seconds; told seldom."""
    if _worker["host"] and time.monotonic() - _worker["told_at"] > tasks.BEAT_S:
        _worker["told_at"] = time.monotonic()
        tasks.worker_note(_worker["host"], _worker["queues"])


@signals.worker_shutdown.connect
def worker_end(**more: Any) -> None:
    if _worker["host"]:
        tasks.worker_forget(_worker["host"])
