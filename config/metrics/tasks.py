"""What workers do, counted in the broker: they have no door of their own that could be asked.

A broker that is away costs a count, never a task. The counts begin anew where the broker lost its data; Prometheus
knows that of counters.
"""

import logging
import time
from functools import cache
from typing import Any

from django.conf import settings

COUNTS = "momentjudge:tasks"  # a hash: what|task
SEEN = "momentjudge:workers"  # a hash: host name -> "seconds|queues"
BEAT_S = 10.0
AWAY_S = 30.0
RUNS, FAILURES, RETRIES, MILLISECONDS = "runs", "failures", "retries", "ms"
Command = tuple[Any, ...]
logger = logging.getLogger(__name__)
_away_until = 0.0


@cache
def broker() -> Any:
    """Its client, of this process; redis-py's pool notices a fork by itself."""
    import redis

    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://")
    return redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)


def task_count(task: str, *, seconds: float, outcome: str) -> None:
    """One run of a task has ended; ``outcome`` is RUNS where it went well."""
    said: list[Command] = [
        ("hincrby", COUNTS, f"{RUNS}|{task}", 1),
        ("hincrby", COUNTS, f"{MILLISECONDS}|{task}", round(seconds * 1000)),
    ]
    _tell([*said, *([("hincrby", COUNTS, f"{outcome}|{task}", 1)] if outcome != RUNS else [])])


def worker_note(host: str, queues: list[str]) -> None:
    """This worker talks to its broker."""
    _tell([("hset", SEEN, host, f"{time.time():.0f}|{','.join(sorted(queues))}")])


def worker_forget(host: str) -> None:
    """This worker ends as it should."""
    _tell([("hdel", SEEN, host)])


def _tell(commands: list[Command]) -> None:
    """In one round trip, as well as can be: what fails is said once, then not tried for a while."""
    global _away_until  # noqa: PLW0603
    if time.monotonic() < _away_until:
        return
    try:
        with broker().pipeline(transaction=False) as pipe:
            for name, *words in commands:
                getattr(pipe, name)(*words)
            pipe.execute()
    except Exception as error:  # whatever it is, no task fails by it
        _away_until = time.monotonic() + AWAY_S
        logger.warning("tasks are not counted for now: %s", type(error).__name__)
