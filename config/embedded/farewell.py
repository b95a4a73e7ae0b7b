"""Ending children: a polite word, an urgent one, then the end."""

import signal
import time
from collections.abc import Sequence

from config.embedded.services import Child

POLITE_S = 4.0  # a request or a short task may finish
URGENT_S = 1.2  # the worker drops its tasks, which go back into their queue


def end_children(children: Sequence[Child], *, patience_s: float = POLITE_S) -> None:
    """End the children together, their whole groups included; takes patience_s + URGENT_S at most."""
    for number, seconds in ((signal.SIGTERM, patience_s), (signal.SIGQUIT, URGENT_S)):
        for child in children:
            child.tell(number)
        deadline = time.monotonic() + seconds
        while any(child.alive() for child in children) and time.monotonic() < deadline:
            time.sleep(0.03)
    for child in children:
        child.kill_group()
