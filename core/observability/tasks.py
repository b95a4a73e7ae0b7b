"""Context of a task from its request, workers' counts of tasks in the broker, and signs of their life; by signals.

An unavailable broker costs a count, never a task. The counts begin anew where the broker lost its data; Prometheus
knows that of counters.
"""

import logging
import time
from contextvars import Token
from functools import cache
from typing import Any

from celery import signals
from django.conf import settings
from structlog.contextvars import bind_contextvars, get_contextvars, reset_contextvars

COUNTS = "momentjudge:tasks"  # a hash: what|task
SEEN = "momentjudge:workers"  # a hash: host name -> "seconds|queues"
BEAT_S = 10.0
UNAVAILABLE_S = 30.0
RUNS, FAILURES, RETRIES, MILLISECONDS = "runs", "failures", "retries", "ms"
Command = tuple[Any, ...]
logger = logging.getLogger(__name__)
_unavailable_until = 0.0
INHERITED = ("request_id", "member", "project")
FIELD = "momentjudge"  # of a message's headers


@cache
def broker() -> Any:
    """Its client, of this process; redis-py's pool notices a fork by itself."""
    import redis

    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://")
    return redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)


def task_count(task: str, *, seconds: float, outcome: str) -> None:
    """One run of a task has ended; ``outcome`` is RUNS where it went well."""
    counts = dict.fromkeys((RUNS, outcome), 1) | {MILLISECONDS: round(seconds * 1000)}
    _send([("hincrby", COUNTS, f"{name}|{task}", n) for name, n in counts.items()])


def worker_note(host: str, queues: list[str]) -> None:
    """This worker talks to its broker."""
    _send([("hset", SEEN, host, f"{time.time():.0f}|{','.join(sorted(queues))}")])


def worker_forget(host: str) -> None:
    """This worker ends as it should: tried even if the broker did not answer a moment ago, as nothing is sent later."""
    _send([("hdel", SEEN, host)], always=True)


def _send(commands: list[Command], *, always: bool = False) -> None:
    """In one round trip, as well as can be: what fails is said once, then not tried for a while."""
    global _unavailable_until  # noqa: PLW0603
    if not always and time.monotonic() < _unavailable_until:
        return
    try:
        with broker().pipeline(transaction=False) as pipe:
            for name, *words in commands:
                getattr(pipe, name)(*words)
            pipe.execute()
    except Exception as error:  # whatever it is, no task fails by it
        _unavailable_until = time.monotonic() + UNAVAILABLE_S
        logger.warning("tasks are not counted for now: %s", type(error).__name__)


_begun: dict[str, tuple[float, dict[str, Token[Any]]]] = {}
_worker: dict[str, Any] = {"host": "", "queues": [], "told_at": float("-inf")}


@signals.before_task_publish.connect
def message_sign(headers: dict[str, Any] | None = None, **more: Any) -> None:
    """A message says in which request it was sent."""
    context = get_contextvars()
    if headers is not None and (inherited := {name: context[name] for name in INHERITED if name in context}):
        headers[FIELD] = inherited


@signals.task_prerun.connect
def task_begin(task_id: str, task: Any, **more: Any) -> None:
    header = task.request.get(FIELD) or {}
    inherited = {name: str(header[name])[:100] for name in INHERITED if name in header}
    _begun[task_id] = time.monotonic(), dict(bind_contextvars(task_id=task_id, task=task.name, **inherited))


@signals.task_postrun.connect
def task_end(task_id: str, task: Any, state: str | None = None, **more: Any) -> None:
    began, tokens = _begun.pop(task_id, (time.monotonic(), {}))
    reset_contextvars(**tokens)
    if not task.request.get("is_eager"):
        outcome = {"FAILURE": FAILURES, "RETRY": RETRIES}.get(state or "", RUNS)
        task_count(task.name, seconds=time.monotonic() - began, outcome=outcome)


@signals.worker_ready.connect
def worker_begin(sender: Any, **more: Any) -> None:
    consumer = getattr(sender, "task_consumer", None)
    _worker.update(host=sender.hostname, queues=[queue.name for queue in getattr(consumer, "queues", [])])
    worker_note(_worker["host"], _worker["queues"])


@signals.heartbeat_sent.connect
def worker_live(**more: Any) -> None:
    """Called every two seconds; noted seldom."""
    if _worker["host"] and time.monotonic() - _worker["told_at"] > BEAT_S:
        _worker["told_at"] = time.monotonic()
        worker_note(_worker["host"], _worker["queues"])


@signals.worker_shutdown.connect
def worker_end(**more: Any) -> None:
    if _worker["host"]:
        worker_forget(_worker["host"])
