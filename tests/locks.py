"""Locks that somebody else holds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from django.db import connections

from core.sql import only_one


@contextmanager
def locked_elsewhere(name: str, key: int) -> Iterator[None]:
    """Another connection is inside ``only_one(name, key)``."""
    with ThreadPoolExecutor(1) as other, ExitStack() as stack:
        assert other.submit(stack.enter_context, only_one(name, key)).result()
        yield
        other.submit(stack.close).result()
        other.submit(connections.close_all).result()  # its own: connections are those of the thread
