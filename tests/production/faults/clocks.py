"""Clocks of hosts that jump: Debian's libfaketime below a host's processes, told by a file what to show."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connections

from tests.production.topology.hosts import Host
from tests.production.topology.site import start_missing, stop
from tests.production.topology.stores import Postgres

HOUR_S = 3600
FOLDER = Path("/usr/lib")
MISSING = "apt-get install faketime: what a clock that jumps does was not tried"


def library() -> Path:
    """Debian's; without it a test is skipped, but fails where ``CI`` is set: there it is to be installed."""
    paths = sorted(FOLDER.glob("*/faketime/libfaketimeMT.so.1"))
    if not paths and os.environ.get("CI", "") not in ("", "0"):
        pytest.fail(MISSING)
    if not paths:
        pytest.skip(MISSING)
    return paths[0]


class Clock:
    """Time seen by the processes of some hosts. Their steady clock stays right, as a jump leaves it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """From the right time; hosts see it within a second."""
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}\n")
        draft.replace(self.file)

    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": str(Path(__file__).parent / "faketime"),
        }


@contextmanager
def clock_of(*hosts: Host | Postgres) -> Iterator[Clock]:
    """One clock for these hosts, which are started again with it, and without it at the end."""
    library()
    clock = Clock(hosts[0].folder / f"clock-{os.getpid()}")
    for host in hosts:
        host.extra.update(clock.environment())
    _again(hosts)
    try:
        yield clock
    finally:
        for host in hosts:
            host.extra.clear()
        _again(hosts)


def _again(hosts: tuple[Host | Postgres, ...]) -> None:
    stop([host for host in hosts if isinstance(host, Host)])
    stop([host for host in hosts if isinstance(host, Postgres)])
    connections.close_all()  # PostgreSQL may be among them
    start_missing(hosts)
