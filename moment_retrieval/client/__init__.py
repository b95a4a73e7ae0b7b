"""A client of MomentJudge's API; needs nothing but Python.

>>> from moment_retrieval.client import Client
>>> client = Client("http://127.0.0.1:8000", "mj_...")
>>> [project["name"] for project in client.projects()]  # doctest: +SKIP

A method stands for each operation of the site's OpenAPI description, and has its name. Rows are named by their UUID;
answers are what JSON says. Long lists are iterators that ask for their pages as they go.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from moment_retrieval.api_requests import ApiError, Json
from moment_retrieval.client.benchmarks import Benchmarks
from moment_retrieval.client.collection import Collection
from moment_retrieval.client.data import Data
from moment_retrieval.client.judging import Judging

__all__ = ["ApiError", "Client", "Json"]
AT_WORK = frozenset(
    ("running", "waiting", "preparing", "checking", "importing", "uploading", "reading", "opening", "cancelling")
)


class Client(Judging, Data, Collection, Benchmarks):
    """One site, with the token of one person.

    A connection that breaks is tried again where a repeated request is answered as the first one was. Another request
    is tried again only where it cannot have arrived.
    """

    # Waiting

    def wait_until_ready(self, read: Callable[[], Json], *, timeout_s: float = 3600.0, every_s: float = 2.0) -> Json:
        """Call ``read`` until the ``state`` of its row says that work on it has ended; return the row.

        >>> client.wait_until_ready(lambda: client.job(job["uuid"]))  # doctest: +SKIP

        Raises:
            ApiError: the work failed (its code is ``failed``), or a request was refused.
            TimeoutError: it has not ended within ``timeout_s``.
        """
        rows: list[Json] = []

        def is_over() -> bool:
            rows[:] = [read()]
            return rows[0]["state"] not in AT_WORK

        self.wait_until(is_over, timeout_s=timeout_s, every_s=every_s)
        [row] = rows
        if row["state"] == "failed":
            raise ApiError(0, "failed", str(row.get("error") or "The work failed, and the site does not say why."))
        return row

    def wait_until(self, is_over: Callable[[], bool], *, timeout_s: float = 3600.0, every_s: float = 2.0) -> None:
        """Ask until ``is_over()``; raise TimeoutError where that takes longer than ``timeout_s``."""
        ends_at = time.monotonic() + timeout_s
        while not is_over():
            if time.monotonic() >= ends_at:
                raise TimeoutError(f"The work has not ended within {timeout_s:g} s; it goes on.")
            time.sleep(every_s)
